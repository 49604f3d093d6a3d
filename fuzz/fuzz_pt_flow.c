/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow of Intel PT. The first 64 bytes are code, which repeats through all memory except for a
 * hole; the rest is trace. Decoding all branches must count the same as decoding calls only, and
 * give the same events as decoding step by step. Quick decoding, and decoding in pieces that are
 * joined, must end.
 */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#include "base/intmap.h"
#include "base/mem.h"
#include "pt/event_text.h"
#include "pt/flow.h"
#include "pt/piece.h"

enum { CODE = 64, REPEATS = 20 };

/*
 * It decodes each input some 80 times, and a byte of trace may have six directions, each of which
 * leads over 64 direct jumps.
 */
const struct fuzz_limits fuzz_limits = { .floor_ms = 4000, .ns_a_byte = 2000000 };

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	(void)space;
	if ((addr >> 12 & 7) == 7)
		return 0;
	for (size_t i = 0; i < size; i++)
		out[i] = ((const uint8_t *)context)[(addr + i) % CODE];
	return size;
}

static bool is_high(void *context, uint64_t ip)
{
	(void)context;
	return ip & 0x800;
}

static void ignore(void *context, const struct pt_event *events, size_t n)
{
	(void)context;
	(void)events;
	(void)n;
}

static uint64_t hash_text(uint64_t told, const struct pt_event *e)
{
	struct buf text = { 0 };

	pt_event_format(&text, e);
	for (size_t i = 0; i < text.len; i++)
		told = hash_u64(told ^ text.data[i]);
	buf_fini(&text);
	return told;
}

/* A hash of all events. */
static void mix(void *context, const struct pt_event *events, size_t n)
{
	uint64_t *told = context;

	for (size_t i = 0; i < n; i++) {
		const struct pt_event *e = &events[i];

		*told = hash_u64(*told ^ e->tsc ^ e->insns << 32 ^ (uint64_t)e->kind << 24);
		*told = hash_u64(*told ^ e->cycles);
		if (e->kind == PT_EV_BRANCH) {
			*told = hash_u64(*told ^ e->branch.from);
			*told = hash_u64(*told ^ e->branch.to);
			*told = hash_u64(*told ^ e->branch.flags ^
					 (uint64_t)e->branch.insn_size << 16 ^
					 (uint64_t)e->branch.end << 32);
		} else if (e->kind == PT_EV_ERROR) {
			/* Directions are gathered, so an error has the offset of a near packet. */
			*told = hash_u64(*told ^ e->error.ip ^ (uint64_t)e->error.reason << 56);
		} else {
			*told = hash_text(*told, e);
		}
	}
}

/* Guests have the same code, in a graph of their own. */
struct machines {
	uint64_t *told;
	struct pt_flow *flow;
	struct pt_code *codes[2];
};

static void mix_of_machine(void *context, const struct pt_event *events, size_t n)
{
	mix(((struct machines *)context)->told, events, n);
}

static void enter_machine(void *context, bool is_guest)
{
	struct machines *m = context;

	*m->told = hash_u64(*m->told ^ is_guest);
	pt_flow_set_code(m->flow, NULL);
	pt_flow_set_code(m->flow, m->codes[is_guest]);
}

static struct pt_flow_stats decode(const uint8_t *data, size_t size, bool all_branches,
				   bool steps_alone, uint64_t *told)
{
	struct pt_memory memory = { read_code, (void *)data };
	struct machines machines = { told,
				     NULL,
				     { pt_code_new(&memory, 0, 64, all_branches),
				       pt_code_new(&memory, 1, 64, all_branches) } };
	struct pt_flow_config config = { .clock = { .ctc_numerator = 100,
						    .ctc_denominator = 2,
						    .mtc_shift = 3,
						    .max_ratio = 20 },
					 .has_event_trace = data[0] & 1,
					 .errata = data[1],
					 .is_filtered_out = is_high,
					 .events = mix_of_machine,
					 .machine = enter_machine,
					 .context = &machines };
	struct pt_flow *flow = pt_flow_new(&config, machines.codes[0]);
	struct pt_flow_stats stats;
	uint8_t *own = xmalloc(size - CODE + 1); /* so that a read beyond it is seen */

	machines.flow = flow;
	*told = 0;
	machines.codes[0]->steps_alone = machines.codes[1]->steps_alone = steps_alone;
	memcpy(own, data + CODE, size - CODE);
	for (int i = 0; i < REPEATS; i++) /* until it is hot */
		pt_flow_feed(flow, own, size - CODE);
	stats = *pt_flow_stats(flow);
	pt_flow_free(flow);
	pt_code_free(machines.codes[0]);
	pt_code_free(machines.codes[1]);
	free(own);
	return stats;
}

static void decode_quickly(const uint8_t *data, size_t size, enum pt_quick quick)
{
	struct pt_memory memory = { read_code, (void *)data };
	struct pt_flow_config config = { .quick = quick, .events = ignore };
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_flow *flow = pt_flow_new(&config, code);

	pt_flow_feed(flow, data + CODE, size - CODE);
	pt_flow_free(flow);
	pt_code_free(code);
}

struct kept {
	struct pt_event events[64];
	size_t n;
};

static void keep(void *context, const struct pt_event *events, size_t n)
{
	struct kept *k = context;

	for (size_t i = 0; i < n && k->n < 64; i++)
		k->events[k->n++] = events[i];
}

static void decode_pieces(const uint8_t *data, size_t size)
{
	struct pt_memory memory = { read_code, (void *)data };
	struct kept kept = { .n = 0 };
	struct pt_flow_config config = { .events = keep, .context = &kept };
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_flow *flow = pt_flow_new(&config, code);
	const uint8_t *begin = data + CODE, *end = data + size, *at = begin;
	struct pt_joint joint = { 0 };

	while (at < end) {
		const uint8_t *cut = pt_find_cut(at + 1, begin, end);

		struct pt_piece_end end_of_piece;

		kept.n = 0;
		pt_flow_restart(flow, (uint64_t)(at - begin));
		pt_flow_feed(flow, at, (size_t)(cut - at));
		pt_flow_end_piece(flow, cut, end);
		if (pt_join(&joint, kept.events, kept.n) > kept.n)
			abort();
		end_of_piece = pt_flow_piece_end(flow);
		pt_join_end(&joint, &end_of_piece);
		at = cut;
	}
	pt_flow_free(flow);
	pt_code_free(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pt_flow_stats all, calls, all_steps, calls_steps;
	uint64_t told, told_calls, steps, steps_calls;

	if (size < CODE || size > 4096)
		return 0;
	decode_quickly(data, size, PT_QUICK);
	decode_quickly(data, size, PT_QUICKEST);
	decode_pieces(data, size);
	all = decode(data, size, true, false, &told);
	calls = decode(data, size, false, false, &told_calls);
	all_steps = decode(data, size, true, true, &steps);
	calls_steps = decode(data, size, false, true, &steps_calls);
	/* How far an endless loop was followed is a matter of how long the runs are. */
	if (all.errors[PT_ERR_LOOP] || calls.errors[PT_ERR_LOOP] || all_steps.errors[PT_ERR_LOOP] ||
	    calls_steps.errors[PT_ERR_LOOP])
		return 0;
	if (all.insns != calls.insns || memcmp(all.errors, calls.errors, sizeof(all.errors)) != 0 ||
	    told != steps || told_calls != steps_calls)
		abort();
	return 0;
}
