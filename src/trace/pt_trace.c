/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_trace.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "pt/insn.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"
#include "trace/pt_overlap.h"
#include "trace/pt_queue.h"

enum {
	AUX_INTEL_PT = 1, /* enum auxtrace_type of perf */
	FED = 1 << 20,    /* at most, before memory is given back */
	IDLE_VIEWS = 32,  /* code graphs of processes that no queue is in */
	GIVE_BACK = 1 << 22,
};

/* The words of AUXTRACE_INFO, in perf's order (tools/perf/util/intel-pt.h). */
enum {
	WORD_PMU_TYPE,
	WORD_TIME_SHIFT,
	WORD_TIME_MULT,
	WORD_TIME_ZERO,
	WORD_HAS_TIME_ZERO,
	WORD_TSC_BIT,
	WORD_NO_RETCOMP_BIT,
	WORD_HAS_SWITCHES,
	WORD_SNAPSHOT,
	WORD_PER_CPU,
	WORD_MTC_BIT,
	WORD_MTC_FREQ_BITS,
	WORD_CTC_NUMERATOR,
	WORD_CTC_DENOMINATOR,
	WORD_CYC_BIT,
	WORD_MAX_RATIO,
	N_WORDS,
	WORD_FILTER_SIZE = N_WORDS, /* of a text behind it, then: */
	N_WORDS_MIN = WORD_MTC_BIT,
	BRANCH_BIT = 1 << 13, /* of the PMU's config … */
	PASS_THROUGH_BIT = 1, /* … and only with this does it count */
};

/* ---- what the recording says ---- */

/* The header's CPUID, with vendor, family and model first. */
#define GOLDMONT "GenuineIntel,6,92,"

static void read_words(const struct perfdata_info *info, uint64_t words[static N_WORDS])
{
	memset(words, 0, N_WORDS * sizeof(*words));
	memcpy(words, info->aux_private, MIN(info->aux_private_size, N_WORDS * sizeof(*words)));
}

static struct pt_clock read_clock(const struct perfdata_info *info, const uint64_t *words)
{
	struct pt_clock clock = {
		.ctc_numerator = (uint32_t)words[WORD_CTC_NUMERATOR],
		.ctc_denominator = (uint32_t)words[WORD_CTC_DENOMINATOR],
		.max_ratio = (uint32_t)words[WORD_MAX_RATIO],
		.time_shift = (uint16_t)MIN(words[WORD_TIME_SHIFT], 63),
		.time_mult = (uint32_t)words[WORD_TIME_MULT],
		.time_zero = words[WORD_TIME_ZERO],
	};

	if (!clock.time_mult && info->has_time_conversion) {
		clock.time_shift = (uint16_t)MIN(info->time_shift, 63);
		clock.time_mult = (uint32_t)info->time_mult;
		clock.time_zero = info->time_zero;
	}
	return clock;
}

/* Behind the text of the address filter, with its end and in whole words. */
static bool read_event_trace(const struct perfdata_info *info)
{
	uint64_t at = (WORD_FILTER_SIZE + 1) * 8, size, value = 0;

	if (info->aux_private_size < at)
		return false;
	memcpy(&size, info->aux_private + at - 8, sizeof(size));
	if (size >= info->aux_private_size)
		return false;
	at += size ? (size + 8) & ~7ULL : 0;
	if (at + 8 <= info->aux_private_size)
		memcpy(&value, info->aux_private + at, sizeof(value));
	return value;
}

static void read_config(struct pt_trace_info *out, const uint64_t *words, uint64_t config)
{
	uint64_t freq = words[WORD_MTC_FREQ_BITS];

	out->config = config;
	out->has_mtc = config & words[WORD_MTC_BIT];
	out->has_cyc = config & words[WORD_CYC_BIT];
	out->compresses_returns = !(config & words[WORD_NO_RETCOMP_BIT]);
	out->traces_branches = !(config & PASS_THROUGH_BIT) || config & BRANCH_BIT;
	if (freq)
		out->clock.mtc_shift = (uint32_t)((config & freq) >> __builtin_ctzll(freq)) & 31;
}

