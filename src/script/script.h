/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints single samples, as text in perf script's layout or as lines of JSON.
 *
 * A recording (replay/replay.h) gives each of its samples. A session has sums. So it gives one row,
 * with a count, for all samples of a second that have the same thread, CPU, event and stack.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "event/event.h"
#include "profile/query.h"
#include "script/script_fields.h"
#include "script/script_places.h"

struct error;
struct replay;
struct session;
struct symbolizer;
struct tracepoint_format;

/* Whose samples are shown; an empty list takes all. */
struct script_filter {
	VEC(const char *) comms, dsos, symbols; /* dso, symbol: of the sample's own address */
	VEC(int32_t) pids, tids;
	VEC(uint32_t) cpus;
	VEC(struct time_span) spans;
};
void script_filter_fini(struct script_filter *f);

/* Other events that are printed; the bits of enum event_type. */
#define SCRIPT_SHOW(type) ((uint32_t)1 << EVENT_##type)

struct script_row;

struct script_options {
	/*
	 * Gets each row in place of the printer; then `is_json` must be set, as all of a row is
	 * made then. Not 0: the reading ends with that. NULL: rows are printed.
	 */
	int (*take)(void *context, struct script_places *places, const struct script_row *row);
	void *context;
	struct script_fields fields;
	struct script_filter filter;
	uint32_t shown;
	uint32_t max_stack;
	enum shown_frames frames; /* of a session; recordings have native frames alone */
	bool hides_chains, with_ns, is_relative, is_delta, is_json;
	uint32_t interleave; /* at most so many lines of a CPU in a row, at one time; 0: all */
	bool with_inlined;   /* frames of inlined functions have lines, too */
	VEC(const char *) stop_at; /* functions where a chain ends */
	bool is_aarch64;           /* the machine that was recorded */
	uint32_t dso_width;        /* of a call trace's */
	bool no_packets;           /* a dump has no Intel PT packets */
	bool is_trace;             /* samples are made of a processor trace */
	uint32_t
		n_with_chains; /* counters, the recording's own, whose samples get chains from it */
	/* Of a recording with two clocks: what makes its time the time of day. */
	bool has_wall_clock;
	uint64_t clock_ns, wall_ns;
};

/* One sample, or the sum of several. */
struct script_row {
	const char *comm, *event;
	const char *cgroup; /* its path; "": not known */
	const struct perf_event_attr *attr;
	int32_t pid, tid;
	uint32_t cpu;
	enum cpu_mode mode;
	uint64_t time_ns, period, samples;
	const struct sample_extra *extra; /* NULL: nothing */
	const struct code_addr *code;     /* [0]: the sample's own place; then its callers */
	const uint64_t *addr;             /* run-time addresses; NULL: not kept */
	uint32_t n_frames, n_kernel;
	bool has_chain;                        /* the event was recorded with call chains */
	bool is_walked;                        /* callers are of a copied stack */
	const struct tracepoint_format *trace; /* NULL: no tracepoint */
	/* Where another address of the thread lies; of a branch (script_is_branch()) also its own,
	 * as `code` may not tell. */
	struct code_addr (*resolve)(const void *context, uint64_t addr);
	uint32_t generation; /* the same while the answers are; 0: not known */
	/* The same for addresses of the kernel (bit 63 is set), which threads share. */
	uint32_t kernel_generation;
	const void *context;
};

/* Prints the facts of a recording, as perf script --header. */
void script_print_header(struct replay *replay, FILE *file);

/*
 * The fields that are one number: ` name=…` at the end of a line of text, a member of the JSON
 * object. A row of the table in script_plain.c is all that such a field needs beside its row of
 * SCRIPT_FIELDS. Text has the fields whose bits are set, JSON those that the sample's format has.
 */
void script_put_plain_text(struct buf *out, uint64_t fields, const struct script_row *row);
void script_put_plain_json(struct buf *out, const struct script_row *row);

/* An end of a branch as it is printed: its address, and what is there. */
struct script_end_text {
	uint64_t addr;
	uint32_t len, generation;
	uint8_t text[112];
};

struct script_flags_text {
	uint32_t flags;
	bool is_known;
	char text[24];
};

/* The last printed fields before a branch's flags, and the values that they were made of. */
struct script_start_text {
	const struct perf_event_attr *attr; /* NULL: nothing yet */
	uint64_t time_ns, period;
	uint32_t generation, cpu;
	enum cpu_mode mode;
	bool is_narrow;
	uint32_t len;
	char text[112];
};

enum { SCRIPT_TEXTS_LOG2 = 16 };

