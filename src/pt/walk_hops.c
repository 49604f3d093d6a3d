/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quick way from TIP to TIP. It does the work of pt_walk_tnt(), pt_walk_tip() and the time
 * packets between them, as memoised. Any other packet ends it, and is handled step by step.
 *
 * Half a dozen jumps that are mispredicted now and then cost more than the work of a hop. So the
 * code has few jumps: if both sides are short, it does both and takes one result.
 */
#include "pt/walk_hops.h"

#include <assert.h>
#include <string.h>

#include "pt/flow_emit.h"
#include "pt/flow_time.h"
#include "pt/hop.h"

#define ODD 0x0101010101010101ULL /* the lowest bit of each byte: in TNTs it is 0 */

enum {
	CYC = 3,
	ROOM = 16,     /* bytes that are read at once */
	MAX_BITS = 42, /* in seven bytes of TNTs */
	MAX_TIMES = 8,
};

/* What follows a TIP, up to the next one. */
struct leg {
	uint64_t tnt; /* bytes */
	uint64_t ip;  /* that the second TIP tells; before, the last one */
	size_t size;
	/* Time packets on the way: how many directions come before each, and its offset. */
	unsigned int n_times;
	struct {
		uint8_t n_bits, offset;
	} times[MAX_TIMES];
};

/*
 * Reads short TNTs and a TIP behind them; any even byte passes for a TNT here. No step depends on
 * the number of TNTs.
 */
static inline bool read_leg(const uint8_t *at, struct leg *leg)
{
	uint64_t v, others;
	unsigned int n;
	size_t size;

	memcpy(&v, at, sizeof(v));
	others = v & ODD;
	if (!others)
		return false;
	n = (unsigned int)__builtin_ctzll(others) / 8;
	leg->tnt = (v ^ others) & (others - 1); /* all below the lowest of these bits */
	leg->n_times = 0;
	size = pt_tip_read(at + n, &leg->ip);
	leg->size = n + size;
	return size;
}

/* ---- hops without time packets ---- */

static inline void tell_hop(struct pt_flow *f, const struct pt_hop *hop, uint64_t insns,
			    uint64_t ip)
{
	unsigned int n = hop->n_ops;
	struct pt_event *e = pt_flow_put_all(f, &f->code->ops.data[hop->ops], n, insns);
	uint64_t nowhere;

	*(hop->tells_tip ? &e[n - 1].branch.to : &nowhere) = ip;
}

/* Applies the hop and its TIP to the return stack. */
static inline void pass_hop(struct pt_flow *f, const struct pt_hop *hop)
{
	struct pt_returns *r = &f->returns;

	pt_hop_pass(f->code, hop, r);
	r->top -= hop->is_return & (r->top != r->bottom) & !f->config.return_keeps_stack;
}

static inline void take_hop(struct pt_flow *f, const struct pt_hop *hop, uint64_t ip)
{
	if (!f->is_quiet)
		tell_hop(f, hop, f->insns, ip);
	pass_hop(f, hop);
	f->insns += hop->insns;
	f->stats.branches += hop->n_ops;
}

/* ---- hops with time packets on the way ---- */

/*
 * TNT bytes, and the directions in them as one number of n ≤ MAX_BITS bits. Groups of 6, 12 and 24
 * bits move together, as in pt_tnt_collect(), so that no jump depends on n.
 */
#define FULL     0x8080808080808080ULL /* the stop bits of TNTs of six directions */
#define PAYLOADS 0x7e7e7e7e7e7e7e7eULL

/* The low n ≤ 8 bytes of a number. */
static inline uint64_t low_bytes(unsigned int n)
{
	return n ? ~0ULL >> (64 - 8 * n) : 0;
}

/* Full TNT bytes, and one with the rest. */
static uint64_t pack(uint64_t bits, unsigned int n)
{
	unsigned int n_full = n / 6, rest = n % 6;
	uint64_t v = bits << (48 - n);

	v = (v & 0x0000000000ffffffULL) | (v & 0x0000ffffff000000ULL) << 8;
	v = (v & 0x00000fff00000fffULL) | (v & 0x00fff00000fff000ULL) << 4;
	v = (v & 0x003f003f003f003fULL) | (v & 0x0fc00fc00fc00fc0ULL) << 2;
	v = __builtin_bswap64(v << 1);
	/* The rest is at the upper end of its byte. It belongs right below its stop bit. */
	bits = (v >> 8 * n_full & 0x7e) >> (6 - rest) & 0x7e;
	return ((v | FULL) & low_bytes(n_full)) | (rest ? (bits | 2ULL << rest) << 8 * n_full : 0);
}