bool pt_trace_read_info(const struct perfdata *data, struct pt_trace_info *out)
{
	const struct perfdata_info *info = perfdata_info(data);
	uint64_t words[N_WORDS];
	bool has_event = false, has_time = false;

	if (info->aux_type != AUX_INTEL_PT || info->aux_private_size < N_WORDS_MIN * 8)
		return false;
	read_words(info, words);
	*out = (struct pt_trace_info){
		.clock = read_clock(info, words),
		.pmu_type = (uint32_t)words[WORD_PMU_TYPE],
		.is_per_cpu = words[WORD_PER_CPU],
		.is_snapshot = words[WORD_SNAPSHOT],
		.has_event_trace = read_event_trace(info),
		.fup_may_be_next = !strncmp(info->cpu_id, GOLDMONT, strlen(GOLDMONT)),
	};
	vec_foreach (&info->counters, c) {
		if (c->attr.type != out->pmu_type)
			continue;
		if (!has_event)
			read_config(out, words, c->attr.config);
		has_event = true;
		out->has_kernel |= !c->attr.exclude_kernel;
		has_time |= c->attr.sample_type & PERF_SAMPLE_TIME &&
			    c->attr.config & words[WORD_TSC_BIT];
	}
	out->is_timeless = !has_time || !words[WORD_HAS_TIME_ZERO] || !out->clock.time_mult;
	return true;
}

/* ---- code ---- */

static size_t read_mapping(struct pt_trace *t, const struct mapping *m, int32_t pid, uint64_t addr,
			   uint8_t *out, size_t size)
{
	image_id dump = m->is_absolute ? pt_history_dump(&t->history, pid) : IMAGE_UNKNOWN_ID;

	if (m->is_absolute)
		return dump.n ? pt_images_read_jit(t->images, dump, addr, out, size) : 0;
	return pt_images_read(t->images, m->image, addr - m->start + m->file_off, out,
			      MIN(size, m->end - addr));
}

/* How much of it is the kernel's own, where that is a file: modules are in a copy of memory alone.
 */
static size_t outside_modules(struct pt_trace *t, uint64_t addr, size_t size)
{
	if (pt_images_kernel_is_as_built(t->images))
		vec_foreach (&t->history.modules, m)
			if (addr < m->end && addr + size > m->start)
				size = m->start > addr ? m->start - addr : 0;
	return size;
}

static size_t read_process(struct pt_trace *t, const struct address_space *maps,
			   const struct version *of, uint64_t addr, uint8_t *out, size_t size)
{
	size_t n = 0;

	if (addr >> 63) {
		size = outside_modules(t, addr, size);
		n = pt_images_read_kernel(t->images, addr, out, size);
		return pt_history_poke(&t->history, of->n_pokes, addr, out, n, size);
	}
	while (n < size) {
		const struct mapping *m = address_space_find(maps, addr + n);
		size_t got;

		/* Without MTCs, time is coarse. So the record of the mapping may be too late. */
		if (!m)
			m = pt_history_later(&t->history, of->pid, of->n_changes, addr + n);
		got = m ? read_mapping(t, m, of->pid, addr + n, out + n, size - n) : 0;
		if (!got)
			break;
		n += got;
	}
	return n;
}

static size_t read_code(void *context, uint32_t space, uint64_t addr, uint8_t *out, size_t size)
{
	struct view *v = context;

	(void)space;
	return read_process(v->trace, &v->maps, &v->of, addr, out, size);
}

static void view_free(struct view *v)
{
	address_space_fini(&v->maps);
	pt_code_free(v->code);
	free(v);
}

void view_pool_fini(struct view_pool *pool)
{
	vec_foreach (&pool->views, v)
		view_free(*v);
	vec_fini(&pool->views);
}

