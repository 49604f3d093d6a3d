/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of a processor trace, with the called functions and their callers.
 *
 *   replay, decoding all branches ─► call_stack ─► ended calls: function, path, times
 *                    └► machine, symbols ─► functions
 *
 * Paths are a tree of functions: a path is its parent path and a called function.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/image.h"
#include "symbol/symbols.h"
#include "trace/call_stack.h"

struct error;
struct event;
struct replay;
struct time_span;
struct trace_calls;

struct trace_function {
	image_id image;
	uint32_t symbol; /* NO_SYMBOL: all code of the image that has none */
};

struct trace_path {
	uint32_t parent, function; /* parent 0: called by nobody that is known; path 0: none */
};

struct trace_call {
	uint64_t id, parent_id; /* 0: none */
	uint32_t function, path;
	int32_t pid, tid;
	uint64_t start_ns, end_ns;
	uint64_t insns, cycles, branches; /* of the thread while it lasted; insns and cycles: CYC */
	uint64_t from;                    /* the address that it was called from; 0: not known */
	uint32_t flags;                   /* enum open_call_flags */
};

struct trace_calls_sink {
	/* A call is over: inner ones come first. */
	void (*call)(struct trace_calls_sink *self, const struct trace_call *call);
	/* A branch, with the functions of its ends; may be NULL. */
	void (*branch)(struct trace_calls_sink *self, const struct event *sample, uint32_t from,
		       uint32_t to);
};

/*
 * `replay` was not read yet: it decodes all branches from here on. Both stay the caller's. `places`
 * as of replay_decode(). Branches outside of `window` may be left out (NULL: none is); it stays the
 * caller's. -ENODATA: it has no Intel PT; -EBADMSG: its description is damaged.
 */
int trace_calls_open(struct replay *replay, struct symbolizer *symbolizer,
		     const struct symbolizer_config *places, const struct time_span *window,
		     struct trace_calls **out, struct error *err);
void trace_calls_free(struct trace_calls *t); /* NULL is fine */
DEFINE_AT_EXIT(trace_calls_free, struct trace_calls)

/* Reads the recording. As replay_events(). */
int trace_calls_run(struct trace_calls *t, struct trace_calls_sink *sink, struct error *err);

/* The functions of the calls; their number grows while running. Function 0: code without an image.
 */
uint32_t trace_n_functions(const struct trace_calls *t);
struct trace_function trace_function(const struct trace_calls *t, uint32_t function);
const struct image *trace_image(const struct trace_calls *t, image_id id);
const struct symbol_table *trace_symbols(struct trace_calls *t, image_id id);
/* For people; "[image]" where there is no symbol. Valid until the freeing. */
const char *trace_function_name(struct trace_calls *t, uint32_t function);

uint32_t trace_n_paths(const struct trace_calls *t); /* path 0 included */
struct trace_path trace_path(const struct trace_calls *t, uint32_t path);
