/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OProfile's event stream: the format of the `buffer` file, between OProfile's kernel driver and
 * its daemon. Our `buffer` (oprofile/fs/oprofilefs.h) has the same format. After OProfile's
 * internals document ("The OProfile buffers", "Generating sample files") and the names of its
 * codes.
 *
 * The stream consists of native words of the size in the file `pointer_size`:
 *
 *   OFFSET COUNTER                   a sample; or, of a trace, one caller
 *   ~0 CODE [ARGUMENT]…              the state from here on
 *
 * A sample belongs to the last CPU, thread, mode and file of the stream. In user mode its offset is
 * in the file of the cookie, or with cookie 0 an address; in kernel mode it is an address. With
 * callers:
 *
 *   CPU_SWITCH  TRACE_BEGIN  KERNEL_EXIT  CTX_SWITCH  COOKIE_SWITCH  sample  caller  caller …
 *
 * A part is left out if nothing changed. The callers end at the next TRACE_BEGIN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define ESTREAM_ESCAPE   UINT64_MAX /* in the width of a word */
#define COOKIE_ANONYMOUS 0          /* no file: offsets are addresses */
#define COOKIE_NONE      UINT64_MAX /* no mapping */

#define ESTREAM_MAX_VALUES 15

/*
 * X(id, code, name, n): n values follow the code. A SAMPLE has no code. The process of CTX_SWITCH
 * follows behind another escape and code, which n does not count. IBS: the offset, then registers
 * as pairs of halves, the low half first.
 */
#define ESTREAM_CODES(X)                                                                      \
	X(SAMPLE, 0, "sample", 2)               /* offset, counter */                         \
	X(CTX_SWITCH, 1, "context-switch", 3)   /* thread, cookie of application, process */  \
	X(CPU_SWITCH, 2, "cpu-switch", 1)       /* CPU */                                     \
	X(COOKIE_SWITCH, 3, "cookie-switch", 1) /* cookie */                                  \
	X(KERNEL_ENTER, 4, "kernel-enter", 0)   /* the image in user mode is kept */          \
	X(KERNEL_EXIT, 5, "kernel-exit", 0)                                                   \
	X(MODULE_LOADED, 6, "module-loaded", 0)  /* /proc/modules has changed */              \
	X(CTX_TGID, 7, "context-process", 1)     /* process; but for CTX_SWITCH unused */     \
	X(TRACE_BEGIN, 8, "trace-begin", 0)      /* the next sample's callers follow it */    \
	X(TRACE_END, 9, "trace-end", 0)          /* of old drivers */                         \
	X(XEN_ENTER, 10, "xen-enter", 0)         /* like the kernel */                        \
	X(DOMAIN_SWITCH, 11, "domain-switch", 1) /* Xen domain */                             \
	X(IBS_FETCH, 13, "ibs-fetch", 7)         /* offset, address, ctl, physical address */ \
	X(IBS_OP, 14, "ibs-op", 13)              /* offset, rip, data, data2, data3, dc lin, phys */

enum estream_kind {
#define X(id, code, name, n) ESTREAM_##id,
	ESTREAM_CODES(X)
#undef X
		N_ESTREAM_KINDS
};

struct estream_row {
	uint8_t code, n_values;
	const char *name;
};
extern const struct estream_row estream_rows[N_ESTREAM_KINDS];

struct estream_item {
	enum estream_kind kind;
	uint32_t n; /* values: as in the table, or two more of an IBS_OP with its branch target */
	uint64_t values[ESTREAM_MAX_VALUES];
};

struct estream_words {
	uint64_t *data;
	size_t n, cap;
};

/* Appends one item. */
void estream_put(struct estream_words *out, const struct estream_item *item);

/* Reading items of bytes. */

struct estream_reader {
	const uint8_t *at, *end;
	uint32_t word_bytes;    /* 4 or 8 */
	bool has_branch_target; /* IBS_OP has it */
	uint64_t n_unknown;     /* codes that nobody knows; they alone are left out */
	uint64_t n_cut;         /* switches of a context that lack their process */
};

struct estream_reader estream_reader_over(const void *bytes, size_t size, uint32_t word_bytes);

/*
 * For tests and fuzzers, as the daemons that read the stream are other programs.
 * Returns 1 with the next item in *out. Returns 0 at the end, or if the next item is incomplete;
 * `at` is then its beginning.
 */
int estream_next(struct estream_reader *r, struct estream_item *out);

/* Samples. */

/* Where an instruction is. */
struct estream_place {
	bool is_kernel;
	uint64_t cookie; /* user mode only */
	uint64_t offset;
};

struct estream_sample {
	uint32_t cpu;
	int32_t tid, tgid;
	uint64_t app; /* cookie of the application */
	uint64_t counter;
	const struct estream_place *places; /* the sample's own, then its callers' */
	uint32_t n_places;                  /* >= 1 */
	bool is_traced;                     /* false: callers are not told */
};

/* The state that a reader of the stream has. { 0 } is the state at its start. */
struct estream_writer {
	bool has_cpu, has_task, has_cookie, has_mode;
	bool is_kernel, is_traced;
	uint32_t cpu;
	int32_t tid, tgid;
	uint64_t app, cookie;
};

/*
 * Appends a sample with the necessary state changes. -EINVAL: the offset would be an escape;
 * nothing is appended.
 */
int estream_put_sample(struct estream_writer *w, struct estream_words *out,
		       const struct estream_sample *sample);

/* The reverse: what a stream's items say of its samples. { .mode = ESTREAM_NO_MODE } at its start.
 */
enum estream_mode { ESTREAM_NO_MODE, ESTREAM_USER, ESTREAM_KERNEL };

struct estream_context {
	enum estream_mode mode;
	uint32_t cpu;
	int32_t tid, tgid;
	uint64_t app, cookie;
	bool is_traced;     /* there was a TRACE_BEGIN: what follows a sample are its callers */
	bool has_sample;    /* and the sample was there */
	uint64_t n_ignored; /* samples and callers before the first mode, or with COOKIE_NONE */
};

struct estream_entry {
	struct estream_place place;
	uint64_t counter;
	bool is_caller; /* of the entry before; else a sample */
};

/* True: the item is an entry, of the thread and CPU that are in *c. IBS items are samples. */
bool estream_follow(struct estream_context *c, const struct estream_item *item,
		    struct estream_entry *out);