static bool is_same(const struct version *a, const struct version *b)
{
	return a->pid == b->pid && a->n_changes == b->n_changes && a->n_pokes == b->n_pokes;
}

static bool is_before(const struct version *a, const struct version *b)
{
	return a->pid == b->pid && a->n_changes <= b->n_changes && a->n_pokes <= b->n_pokes;
}

/* The view of a version, or else the last one before it that no queue needs. */
static struct view *find_view(struct view_pool *pool, const struct version *of)
{
	struct view *best = NULL;

	vec_foreach (&pool->views, at) {
		struct view *v = *at;

		if (is_same(&v->of, of))
			return v;
		if (!v->n_users && is_before(&v->of, of) && (!best || is_before(&best->of, &v->of)))
			best = v;
	}
	return best;
}

static void drop_idle_views(struct view_pool *pool)
{
	for (;;) {
		size_t n_idle = 0, oldest = SIZE_MAX;

		for (size_t i = 0; i < pool->views.n; i++) {
			if (pool->views.data[i]->n_users)
				continue;
			n_idle++;
			if (oldest == SIZE_MAX ||
			    pool->views.data[i]->used < pool->views.data[oldest]->used)
				oldest = i;
		}
		if (n_idle <= IDLE_VIEWS)
			return;
		view_free(pool->views.data[oldest]);
		pool->views.data[oldest] = pool->views.data[--pool->views.n];
	}
}

static struct view *new_view(struct pt_trace *t, struct view_pool *pool, const struct version *of)
{
	struct view *v = xcalloc(1, sizeof(*v));
	struct pt_memory memory = { read_code, v };

	*v = (struct view){ .of = *of, .trace = t };
	pt_history_space(&t->history, of->pid, of->n_changes, &v->maps);
	v->code = pt_code_new(&memory, 0, 64, t->detail == PT_ALL_BRANCHES);
	v->code->watched = t->switch_ip;
	vec_push(&pool->views, v);
	drop_idle_views(pool);
	return v;
}

static bool covers(const struct address_space *maps, const struct mapping *m)
{
	const struct mapping *at = address_space_find(maps, m->start);

	for (size_t i = 0; !at && i < maps->n; i++)
		if (maps->data[i].start >= m->start && maps->data[i].start < m->end)
			at = &maps->data[i];
	return at;
}

/* Keeps the decoded code, except where the code has changed. */
static void advance_view(struct view *v, const struct version *to)
{
	const struct pt_process *p = pt_history_process(&v->trace->history, to->pid);
	bool changes_code = v->of.n_pokes != to->n_pokes ||
			    (v->of.n_changes != to->n_changes && v->code->has_unreadable);

	v->of.n_pokes = to->n_pokes;
	for (; v->of.n_changes < to->n_changes; v->of.n_changes++) {
		const struct pt_change *c = &p->changes.data[v->of.n_changes];

		changes_code |= c->kind != PT_MAP || covers(&v->maps, &c->map);
		pt_history_apply(&v->trace->history, c, &v->maps);
	}
	if (changes_code)
		pt_code_forget(v->code);
}

void queue_leave_view(struct queue *q)
{
	if (q->view)
		q->view->n_users--;
	q->view = NULL;
}

void queue_enter_view(struct queue *q, const struct version *of)
{
	struct view *v;

	if (q->view && is_same(&q->view->of, of))
		return;
	queue_leave_view(q);
	v = find_view(q->pool, of);
	if (!v)
		v = new_view(q->trace, q->pool, of);
	else if (!is_same(&v->of, of))
		advance_view(v, of);
	v->n_users++;
	v->used = ++q->pool->clock;
	q->view = v;
	if (q->flow)
		pt_flow_set_code(q->flow, v->code);
}

/* ---- decoding ---- */

