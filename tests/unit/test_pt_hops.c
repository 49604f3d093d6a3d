/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of flows from TIP to TIP gives the same events as walking step by step. A fake
 * processor runs a small program with random calls, recursion and jumps, and with time packets
 * anywhere.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "pt/event_text.h"
#include "pt/flow.h"
#include "pt/hop.h"
#include "pt/packet_text.h"

enum { BASE = 0x401000, STEPS = 60000, DEEP = 4096 };

/* The places that an indirect jump, or call, leads to. */
static const uint64_t jumps[] = { BASE + 0x10, BASE + 0x30, BASE + 0x50, BASE + 0xa0,
				  BASE + 0xb0, BASE + 0xb8, BASE + 0xba, BASE + 0xbc };
static const uint64_t calls[] = { BASE + 0x60, BASE + 0x80, BASE + 0x90 };

/* It calls the recursive function of the test of deep stacks. */
enum { DEEP_BEGIN = BASE + 0xd5, DEEP_END = BASE + 0xda, DEEP_CALLS = BASE + 0xc0 };

static const uint8_t program[0xe0] = {
	[0x00] = 0xff, 0xe0,                               /* jmp *%rax */
	[0x10] = 0x74, 0x02, 0x90, 0x90,                   /* je 14; nop; nop */
	[0x14] = 0xe8, 0x47, 0,    0,    0,                /* call 60 */
	[0x19] = 0x74, 0x01, 0x90, 0xff, 0xe0,             /* je 1c; nop; jmp *%rax */
	[0x30] = 0xe8, 0x2b, 0,    0,    0,                /* call 60 */
	[0x35] = 0xe8, 0x46, 0,    0,    0,    0xeb, 0xc4, /* call 80; jmp 0 */
	[0x50] = 0xff, 0xd0, 0xeb, 0xac,                   /* call *%rax; jmp 0 */
	[0x60] = 0x74, 0x01, 0x90, 0xff, 0xe0,             /* je 63; nop; jmp *%rax */
	[0x70] = 0x75, 0xfe, 0xc3,                         /* jne 70; ret */
	[0x80] = 0x75, 0xfe, 0xe8, 0xe9, 0xff, 0xff, 0xff, /* jne 80; call 70 */
	[0x87] = 0xc3,                                     /* ret */
	[0x90] = 0x74, 0x05, 0xe8, 0xf9, 0xff, 0xff, 0xff, /* je 97; call 90 */
	[0x97] = 0xc3,                                     /* ret */
	[0xa0] = 0xe8, 0,    0,    0,    0,    0xe8, 0xe6, 0xff, 0xff, 0xff, /* call a5; call 90 */
	[0xaa] = 0xff, 0xe0,                                                 /* jmp *%rax */
	[0xb0] = 0x0f, 0x01, 0xc2, 0x74, 0x01, 0x90, 0xff, 0xe0, /* vmlaunch; je b6; nop; jmp *%rax
								  */
	[0xb8] = 0xff, 0x28, 0xff, 0x18, 0xcb, /* jmp far *(%rax); call far *(%rax); retf */
	[0xc0] = 0x74, 0x05, 0xe8, 0xf9, 0xff, 0xff, 0xff,          /* je c7; call c0 */
	[0xc7] = 0x75, 0xfe, 0x74, 0x05, 0xe8, 0x02, 0,    0,    0, /* jne c7; je d0; call d2 */
	[0xd0] = 0x90, 0xc3, 0x75, 0xfe, 0xc3,                      /* nop; ret; jne d2; ret */
	[0xd5] = 0xe8, 0xe6, 0xff, 0xff, 0xff, 0xff, 0xe0,          /* call c0; jmp *%rax */
};

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	(void)context;
	(void)space;
	if (addr < BASE || addr >= BASE + sizeof(program))
		return 0;
	size = MIN(size, BASE + sizeof(program) - addr);
	memcpy(out, program + (addr - BASE), size);
	return size;
}

static const struct pt_memory memory = { read_code, NULL };

struct processor {
	struct pt_code *code;
	struct buf out;
	uint64_t random, pc;
	uint64_t stack[DEEP], hidden[64];
	size_t depth, n_hidden; /* hidden: the addresses for which returns are compressed */
	unsigned int tnt;
	uint8_t mtc;
	bool goes_back_in_order, has_no_cyc;
};

static unsigned int chance(struct processor *p, unsigned int n)
{
	p->random = p->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned int)(p->random >> 33) % n;
}

static void put_tnt(struct processor *p)
{
	if (p->tnt > 1)
		buf_u8(&p->out, (uint8_t)(p->tnt << 1));
	p->tnt = 1;
}

static void put_text(struct processor *p, const char *text)
{
	struct error err = { 0 };

	put_tnt(p);
	assert_int_equal(pt_text_write(&p->out, text, &err), 0);
}

