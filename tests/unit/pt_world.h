/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few instructions, and the events that a trace of them, given as text, is decoded to. */
#pragma once

#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "pt/errata.h"
#include "pt/flow.h"
#include "pt/event_text.h"
#include "pt/packet_text.h"

/*
 * 1000 je 1004        1004 call 1020        1010 syscall        1020 nop
 * 1002 jmp 1010       1009 jmp *%rax        1012 jmp 1012       1021 ret
 *                                           1014 vmlaunch
 */
static const uint8_t code_bytes[0x22] = {
	[0x00] = 0x74, 0x02, 0xeb,          0x0c, 0xe8, 0x17, 0,    0,    0,
	0xff,          0xe0, [0x10] = 0x0f, 0x05, 0xeb, 0xfe, 0x0f, 0x01, 0xc2,
	[0x20] = 0x90, 0xc3,
};

#define PSB "PSB\nMODE.Exec IF:0 64\nFUP 0x1000\nPSBEND\n"

struct world {
	struct buf said;
	struct pt_flow_stats stats;
	struct pt_clock clock;
	enum pt_quick quick;
	bool says_counts;   /* instructions and cycles */
	bool hides_offsets; /* of errors: directions are gathered, so it may be a near packet's */
	uint32_t errata;
	uint8_t code[sizeof(code_bytes)];
	uint64_t changes_at; /* the code, when time has come there */
	size_t piece;        /* how many bytes are fed at once; 0: all */
	bool knows_mappings; /* else anything may be mapped anywhere */
	struct pt_code *graph;
	/* Code of a guest at the same addresses; NULL: all machines have the same code. */
	const uint8_t *guest_code;
	struct pt_code *guest_graph;
	struct pt_flow *flow;
};

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	struct world *w = context;

	(void)space;
	if (addr < 0x1000 || addr >= 0x1000 + sizeof(w->code))
		return 0;
	size = MIN(size, 0x1000 + sizeof(w->code) - addr);
	memcpy(out, w->code + (addr - 0x1000), size);
	return size;
}

static size_t read_guest_code(void *context, uint32_t space, uint64_t addr, uint8_t *out,
			      size_t size)
{
	const struct world *w = context;

	(void)space;
	if (addr < 0x1000 || addr >= 0x1000 + sizeof(w->code))
		return 0;
	size = MIN(size, 0x1000 + sizeof(w->code) - addr);
	memcpy(out, w->guest_code + (addr - 0x1000), size);
	return size;
}

static void enter_machine(void *context, bool is_guest)
{
	struct world *w = context;

	buf_str(&w->said, is_guest ? "guest\n" : "host\n");
	pt_flow_set_code(w->flow, NULL);
	pt_flow_set_code(w->flow, is_guest ? w->guest_graph : w->graph);
}

/* The code, and a page of a file that is not there. */
static bool covers(void *context, uint32_t space, uint64_t addr)
{
	(void)context;
	(void)space;
	return (addr >= 0x1000 && addr < 0x1000 + sizeof(code_bytes)) || addr >> 12 == 5;
}

static bool is_noted(const struct pt_event *e)
{
	return e->kind != PT_EV_PSB && e->kind != PT_EV_CBR && e->kind != PT_EV_TIME &&
	       e->kind != PT_EV_TIME_AHEAD;
}

static void note_branch(struct buf *b, const struct pt_event *e)
{
	static const char letters[] = "bcrosyiABExgh";

	buf_printf(b, "%" PRIx64 "-%" PRIx64 " ", e->branch.from, e->branch.to);
	for (int i = 0; letters[i]; i++)
		if (e->branch.flags >> i & 1)
			buf_u8(b, (uint8_t)letters[i]);
}

static void note(void *context, const struct pt_event *events, size_t n)
{
	const struct world *w = context;
	struct buf *b = &((struct world *)context)->said;

	for (const struct pt_event *e = events; e < events + n; e++) {
		if (!is_noted(e))
			continue;
		if (e->kind == PT_EV_ERROR)
			buf_printf(b, "error at %" PRIx64 "+%" PRIu64 ": %s", e->error.ip,
				   w->hides_offsets ? 0 : e->error.offset,
				   pt_error_texts[e->error.reason]);
		else if (e->kind == PT_EV_BRANCH)
			note_branch(b, e);
		else
			pt_event_format(b, e);
		if (e->tsc)
			buf_printf(b, " @%" PRIu64, e->tsc);
		if (w->says_counts)
			buf_printf(b, " %" PRIu64 " %" PRIu64, e->insns, e->cycles);
		buf_u8(b, '\n');
	}
}

static uint64_t side_band(void *context, uint64_t tsc)
{
	struct world *w = context;

	if (tsc < w->changes_at)
		return w->changes_at;
	w->code[1] = 0x0e; /* je 1010 */
	pt_code_forget(w->graph);
	return UINT64_MAX;
}

/* The filter has all but the function at 1020. */
static bool is_filtered_out(void *context, uint64_t ip)
{
	(void)context;
	return ip >= 0x1020;
}

static void setup(struct world *w)
{
	*w = (struct world){ .clock = { .ctc_numerator = 100,
					.ctc_denominator = 2,
					.mtc_shift = 3,
					.max_ratio = 20,
					.time_mult = 1 } };
	memcpy(w->code, code_bytes, sizeof(code_bytes));
}

/* Feeds `piece` bytes more at a time, with those before that were not used. */
static void feed_in_pieces(struct pt_flow *flow, const uint8_t *bytes, size_t size, size_t piece)
{
	size_t at = 0;

	for (size_t end = MIN(piece, size); at < size; end = MIN(end + piece, size))
		at += pt_flow_feed_some(flow, bytes + at, end - at, end == size);
}

static void decode_bytes(struct world *w, const uint8_t *bytes, size_t size)
{
	struct pt_memory memory = { read_code, w, w->knows_mappings ? covers : NULL };
	struct pt_flow_config config = {
		.clock = w->clock,
		.quick = w->quick,
		.events = note,
		.context = w,
		.errata = w->errata,
		.is_filtered_out = is_filtered_out,
	};
	struct pt_memory guest_memory = { read_guest_code, w, NULL };

	if (w->changes_at)
		config.side_band = side_band;
	if (w->guest_code)
		config.machine = enter_machine;
	w->graph = pt_code_new(&memory, 0, 64, true);
	w->guest_graph = pt_code_new(&guest_memory, 0, 64, true);
	w->flow = pt_flow_new(&config, w->graph);
	feed_in_pieces(w->flow, bytes, size, w->piece ? w->piece : size);
	w->stats = *pt_flow_stats(w->flow);
	pt_flow_free(w->flow);
	pt_code_free(w->graph);
	pt_code_free(w->guest_graph);
}

/* The decoder's events for packets given as text. */
static inline const char *decode(struct world *w, const char *text)
{
	struct buf bytes = { 0 };
	struct error err = { 0 };

	w->said.len = 0;
	if (pt_text_write(&bytes, text, &err) < 0)
		fail_msg("%s", err.text);
	decode_bytes(w, bytes.data, bytes.len);
	buf_fini(&bytes);
	return buf_cstr(&w->said);
}

static inline void expect(const char *text, const char *want)
{
	struct world w;

	setup(&w);
	assert_string_equal(decode(&w, text), want);
	buf_fini(&w.said);
}