static uint64_t next_time(const struct pt_trace *t, uint64_t ns)
{
	return ns == UINT64_MAX ? ns : pt_time_tsc(&t->info.clock, ns);
}

static uint64_t on_side_band(void *context, uint64_t tsc)
{
	struct queue *q = context;

	return next_time(q->trace, queue_follow(q, pt_time_ns(&q->trace->info.clock, tsc)));
}

static void on_events(void *context, const struct pt_event *events, size_t n)
{
	struct queue *q = context;

	if (q->trace->switch_ip != UINT64_MAX)
		queue_find_switches(q, events, n);
	vec_reserve(&q->events, q->events.n + n);
	memcpy(q->events.data + q->events.n, events, n * sizeof(*events));
	q->events.n += n;
	if (q->events.n >= BUFFERED)
		pt_flow_pause(q->flow);
}

void queue_open_flow(struct queue *q)
{
	const struct pt_trace_info *info = &q->trace->info;
	struct pt_flow_config config = {
		.clock = info->clock,
		.quick = q->trace->quick,
		.no_branches = q->trace->detail == PT_NO_BRANCHES,
		.events = on_events,
		.side_band = info->is_timeless ? NULL : on_side_band,
		.fup_may_be_next = info->fup_may_be_next,
		.has_event_trace = info->has_event_trace,
		.is_coarse = !info->has_mtc && !info->has_cyc,
		.context = q,
	};

	if (!q->view)
		queue_follow(q, info->is_timeless ? UINT64_MAX : 0);
	q->flow = pt_flow_new(&config, q->view->code);
}

static bool has_switches(const struct queue *q)
{
	const struct pt_history *h = &q->trace->history;

	return q->cpu < h->cpus.n && h->cpus.data[q->cpu].n;
}

/* Finds the first byte of a snapshot that the one before did not have, and whether bytes are
 * missing between them. */
static void begin_piece(struct queue *q)
{
	const struct piece *now = &q->pieces.data[q->piece], *before = now - 1;
	bool is_consecutive = true;

	if (now->tid >= 0 && !has_switches(q)) {
		q->pid = now->pid;
		q->tid = now->tid;
		queue_follow(q, now->time_ns);
	}
	if (!q->trace->info.is_snapshot || !q->piece || !now->bytes)
		return;
	q->at = pt_overlap(before->bytes, before->size, now->bytes, now->size, &is_consecutive);
	if (!is_consecutive)
		pt_flow_resync(q->flow);
}

/* The packet that goes on from the last piece into this one. False: there is no more of it yet. */
static void join(struct queue *q, const uint8_t *bytes, uint64_t size, bool is_last)
{
	size_t n = MIN(size - q->at, (uint64_t)JOIN), old = q->n_tail, used;

	memcpy(q->tail + old, bytes + q->at, n);
	used = pt_flow_feed_some(q->flow, q->tail, old + n, is_last);
	if (used >= old) {
		q->n_tail = 0;
		q->at += used - old;
	} else if (q->at + n == size) {
		/* It is longer than the whole piece. */
		memmove(q->tail, q->tail + used, old + n - used);
		q->n_tail = MIN(old + n - used, (size_t)JOIN);
		q->at = size;
	} else {
		memmove(q->tail, q->tail + used, old - used);
		q->n_tail = old - used;
	}
}

/* Releases the memory of decoded bytes. */
void queue_give_back(struct queue *q, const uint8_t *bytes, uint64_t size)
{
	uintptr_t page = 4096, from = ((uintptr_t)bytes + q->given_back + page - 1) & ~(page - 1);
	uintptr_t to = ((uintptr_t)bytes + q->at) & ~(page - 1);

	if (q->at < size && q->at - q->given_back < GIVE_BACK)
		return;
	if (to > from)
		madvise((void *)from, to - from, MADV_DONTNEED); /* NOLINT: an address */
	q->given_back = q->at;
}