static void put_psb(struct processor *p)
{
	char *text = xasprintf("PSB\nMODE.Exec IF:0 64\nFUP 0x%llx\nTSC 0x%x\nTMA CTC 0x%x FC 0x0\n"
			       "CBR 0x14\nPSBEND\n",
			       (unsigned long long)p->pc, 0x100000 + (unsigned int)p->out.len * 16,
			       (unsigned int)p->mtc << 3);

	put_text(p, text);
	free(text);
	p->n_hidden = 0;
}

static void put_time(struct processor *p)
{
	unsigned int which = chance(p, 8);

	put_tnt(p);
	if (which < 7) {
		buf_u8(&p->out, 0x59);
		buf_u8(&p->out, ++p->mtc);
	}
	if (which > 4 && !p->has_no_cyc)
		buf_u8(&p->out, (uint8_t)(chance(p, 32) << 3 | 3));
}

static void put_bit(struct processor *p, bool bit)
{
	p->tnt = p->tnt << 1 | bit;
	if (p->tnt >= 1 << 6)
		put_tnt(p);
}

static void go_indirect(struct processor *p, uint64_t to)
{
	/* Forms of a TIP, and how many bytes of the address each has. */
	static const uint8_t forms[] = { 0x2d, 0x2d, 0x4d, 0x6d, 0x8d, 0xcd };
	static const int sizes[] = { 2, 2, 4, 6, 6, 8 };
	unsigned int form = chance(p, ARRAY_SIZE(forms));

	put_tnt(p);
	if (!chance(p, 12))
		put_time(p);
	buf_u8(&p->out, forms[form]);
	for (int i = 0; i < sizes[form]; i++)
		buf_u8(&p->out, (uint8_t)(to >> 8 * i));
	p->pc = to;
}

static void call(struct processor *p, uint64_t back)
{
	p->stack[p->depth++] = back;
	if (p->n_hidden == 64)
		memmove(p->hidden, p->hidden + 1, --p->n_hidden * sizeof(*p->hidden));
	p->hidden[p->n_hidden++] = back;
}

/* Now and then to elsewhere than it was called from. */
static void go_back(struct processor *p)
{
	uint64_t to = p->depth ? p->stack[--p->depth] : BASE;

	if (!p->goes_back_in_order && !chance(p, 50))
		to = BASE;
	if (p->n_hidden && p->hidden[--p->n_hidden] == to) {
		put_bit(p, true);
		p->pc = to;
	} else {
		go_indirect(p, to);
	}
}

static void step(struct processor *p, bool bit)
{
	struct pt_node node = *pt_node(p->code, pt_code_at(p->code, p->pc));

	p->pc = node.after;
	switch ((enum pt_end)node.end) {
	case PT_END_COND:
		put_bit(p, bit);
		p->pc = bit ? node.target : node.after;
		break;
	case PT_END_CALL:
		if (node.target != node.after)
			call(p, node.after);
		p->pc = node.target;
		break;
	case PT_END_JUMP:
		p->pc = node.target;
		break;
	case PT_END_RETURN:
		go_back(p);
		break;
	case PT_END_CALL_INDIRECT:
		call(p, node.after);
		go_indirect(p, calls[chance(p, ARRAY_SIZE(calls))]);
		break;
	case PT_END_JUMP_INDIRECT:
		if (p->pc == BASE + 0x65)
			go_indirect(p, BASE + 0x70);
		else
			go_indirect(p, jumps[chance(p, ARRAY_SIZE(jumps))]);
		break;
	case PT_END_VM_ENTRY:
		if (!bit) /* it fails */
			break;
		go_indirect(p, jumps[chance(p, ARRAY_SIZE(jumps))]);
		break;
	case PT_END_FAR_JUMP:
	case PT_END_FAR_CALL:
	case PT_END_FAR_RETURN:
		go_indirect(p, jumps[chance(p, ARRAY_SIZE(jumps))]);
		break;
	default:
		fail();
	}
}

static struct buf play(uint64_t seed)
{
	struct processor p = { .code = pt_code_new(&memory, 0, 64, true),
			       .random = seed,
			       .pc = BASE,
			       .tnt = 1,
			       .has_no_cyc = seed % 2 };

	put_psb(&p);
	for (int i = 0; i < STEPS && p.depth < DEEP; i++) {
		step(&p, chance(&p, 3));
		if (!chance(&p, 40))
			put_time(&p);
		if (!chance(&p, 1500))
			put_psb(&p);
	}
	put_tnt(&p);
	pt_code_free(p.code);
	return p.out;
}

/* Again and again `depth` calls, short loops below them and on the way back, and all returns. */
static struct buf play_deep(size_t depth)
{
	struct processor p = { .code = pt_code_new(&memory, 0, 64, true),
			       .random = depth,
			       .pc = BASE,
			       .tnt = 1,
			       .goes_back_in_order = true };

