/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process report: the work of the machine, by process.
 *
 *	statistics of the run    samples by context, losses, cost
 *	account of CPU time      samples and the kernel's own figures, up to all time (account.h)
 *	summary of processes     hits and time of each, by context
 *	each process             its user profile, its kernel profile, and its interrupts
 *	the kernel               the kernel time of all processes
 *
 * A process's interrupts are those that came while it had the CPU. Functions are by region.
 *
 *	struct process_report (here)
 *	  --> process_text.c, process_json.c, process_csv.c, process_html.c
 *
 * The formats show the same rows. The rows below a row and their "other" always add up to that row.
 * With several events, the report is of the first selected one (processes_first_lane()).
 */
#pragma once

#include "base/buf.h"
#include "processes/account.h"
#include "profile/processes.h"
#include "report/formats.h"
#include "report/report.h"
#include "symbol/symbolizer/code_files.h"
#include "symbol/disasm.h"

/* X(id, key, title, contexts) */
#define PROCESS_PARTS(X)                                                   \
	X(USER, "user_profile", "User profile", 1 << CONTEXT_USER)         \
	X(KERNEL, "kernel_profile", "Kernel profile", 1 << CONTEXT_SYSTEM) \
	X(INTERRUPTS, "interrupts", "Interrupts that it did not cause",    \
	  1 << CONTEXT_IRQ | 1 << CONTEXT_SOFTIRQ)                         \
	X(IDLE, "idle_profile", "Idle", 1 << CONTEXT_IDLE)

enum process_part {
#define X(id, key, title, contexts) PART_##id,
	PROCESS_PARTS(X)
#undef X
		N_PROCESS_PARTS
};

struct process_part_info {
	const char *key, *title;
	uint32_t contexts; /* bits of enum sample_context */
};
extern const struct process_part_info process_parts[N_PROCESS_PARTS];

struct process_report_options {
	/* Of all samples for processes, of the process's for its functions; lighter ones go to
	 * "other". */
	double min_percent;
	double min_user_s, min_system_s; /* a process with less of both goes there, too */
	uint64_t max_rows;               /* under one heading; 0: no limit */
	bool with_details;               /* profiles of processes */
	int32_t only_pid;                /* details of this process alone; -1: of all */
	bool with_kernel;                /* the profile of the whole kernel */
	bool with_instructions;          /* those that were hit; the profile has places */
	bool long_names;                 /* paths instead of file names */
	uint32_t max_open_images;        /* for instructions: kept open at a time; 0: a few */
};

/* The contexts of the kernel's profile. */
#define PROCESS_KERNEL_CONTEXTS (((1u << N_CONTEXTS) - 1) & ~(1u << CONTEXT_USER))

/* The hidden rows: "other". */
struct hidden_hits {
	uint32_t n;
	struct weight weight;
};

struct hit_place {
	uint64_t offset; /* of the function's image */
	struct weight weight;
};

/* A function, with the instructions of it that were hit. */
struct hit_row {
	uint32_t function;
	struct weight by[N_CONTEXTS], all;
	uint32_t first, n; /* of `places`; none without instructions */
};

/* An image, as far as one part of a process reaches into it. */
struct hit_region {
	uint32_t image;
	struct weight weight;
	uint32_t first, n; /* of `hits`, heaviest first */
	struct hidden_hits hidden;
};

struct hit_part {
	struct weight weight;
	uint32_t first, n; /* of `regions`, heaviest first */
};

struct process_detail {
	uint32_t row; /* of `processes.rows` */
	struct hit_part parts[N_PROCESS_PARTS];
};

/* Where samples went: the first four add up to `delivered`, with `total` by its contexts. */
struct run_statistics {
	struct weight total;   /* of the event that is shown */
	uint64_t other_events; /* samples of other ones */
	uint64_t filtered;     /* left out by the query */
	uint64_t lost;
	uint64_t delivered;
	double seconds,
		capacity_seconds; /* of the run; CPUs times it, 0 if not the whole machine */
};

struct process_report {
	struct report head; /* what a header needs, no rows */
	struct process_report_options options;
	struct processes processes;
	struct run_statistics statistics;
	struct account account;
	bool *is_shown; /* by row of `processes`; always true for the idle task */
	uint32_t n_shown, n_hidden;
	struct process_row hidden; /* the sum of the hidden rows */
	uint64_t hidden_kernel_ns; /* the known ones of them */
	VEC(struct process_detail) details;
	struct hit_part kernel;
	VEC(struct hit_region) regions;
	VEC(struct hit_row) hits;
	VEC(struct hit_place) places;
	struct code_files *code; /* with instructions */
	char **code_errors;      /* by image: why it has none; NULL */
};

/* The view of its header. */
extern const struct view process_view;

/* What to load: processes_request(), and places for instructions. */
void process_report_request(const struct process_report_options *options,
			    struct profile_request *request);

/* Profile, query and options of the view stay the caller's and must outlive it. */
struct process_report *process_report_new(const struct process_report_options *options,
					  const struct report_options *view_options,
					  const struct query *query, const struct profile *profile);
void process_report_free(struct process_report *r); /* NULL is fine */
DEFINE_AT_EXIT(process_report_free, struct process_report)

/*
 * The instruction at a place of a function. False: the code can't be read. Then *why is the reason
 * at the first call for an image, and NULL at later ones.
 */
bool process_report_instruction(struct process_report *r, uint32_t function, uint64_t offset,
				struct instruction *out, const char **why);

/* Appends "<main+0x12>". */
void process_report_put_place(const struct process_report *r, uint32_t function, uint64_t offset,
			      struct buf *out);

/* Whether the session has the cost of its recording. An imported session has not. */
bool process_report_has_cost(const struct process_report *r);

/* Append a sentence with the clock, and one with the activities that it misses. */
void process_report_put_clock(const struct process_report *r, struct buf *out);
void process_report_put_blind_spot(const struct process_report *r, struct buf *out);

/* A sentence with the reason why interrupts may be missing; "": they are there. */
const char *process_report_contexts_note(const struct process_report *r);

/*
 * The contexts (bits) with columns in a table: of several `contexts`, those with samples. Of one
 * context, none.
 */
uint32_t process_columns(uint32_t contexts, const struct weight by[N_CONTEXTS]);

/* The image and the function of a row by name. The text may be in `scratch`. */
const char *process_report_image(const struct process_report *r, uint32_t image);
const char *process_report_symbol(const struct process_report *r, uint32_t function,
				  char scratch[static KEY_TEXT_SIZE]);

/*
 * The kernel's own time of a row of the summary: of one of `processes.rows`, of `hidden`, or of
 * the total. CPU_TIME_UNKNOWN.
 */
uint64_t process_report_kernel_ns(const struct process_report *r, const struct process_row *row);

/* The formats. A write that fails is left to the stream's error flag. */
void process_report_print_text(struct process_report *r, const struct text_style *style, FILE *out);
void process_report_print_json(struct process_report *r, FILE *out);
void process_report_print_csv(const struct process_report *r, bool is_raw, FILE *out);
void process_report_print_html(struct process_report *r, FILE *out);