void queue_decode_piece(struct queue *q)
{
	uint64_t size, used;
	const uint8_t *bytes = queue_piece(q, q->piece, &size);
	bool is_last = q->piece + 1 == q->pieces.n || q->trace->info.is_snapshot, is_end;

	if (!q->at)
		begin_piece(q);
	if (q->is_part && q->piece == q->end_piece) {
		size = q->end_at;
		is_last = true;
	}
	if (q->at < size && q->n_tail) {
		join(q, bytes, size, is_last);
	} else if (q->at < size) {
		is_end = size - q->at <= FED;
		used = pt_flow_feed_some(q->flow, bytes + q->at, MIN(size - q->at, (uint64_t)FED),
					 is_last && is_end);
		q->at += used;
		if (is_end && q->at < size && size - q->at < PT_PACKET_MAX + 2 && !is_last &&
		    (!used || q->events.n < BUFFERED)) {
			q->n_tail = size - q->at;
			memcpy(q->tail, bytes + q->at, q->n_tail);
			q->at = size;
		}
	}
	if (!q->is_part)
		queue_give_back(q, bytes, size);
	if (q->at < size)
		return;
	q->at = q->given_back = 0;
	q->piece++;
}

static void add_stats(struct pt_flow_stats *to, const struct pt_flow_stats *s)
{
	to->insns += s->insns;
	to->branches += s->branches;
	to->bytes += s->bytes;
	to->skipped_bytes += s->skipped_bytes;
	to->psbs += s->psbs;
	to->backwards += s->backwards;
	for (int i = 0; i < N_PT_ERRORS; i++)
		to->errors[i] += s->errors[i];
}

void queue_end(struct queue *q)
{
	if (q->flow)
		add_stats(&q->trace->stats, pt_flow_stats(q->flow));
	pt_flow_free(q->flow);
	q->flow = NULL;
	queue_leave_view(q);
	q->is_done = true;
}

/* Events given out make room; the mark that holds for the first stays. */
static void forget_given(struct queue *q)
{
	size_t n = q->events.n - q->head;

	if (n)
		memmove(q->events.data, q->events.data + q->head, n * sizeof(*q->events.data));
	q->events.n = n;
	for (size_t i = q->mark; i < q->marks.n; i++) {
		q->marks.data[i - q->mark] = q->marks.data[i];
		q->marks.data[i - q->mark].event -= MIN(q->head, q->marks.data[i].event);
	}
	q->marks.n -= q->mark;
	q->mark = 0;
	q->head = 0;
}

/* Goes on until events wait, or none will come. */
static void fill(struct queue *q)
{
	if (q->head < q->events.n || q->is_done)
		return;
	if (q->trace->ahead) {
		q->is_done = !pt_ahead_fill(q->trace->ahead, q);
		return;
	}
	forget_given(q);
	if (!q->flow)
		queue_open_flow(q);
	while (q->piece < q->pieces.n && !q->events.n)
		queue_decode_piece(q);
	if (!q->events.n)
		queue_end(q);
}

/* ---- giving out ---- */

uint64_t pt_trace_ns(const struct pt_trace *t, const struct pt_event *e)
{
	return t->info.is_timeless || !e->tsc ? 0 : pt_time_ns(&t->info.clock, e->tsc);
}

static uint64_t head_ns(const struct queue *q)
{
	return pt_trace_ns(q->trace, &q->events.data[q->head]);
}