	put_psb(&p);
	for (int i = 0; i < 200; i++) {
		go_indirect(&p, DEEP_BEGIN);
		while (p.pc != DEEP_END)
			step(&p, p.pc == DEEP_CALLS ? p.depth == depth : chance(&p, 3));
	}
	put_tnt(&p);
	pt_code_free(p.code);
	return p.out;
}

/* The settings of decoding, and the resulting events. */
struct told {
	bool steps_alone, all_branches, keeps_stack, no_branches, pauses, forgets;
	uint64_t sample_ticks;
	struct pt_code *code;
	struct pt_flow *flow;
	VEC(struct pt_event) events;
	uint32_t n_hops;
};

static void keep(void *context, const struct pt_event *events, size_t n)
{
	struct told *t = context;

	for (size_t i = 0; i < n; i++)
		vec_push(&t->events, events[i]);
	if (t->pauses)
		pt_flow_pause(t->flow);
}

static uint64_t forget(void *context, uint64_t tsc)
{
	struct told *t = context;

	t->n_hops = MAX(t->n_hops, t->code->n_hops);
	pt_code_forget(t->code);
	return tsc + 30000;
}

static void decode(struct told *t, const struct buf *trace)
{
	struct pt_flow_config config = {
		.clock = { .ctc_numerator = 100,
			   .ctc_denominator = 2,
			   .mtc_shift = 3,
			   .max_ratio = 20,
			   .time_mult = 1 },
		.events = keep,
		.side_band = t->forgets ? forget : NULL,
		.return_keeps_stack = t->keeps_stack,
		.no_branches = t->no_branches,
		.sample_ticks = t->sample_ticks,
		.context = t,
	};
	size_t at = 0;

	t->code = pt_code_new(&memory, 0, 64, t->all_branches);
	t->code->steps_alone = t->steps_alone;
	t->flow = pt_flow_new(&config, t->code);
	while (at < trace->len) {
		size_t size = MIN(trace->len - at, 1000);

		at += pt_flow_feed_some(t->flow, trace->data + at, size, at + size == trace->len);
	}
	pt_flow_free(t->flow);
	t->n_hops = MAX(t->n_hops, t->code->n_hops);
	pt_code_free(t->code);
}

static void expect_same_branch(const struct pt_event *x, const struct pt_event *y)
{
	assert_int_equal(x->branch.from, y->branch.from);
	assert_int_equal(x->branch.to, y->branch.to);
	assert_int_equal(x->branch.flags, y->branch.flags);
	assert_int_equal(x->branch.end, y->branch.end);
	assert_int_equal(x->branch.insn_size, y->branch.insn_size);
}

static void expect_same_text(const struct pt_event *x, const struct pt_event *y)
{
	cleanup(buf_fini) struct buf of_x = { 0 }, of_y = { 0 };

	pt_event_format(&of_x, x);
	pt_event_format(&of_y, y);
	assert_string_equal(buf_cstr(&of_x), buf_cstr(&of_y));
}

static void expect_same(const struct told *a, const struct told *b)
{
	for (size_t i = 0; i < MIN(a->events.n, b->events.n); i++) {
		const struct pt_event *x = &a->events.data[i], *y = &b->events.data[i];

		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->tsc, y->tsc);
		assert_int_equal(x->insns, y->insns);
		assert_int_equal(x->cycles, y->cycles);
		if (x->kind == PT_EV_BRANCH)
			expect_same_branch(x, y);
		else
			expect_same_text(x, y);
	}
	assert_int_equal(a->events.n, b->events.n);
}

/* Returns the number of hops. */
static uint32_t compare(const struct buf *trace, struct told how)
{
	struct told hops = how, steps = how;

	steps.steps_alone = true;
	decode(&hops, trace);
	decode(&steps, trace);
	expect_same(&hops, &steps);
	assert_int_equal(steps.n_hops, 0);
	vec_fini(&hops.events);
	vec_fini(&steps.events);
	return hops.n_hops;
}

static void compare_all(const struct buf *trace)
{
	static const struct told ways[] = {
		{ 0 },
		{ .all_branches = true },
		{ .all_branches = true, .forgets = true },
		{ .pauses = true },
		{ .no_branches = true },
		{ .no_branches = true, .forgets = true },
		{ .keeps_stack = true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		assert_true(compare(trace, ways[i]) > 20);
}

static void expect_no_error(const struct buf *trace)
{
	struct told t = { 0 };

	decode(&t, trace);
	vec_foreach (&t.events, e)
		assert_int_not_equal(e->kind, PT_EV_ERROR);
	vec_fini(&t.events);
}

static void hops_equal_steps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct buf trace = play(seed);

		compare_all(&trace);
		expect_no_error(&trace);
		buf_fini(&trace);
	}
}