/*
 * The directions in n < 8 bytes, which are full TNTs and one more TNT, or none. False: they are
 * others.
 */
static inline bool unpack(uint64_t tnt, unsigned int n, uint64_t *bits, unsigned int *n_bits)
{
	uint64_t before = low_bytes(n ? n - 1 : 0), v = tnt & PAYLOADS;
	uint8_t last = (uint8_t)(tnt >> 8 * (n ? n - 1 : 0));
	unsigned int count = n ? 30 - (unsigned int)__builtin_clz(last | 2u) : 0;

	v = __builtin_bswap64(v) >> 1;
	v = (v & 0x003f003f003f003fULL) | (v & 0x3f003f003f003f00ULL) >> 2;
	v = (v & 0x00000fff00000fffULL) | (v & 0x0fff00000fff0000ULL) >> 4;
	v = (v & 0x0000000000ffffffULL) | (v & 0x00ffffff00000000ULL) >> 8;
	v >>= 48 - 6 * n;
	*bits = v >> 6 << count | (v & ((1ULL << count) - 1));
	*n_bits = n ? 6 * (n - 1) + count : 0;
	return (tnt & FULL & before) == (FULL & before) && (!n || last > 2);
}

/* Whether anything but TNTs is near. */
static bool ends_soon(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v & ODD;
}

/* An MTC or CYC packet; 0: another. */
static size_t time_size(const uint8_t *at, const uint8_t *end)
{
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;
	int size;

	if (*at == PT_MTC_BYTE)
		return PT_MTC_SIZE;
	if ((*at & CYC) != CYC)
		return 0;
	size = pt_packet_read(at, end, &block, &p);
	return size > 0 && !pt_cyc_has_ovf(at, end) ? (size_t)size : 0;
}

/* As read_leg(), with one MTC on the way and nothing rare: most time packets are there. */
static inline bool read_mtc_leg(const uint8_t *at, const uint8_t *end, struct leg *leg)
{
	unsigned int n, m, n_before, n_behind;
	uint64_t v, w, before, behind;
	size_t size;

	memcpy(&v, at, sizeof(v));
	if (end - at < 3 * ROOM || !(v & ODD))
		return false;
	n = (unsigned int)__builtin_ctzll(v & ODD) / 8;
	if (at[n] != PT_MTC_BYTE)
		return false;
	memcpy(&w, at + n + PT_MTC_SIZE, sizeof(w));
	if (!(w & ODD))
		return false;
	m = (unsigned int)__builtin_ctzll(w & ODD) / 8;
	if (!unpack(v & low_bytes(n), n, &before, &n_before) ||
	    !unpack(w & low_bytes(m), m, &behind, &n_behind) || n_before + n_behind > MAX_BITS)
		return false;
	size = pt_tip_read(at + n + PT_MTC_SIZE + m, &leg->ip);
	leg->tnt = pack(before << n_behind | behind, n_before + n_behind);
	leg->size = n + PT_MTC_SIZE + m + size;
	leg->n_times = 1;
	leg->times[0].n_bits = (uint8_t)n_before;
	leg->times[0].offset = (uint8_t)n;
	return size;
}

/* As read_leg(), byte by byte. */
static bool read_timed_leg(const uint8_t *begin, const uint8_t *end, struct leg *leg)
{
	const uint8_t *at = begin;
	unsigned int n = 0, count;
	uint64_t bits = 0;
	size_t size;

	if (!ends_soon(at))
		return false;
	leg->n_times = 0;
	while (end - at >= ROOM && at - begin <= UINT8_MAX && n <= MAX_BITS) {
		if (pt_is_short_tnt(*at)) {
			count = 30 - (unsigned int)__builtin_clz(*at);
			bits = bits << count | (*at++ >> 1 & ((1u << count) - 1));
			n += count;
			continue;
		}
		size = time_size(at, end);
		if (!size) {
			size = pt_tip_read(at, &leg->ip);
			leg->tnt = pack(bits, n);
			leg->size = (size_t)(at - begin) + size;
			return size;
		}
		if (leg->n_times == MAX_TIMES || end - at < 2 * ROOM || !ends_soon(at + size))
			return false;
		leg->times[leg->n_times].n_bits = (uint8_t)n;
		leg->times[leg->n_times++].offset = (uint8_t)(at - begin);
		at += size;
	}
	return false;
}