/* How many of the waiting events, up to the next mark, are no later than `until_ns`. */
static size_t count_until(const struct queue *q, uint64_t until_ns, bool with_it)
{
	const struct pt_trace *t = q->trace;
	size_t end = q->mark + 1 < q->marks.n ? q->marks.data[q->mark + 1].event : q->events.n;
	size_t low = q->head, high = end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		uint64_t ns = pt_trace_ns(t, &q->events.data[mid]);

		if (ns < until_ns || (with_it && ns == until_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low - q->head;
}

static void pass_marks(struct queue *q)
{
	while (q->mark + 1 < q->marks.n && q->marks.data[q->mark + 1].event <= q->head)
		q->mark++;
}

static bool is_in_time(const struct pt_trace *t, const struct pt_event *e)
{
	uint64_t ns = pt_trace_ns(t, e);

	return t->info.is_timeless || (ns >= t->first_ns && ns <= t->last_ns);
}

/* Leaves out what is outside of the time that was asked for. */
static void narrow(const struct pt_trace *t, struct pt_span *s)
{
	while (s->n && !is_in_time(t, &s->events[0])) {
		s->events++;
		s->n--;
	}
	while (s->n && !is_in_time(t, &s->events[s->n - 1]))
		s->n--;
}

static int give(struct queue *q, size_t n, struct pt_trace_sink *sink)
{
	const struct mark *m;
	struct pt_span span;

	m = &q->marks.data[q->mark];
	span = (struct pt_span){ .events = q->events.data + q->head,
				 .n = n,
				 .queue = q->number,
				 .pid = m->of.pid,
				 .tid = m->tid,
				 .cpu = q->cpu };
	q->given = m->of;
	q->has_given_maps = false;
	q->head += n;
	if (q->trace->last_ns && !q->trace->info.is_timeless)
		narrow(q->trace, &span);
	return span.n ? sink->span(sink, &span) : 0;
}

static int give_loss(struct pt_trace *t, struct pt_trace_sink *sink)
{
	const struct pt_loss *l = &t->history.losses.data[t->n_losses_given];
	struct pt_span span = { .events = &t->losses.data[t->n_losses_given],
				.n = 1,
				.queue = (uint32_t)t->queues.n,
				.pid = l->pid,
				.tid = l->tid,
				.cpu = l->cpu };

	t->n_losses_given++;
	t->stats.errors[PT_ERR_LOST]++;
	return sink->span(sink, &span);
}

/*
 * The queue with the earliest next event. *second_ns: the earliest time of the other queues. At
 * equal times the last queue goes on. So the result does not depend on the number of events decoded
 * at once.
 */
static struct queue *earliest(struct pt_trace *t, uint64_t *first_ns, uint64_t *second_ns)
{
	struct queue *first = NULL;

	*first_ns = *second_ns = UINT64_MAX;
	vec_foreach (&t->queues, q) {
		uint64_t ns;

		fill(q);
		if (q->is_done)
			continue;
		pass_marks(q);
		ns = head_ns(q);
		if (!first || ns < *first_ns || (ns == *first_ns && q == t->last)) {
			*second_ns = first ? *first_ns : UINT64_MAX;
			*first_ns = ns;
			first = q;
		} else if (ns < *second_ns) {
			*second_ns = ns;
		}
		if (t->info.is_timeless)
			break;
	}
	return first;
}

int pt_trace_run(struct pt_trace *t, uint64_t before_ns, struct pt_trace_sink *sink)
{
	int e = 0;

	if (t->info.is_timeless && before_ns != UINT64_MAX)
		return 0;
	while (!e) {
		uint64_t first_ns, second_ns, loss_ns;
		struct queue *q = earliest(t, &first_ns, &second_ns);
		bool has_loss = t->n_losses_given < t->losses.n;
		size_t n;

		loss_ns = has_loss ? t->history.losses.data[t->n_losses_given].time_ns : UINT64_MAX;
		if (has_loss && loss_ns < before_ns &&
		    (!q || loss_ns < first_ns || (loss_ns == first_ns && q != t->last))) {
			t->last = NULL;
			e = give_loss(t, sink);
			continue;
		}
		if (!q || first_ns >= before_ns)
			break;
		second_ns = MIN(second_ns, loss_ns);
		/* What others have at the same time comes behind. */
		n = second_ns < before_ns ? count_until(q, second_ns, true)
					  : count_until(q, before_ns, before_ns == UINT64_MAX);
		t->last = q;
		e = give(q, n, sink);
	}
	return e;
}

/* Where the last span was given out from; NULL: it is the queue of losses. */
const struct address_space *queue_given_maps(struct pt_trace *t, uint32_t queue)
{
	struct queue *q;

	if (queue >= t->queues.n)
		return NULL;
	q = &t->queues.data[queue];
	if (q->view && is_same(&q->view->of, &q->given))
		return &q->view->maps;
	if (!q->has_given_maps)
		pt_history_space(&t->history, q->given.pid, q->given.n_changes, &q->given_maps);
	q->has_given_maps = true;
	return &q->given_maps;
}

size_t pt_trace_code(struct pt_trace *t, uint32_t queue, uint64_t addr, uint8_t *out, size_t size)
{
	const struct address_space *maps = queue_given_maps(t, queue);

	return maps ? read_process(t, maps, &t->queues.data[queue].given, addr, out, size) : 0;
}

uint64_t pt_trace_space(const struct pt_trace *t, uint32_t queue)
{
	const struct queue *q;

	if (queue >= t->queues.n)
		return 0;
	q = &t->queues.data[queue];
	/* Both numbers only grow with time, as far as a process is concerned. */
	return (uint64_t)(uint32_t)q->given.pid << 32 |
	       (uint32_t)(q->given.n_changes + q->given.n_pokes);
}

/* ---- opening ---- */

static bool takes_cpu(const struct pt_trace_config *c, uint32_t cpu)
{
	for (size_t i = 0; i < c->n_cpus; i++)
		if (c->cpus[i] == cpu)
			return true;
	return !c->n_cpus || cpu == UINT32_MAX;
}

static struct queue *queue_of(struct pt_trace *t, uint32_t index, uint32_t cpu, int32_t tid)
{
	struct queue *q;

	vec_foreach (&t->queues, known)
		if (known->index == index)
			return known;
	q = vec_add(&t->queues);
	q->number = (uint32_t)t->queues.n - 1;
	q->index = index;
	q->cpu = cpu;
	q->tid = tid;
	q->pid = tid >= 0 ? pt_history_pid(&t->history, tid) : -1;
	return q;
}

static void add_piece(struct pt_trace *t, const struct perfdata_aux *aux)
{
	const uint8_t *bytes = perfdata_aux_bytes(t->data, aux);

	vec_push(&queue_of(t, aux->index, aux->cpu, aux->tid)->pieces,
		 ((struct piece){ bytes, bytes ? aux->size_bytes : 0, -1, -1, 0 }));
}

/* Samples of a CPU have the last bytes of that CPU's buffer; samples without a CPU, of a thread's.
 */
static void add_sampled(struct pt_trace *t, const struct pt_sampled *s)
{
	bool is_of_cpu = s->cpu != UINT32_MAX;

	vec_push(&queue_of(t, is_of_cpu ? s->cpu : (uint32_t)s->tid, s->cpu, s->tid)->pieces,
		 ((struct piece){ s->bytes, s->size, s->pid, s->tid, s->time_ns }));
}

static void open_queues(struct pt_trace *t, const struct pt_trace_config *config)
{
	const struct perfdata_stats *stats = perfdata_stats(t->data);

	for (size_t i = 0; i < stats->aux.n; i++)
		if (takes_cpu(config, stats->aux.data[i].cpu))
			add_piece(t, &stats->aux.data[i]);
	vec_foreach (&t->history.sampled, s)
		if (takes_cpu(config, s->cpu))
			add_sampled(t, s);
	t->info.is_snapshot |= t->history.sampled.n > 0;
	vec_foreach (&t->queues, q) {
		q->trace = t; /* they move no more */
		q->pool = &t->pool;
		q->time.clock = &t->info.clock;
	}
}

static void open_losses(struct pt_trace *t)
{
	vec_foreach (&t->history.losses, l)
		vec_push(&t->losses,
			 ((struct pt_event){ .kind = PT_EV_ERROR,
					     .detail = PT_ERR_LOST,
					     .tsc = pt_time_tsc(&t->info.clock, l->time_ns) }));
}

/* It is of use where the trace is of the kernel, and its time fine enough to tell one from the
 * next. */
static uint64_t find_switch_ip(const struct pt_trace *t)
{
	const struct pt_trace_info *info = &t->info;
	uint64_t ip = 0;

	if (info->is_per_cpu && info->has_kernel && !info->is_timeless &&
	    (info->has_mtc || info->has_cyc) && !t->quick && !t->history.sampled.n)
		ip = pt_images_kernel_function(t->images, "__switch_to");
	return ip ? ip : UINT64_MAX;
}

int pt_trace_open(const struct pt_trace_config *config, struct pt_trace **out, struct error *err)
{
	struct pt_trace *t = xcalloc(1, sizeof(*t));
	struct pt_images_config images = { .data = config->data,
					   .recording = config->path,
					   .places = config->places };

	perfdata_find_aux(config->data);
	if (!pt_trace_read_info(config->data, &t->info)) {
		uint32_t type = perfdata_info(config->data)->aux_type;

		free(t);
		if (type == AUX_INTEL_PT)
			return error_set(err, -EBADMSG,
					 "its description of the Intel PT data is damaged");
		return error_set(err, -ENODATA, "it has no Intel PT data");
	}
	if (!pt_insn_is_supported()) {
		free(t);
		return error_set(err, -ENOTSUP,
				 "this assay cannot decode its Intel PT data: it was built without "
				 "libZydis; use an assay whose --version has it");
	}
	t->data = config->data;
	t->detail = config->detail;
	t->quick = config->quick;
	t->first_ns = config->first_ns;
	t->last_ns = config->last_ns;
	pt_history_read(&t->history, config->side_band);
	images.images = t->history.images;
	images.kernel_text = t->history.kernel_text;
	images.kernel_build_id = t->history.kernel_build_id;
	t->images = pt_images_new(&images);
	t->switch_ip = find_switch_ip(t);
	t->module_errors = xcalloc(t->history.modules.n + 1, sizeof(*t->module_errors));
	open_queues(t, config);
	open_losses(t);
	t->ahead = pt_ahead_new(t);
	*out = t;
	return 0;
}

void queue_fini(struct queue *q)
{
	pt_ahead_forget(q);
	pt_flow_free(q->flow);
	vec_fini(&q->pieces);
	vec_fini(&q->events);
	vec_fini(&q->marks);
	address_space_fini(&q->given_maps);
}

void pt_trace_close(struct pt_trace *t)
{
	if (!t)
		return;
	pt_ahead_free(t->ahead);
	vec_foreach (&t->queues, q)
		queue_fini(q);
	vec_fini(&t->queues);
	view_pool_fini(&t->pool);
	vec_fini(&t->losses);
	pt_images_free(t->images);
	free(t->module_errors);
	pt_history_fini(&t->history);
	free(t);
}

const struct pt_trace_info *pt_trace_info(const struct pt_trace *t)
{
	return &t->info;
}

int32_t pt_trace_counter(const struct pt_trace *t, uint32_t number, uint32_t cpu)
{
	int32_t any = -1;

	vec_foreach (&t->history.counters, c) {
		if (c->number != number)
			continue;
		if (c->cpu == cpu || cpu == UINT32_MAX)
			return (int32_t)c->counter;
		any = any < 0 ? (int32_t)c->counter : any;
	}
	return any;
}

uint32_t pt_trace_n_queues(const struct pt_trace *t)
{
	return (uint32_t)t->queues.n + 1;
}

void pt_trace_stats(const struct pt_trace *t, struct pt_flow_stats *out)
{
	*out = t->stats;
	vec_foreach (&t->queues, q)
		if (q->flow)
			add_stats(out, pt_flow_stats(q->flow));
}