struct script_printer {
	const struct script_options *options;
	struct script_places *places;
	FILE *file;
	struct buf out; /* what comes next; given to the file in large pieces */
	struct script_interleave *interleave; /* lines that wait before that; NULL: none do */
	uint64_t first_ns, last_ns;           /* for relative times */
	int event_width;
	size_t source_width;                   /* of data sources: the longest so far */
	size_t indent_width;                   /* of a call trace's column, that changes seldom */
	struct disassembler *disassemblers[2]; /* of 32- and 64-bit code; NULL: not needed yet */
	uint32_t first_type;                   /* script_type() of the first event */
	bool has_chains;                       /* and whether that has call chains */
	bool has_failed;                       /* the file takes no more */
	bool takes_all;                        /* the filter is empty */
	const char *source_file;               /* of the last line of source that was shown, */
	uint32_t source_line;                  /* which is not shown twice in a row */
	struct script_start_text start_text;
	struct script_flags_text flags_texts[64];
	struct script_end_text end_texts[1 << SCRIPT_TEXTS_LOG2];
};

struct code_addr script_frame_code(const struct script_row *row, uint32_t frame);

/* script_text.c, script_json.c */
void script_print_text(struct script_printer *p, const struct script_row *row);
/* Prints an end of a branch that has no text yet, and keeps the text if it lasts. */
void script_make_end(struct script_printer *p, uint64_t fields, const struct script_row *row,
		     uint64_t addr);
/* The fields from the comm to the time. Narrow: the comm is not padded. */
void script_text_put_start(struct script_printer *p, uint64_t fields, const struct script_row *row,
			   bool is_narrow);
void script_print_event(struct script_printer *p, const struct event *e, const char *comm);
void script_print_error(struct script_printer *p, const struct event *e);
void script_json_error(struct script_printer *p, const struct event *e);
void script_print_unverified(struct script_printer *p, const struct event *e); /* or as JSON */

/* script_trace.c: the parts of a line of a trace, as perf has them. */
static inline bool script_is_branch(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE &&
	       attr->config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS && attr->sample_period == 1;
}
void script_put_flags(struct script_printer *p, uint32_t flags);
void script_format_flags(struct buf *out, uint32_t flags);
void script_put_synth(struct buf *out, uint64_t config, const uint8_t *raw, size_t size);
void script_put_ipc(struct buf *out, const struct sample_extra *x);
void script_put_bytes(struct buf *out, const uint8_t *bytes, uint32_t n);
/* The bytes of the sample's instruction: those of a trace, or of the code that is there. 0: none.
 */
#define SCRIPT_INSN_MAX 16
uint32_t script_insn(struct script_printer *p, const struct script_row *row,
		     uint8_t bytes[SCRIPT_INSN_MAX]);
/* perf's bytes and text of an output of BPF, from a line of its own on. */
void script_put_bpf_output(struct buf *out, const uint8_t *bytes, uint32_t size);
/* perf's "|LINE  TEXT" of the sample's place, with the end of the line. */
void script_put_source(struct script_printer *p, struct code_addr code);
void script_put_disasm(struct script_printer *p, const struct script_row *row, struct buf *out);
void script_print_json(struct script_printer *p, const struct script_row *row);

struct script_input {
	struct replay *replay;         /* the recording; NULL: the session's samples … */
	const struct session *session; /* … which is not read with a replay */
	struct symbolizer *symbolizer;
	bool with_brackets;
	FILE *file;
};

/*
 * Prints all rows that the options take. The fields must fit the input (script_fit()). -EBADMSG
 * when something was damaged, after all that could be read; -EPIPE where the file takes no more.
 */
int script_run(const struct script_input *input, const struct script_options *options,
	       struct error *err);

/*
 * Every record of a recording as it stands, in the order of the file; of the options the spans
 * count. Errors as of script_run().
 */
int script_dump(const struct script_input *input, const struct script_options *options,
		struct error *err);

/*
 * --time: adds spans to the filter. `whole` is the whole time, of which a span can be a share
 * (script_time_is_share()). -EINVAL with a message: the text is no span.
 */
bool script_time_is_share(const char *text);
int script_time_parse(struct script_filter *f, const char *text, const struct time_span *whole,
		      struct error *err);

/* --around: TIME, or TIME,SPAN. As script_time_parse(). */
int script_time_parse_around(struct script_filter *f, const char *text, struct error *err);

/* Fits the fields to the events of the input: script_fields_fit(). */
int script_fit(const struct script_input *input, struct script_options *options, struct error *err);