/* A hop that is taken part by part: its begin, and the parts that are done. */
struct taken {
	const struct pt_hop *hop;
	const struct pt_op *ops;
	const struct pt_mark *marks;
	uint64_t insns;
	unsigned int n_done;   /* ops that are events, or would be */
	unsigned int n_passed; /* … that the return stack has */
};

/* The branches up to there become events. The return stack stays as it is. */
static void take_ops(struct pt_flow *f, struct taken *t, unsigned int to)
{
	assert(to >= t->n_done);
	if (!f->is_quiet)
		pt_flow_put_all(f, &t->ops[t->n_done], to - t->n_done, t->insns);
	t->n_done = to;
}

/* To the branch that the time that was read is for. */
static void settle_ahead(struct pt_flow *f, struct taken *t, const struct pt_mark *mark)
{
	if (pt_flow_is_settled(f))
		return;
	if (mark->has_direct && !f->is_quiet) {
		pt_flow_tell_ahead(f);
		take_ops(f, t, mark->op_ahead);
	}
	pt_flow_settle(f, t->insns + mark->insns_ahead);
}

/* Execution may stay on the way: applies the ops up to there to the return stack. */
static void pass_ops(struct pt_flow *f, struct taken *t, unsigned int to)
{
	for (; t->n_passed < to; t->n_passed++)
		pt_pass_told(&f->returns, pt_told(f->code, &t->ops[t->n_passed]));
}

/* Over the branch that the second TIP is for. */
static void take_rest(struct pt_flow *f, struct taken *t, uint64_t ip)
{
	const struct pt_hop *hop = t->hop;
	uint32_t top;

	take_ops(f, t, hop->n_ops);
	if (hop->tells_tip && !f->is_quiet)
		f->events[f->n_events - 1].branch.to = ip;
	if (!t->n_passed) {
		pass_hop(f, hop);
		return;
	}
	pass_ops(f, t, hop->n_ops - (unsigned int)hop->tells_tip);
	top = f->returns.top;
	pass_ops(f, t, hop->n_ops);
	if (hop->is_return && f->config.return_keeps_stack)
		f->returns.top = top;
}

/* Up to a time packet, and over it. False: side band was, too, and may have changed the code. */
static bool take_time(struct pt_flow *f, struct taken *t, const struct pt_mark *mark)
{
	struct pt_packet p;
	int size = pt_mtc_read(f->at, f->end, &p);
	bool goes_on;

	f->insns = t->insns + mark->insns;
	f->node = mark->node;
	take_ops(f, t, mark->op);
	if (size && pt_flow_pass_mtc(f, (uint8_t)p.payload)) {
		f->at += size;
		return true;
	}
	if (!size)
		size = pt_packet_read(f->at, f->end, &f->block, &p);
	pass_ops(f, t, t->n_done);
	goes_on = !pt_flow_on_time(f, &p);
	f->at += size;
	return goes_on;
}

/* Behind a time packet: a sample may be near before the hop ends. */
static void expect_rest(struct pt_flow *f, struct taken *t, const struct pt_mark *mark)
{
	uint64_t n = t->insns + t->hop->insns - f->insns;

	if (f->insns + n <= f->quiet_until)
		return;
	take_ops(f, t, mark->op);
	pt_flow_expect(f, n);
}

/* False: execution stands behind a time packet on the way. */
static bool take_timed_hop(struct pt_flow *f, const struct pt_hop *hop, const struct leg *leg)
{
	struct taken t = { .hop = hop,
			   .ops = &f->code->ops.data[hop->ops],
			   .marks = &f->code->marks.data[hop->marks],
			   .insns = f->insns };
	const uint8_t *begin = f->at;

	for (unsigned int i = 0; i < leg->n_times; i++) {
		unsigned int at = leg->times[i].n_bits;

		f->at = begin + leg->times[i].offset;
		if (!take_time(f, &t, &t.marks[at]))
			return false;
		expect_rest(f, &t, &t.marks[at]);
		if (i + 1 == leg->n_times || leg->times[i + 1].n_bits != at)
			settle_ahead(f, &t, &t.marks[at]);
	}
	take_rest(f, &t, leg->ip);
	f->insns = t.insns + hop->insns;
	f->stats.branches += hop->n_ops;
	f->at = begin;
	return true;
}