/* The return stack has 64 entries: no memoised loop changes those below it. */
static void runs_below_a_full_return_stack_equal_steps(void **state)
{
	(void)state;
	for (size_t depth = 60; depth <= 68; depth++) {
		struct buf trace = play_deep(depth);

		compare(&trace, (struct told){ 0 });
		compare(&trace, (struct told){ .all_branches = true });
		expect_no_error(&trace);
		buf_fini(&trace);
	}
}

static void hops_over_a_damaged_trace_equal_steps(void **state)
{
	static const size_t strides[] = { 97, 333, 611, 617 };

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct buf trace = play(seed);

		for (size_t at = 100; at < trace.len; at += strides[seed - 1])
			trace.data[at] ^= (uint8_t)(1 << at % 8);
		compare_all(&trace);
		buf_fini(&trace);
	}
}

static bool is_same(const struct pt_event *x, const struct pt_event *y)
{
	if (x->kind != y->kind || x->insns != y->insns || x->tsc != y->tsc)
		return false;
	return x->kind != PT_EV_BRANCH ||
	       (x->branch.from == y->branch.from && x->branch.to == y->branch.to);
}

/*
 * How many of the events `all` are missing in `some`, which has no others but PT_EV_RESUME. No
 * missing branch is of another period than the branches around it.
 */
static size_t count_missing(const struct told *all, const struct told *some, uint64_t ticks)
{
	size_t at = 0, missing = 0;

	vec_foreach (&some->events, e) {
		uint64_t period = at ? all->events.data[at - 1].tsc / ticks : 0;

		if (e->kind == PT_EV_RESUME) {
			assert_int_equal(e->resume.tsc / ticks, period);
			continue;
		}
		for (; at < all->events.n && !is_same(&all->events.data[at], e); at++, missing++)
			assert_int_equal(all->events.data[at].tsc / ticks, period);
		assert_true(at < all->events.n);
		at++;
	}
	return missing + (all->events.n - at);
}

/* The first branch behind a resumption is in the block that it names. */
static size_t count_resumptions(const struct told *t)
{
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	size_t n = 0;

	for (size_t i = 0; i < t->events.n; i++) {
		const struct pt_event *e = &t->events.data[i], *next = e + 1;

		if (e->kind != PT_EV_RESUME || !e->resume.ip)
			continue;
		while (next < t->events.data + t->events.n && next->kind != PT_EV_BRANCH &&
		       next->kind != PT_EV_ERROR)
			next++;
		n++;
		if (next == t->events.data + t->events.n || next->kind != PT_EV_BRANCH)
			continue;
		for (uint64_t ip = e->resume.ip, insns = e->insns;;) {
			const struct pt_node *node = pt_node(code, pt_code_at(code, ip));

			insns += node->n_insns;
			if (node->last == next->branch.from) {
				assert_int_equal(insns, next->insns);
				break;
			}
			assert_true(insns < next->insns); /* a branch that is not taken */
			ip = node->after;
		}
	}
	pt_code_free(code);
	return n;
}

static void far_from_samples_branches_are_left_out(void **state)
{
	enum { TICKS = 1 << 16 };

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct buf trace = play(seed);

		for (int steps = 0; steps < 2; steps++) {
			struct told all = { .all_branches = true, .steps_alone = steps },
				    some = all;

			some.sample_ticks = TICKS;
			decode(&all, &trace);
			decode(&some, &trace);
			assert_true(count_missing(&all, &some, TICKS) > all.events.n / 2);
			assert_true(count_resumptions(&some) > 5);
			vec_fini(&all.events);
			vec_fini(&some.events);
		}
		buf_fini(&trace);
	}
}

static void when_there_are_too_many_hops_all_are_forgotten(void **state)
{
	struct pt_code *code = pt_code_new(&memory, 0, 64, true);
	struct pt_returns returns = { .top = 0 };
	uint64_t a_tip_alone = BASE, n = 0;

	(void)state;
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t tnt = 0x808080 | (i & 63) << 1 | (i >> 6 & 63) << 9 | i >> 12 << 17;

		assert_non_null(pt_code_make_hop(code, BASE, tnt, 0, &returns));
		n = MAX(n, code->n_hops);
	}
	assert_in_range(n, 1 << 16, 1 << 17);
	assert_in_range(code->n_hops, 1, n - 1);
	assert_int_equal(pt_code_make_hop(code, a_tip_alone, 0, 0, &returns)->n_ops, 1);
	pt_code_free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hops_equal_steps),
		cmocka_unit_test(runs_below_a_full_return_stack_equal_steps),
		cmocka_unit_test(when_there_are_too_many_hops_all_are_forgotten),
		cmocka_unit_test(far_from_samples_branches_are_left_out),
		cmocka_unit_test(hops_over_a_damaged_trace_equal_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