/* ---- */

static bool can_hop(const struct pt_flow *f)
{
	bool has_news = f->config.has_event_trace && f->interrupts != f->next_interrupts;

	return f->position == PT_EXECUTING && f->sync == PT_FOLLOWING && f->block == PT_NO_BLOCK &&
	       !(f->facts & PT_FACT_IN_TX) && !has_news && f->width == f->code->width &&
	       pt_flow_is_settled(f);
}

/*
 * Hops while nothing is an event, up to anything rarer: what changes with each hop is in registers.
 * False: there is no hop.
 */
static bool walk_hops_quietly(struct pt_flow *f)
{
	const uint8_t *at = f->at, *end = f->end;
	uint64_t ip = f->last_ip, insns = f->insns, quiet_until = f->quiet_until, n_branches = 0;
	bool has_hop = true, pops = !f->config.return_keeps_stack;
	struct pt_returns *r = &f->returns;
	struct pt_code *code = f->code;
	uint64_t watched = code->watched;
	struct leg leg;

	for (; end - at >= ROOM; at += leg.size) {
		const struct pt_hop *hop;

		leg.ip = ip;
		if (!read_leg(at, &leg) || leg.ip == watched)
			break;
		hop = pt_code_hop(code, ip, leg.tnt, r);
		has_hop = hop;
		if (!hop || insns + hop->insns > quiet_until)
			break;
		pt_hop_pass(code, hop, r);
		r->top -= hop->is_return & pops & (r->top != r->bottom);
		insns += hop->insns;
		n_branches += hop->n_ops;
		ip = leg.ip;
	}
	f->at = at;
	f->last_ip = ip;
	f->insns = insns;
	f->stats.branches += n_branches;
	return has_hop;
}

/* The same while all branches are events. Whoever takes these may stop the flow. */
static bool walk_hops_loudly(struct pt_flow *f)
{
	const uint8_t *at = f->at, *end = f->end;
	uint64_t ip = f->last_ip, insns = f->insns, n_branches = 0;
	bool has_hop = true, pops = !f->config.return_keeps_stack;
	struct pt_returns *r = &f->returns;
	struct pt_code *code = f->code;
	uint64_t watched = code->watched;
	struct leg leg;

	for (; end - at >= ROOM && !f->stops; at += leg.size) {
		const struct pt_hop *hop;

		leg.ip = ip;
		if (!read_leg(at, &leg) || leg.ip == watched)
			break;
		hop = pt_code_hop(code, ip, leg.tnt, r);
		has_hop = hop;
		if (!hop)
			break;
		tell_hop(f, hop, insns, leg.ip);
		pt_hop_pass(code, hop, r);
		r->top -= hop->is_return & pops & (r->top != r->bottom);
		insns += hop->insns;
		n_branches += hop->n_ops;
		ip = leg.ip;
	}
	f->at = at;
	f->last_ip = ip;
	f->insns = insns;
	f->stats.branches += n_branches;
	return has_hop;
}

void pt_walk_hops(struct pt_flow *f)
{
	const uint8_t *begin = f->at;

	if (!can_hop(f))
		return;
	while (!f->stops) {
		struct leg leg;
		const struct pt_hop *hop;
		uint64_t ip;

		if (!(f->is_quiet ? walk_hops_quietly(f) : walk_hops_loudly(f)) ||
		    f->end - f->at < ROOM || f->stops)
			break;
		leg.ip = ip = f->last_ip;
		if ((!read_leg(f->at, &leg) && !read_mtc_leg(f->at, f->end, &leg) &&
		     !read_timed_leg(f->at, f->end, &leg)) ||
		    leg.ip == f->code->watched)
			break;
		hop = pt_code_hop(f->code, ip, leg.tnt, &f->returns);
		if (!hop)
			break;
		if (f->insns + hop->insns > f->quiet_until)
			pt_flow_resume(f, ip);
		if (!leg.n_times)
			take_hop(f, hop, leg.ip);
		else if (!take_timed_hop(f, hop, &leg))
			return;
		f->at += leg.size;
		f->last_ip = leg.ip;
	}
	if (f->at > begin)
		f->node = pt_code_indirect(f->code, f->last_ip);
}
