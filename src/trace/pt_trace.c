/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_trace.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/reserve.h"
#include "counter/foreign_trace.h"
#include "event/guest_task.h"
#include "trace/pt_ahead.h"
#include "trace/pt_modules.h"
#include "trace/pt_queue.h"
#include "trace/pt_steps.h"
#include "trace/pt_view.h"
#include "trace/pt_window.h"

/* ---- giving out ---- */

/* Events given out make room; the mark that holds for the first stays. */
static void queue_forget_given(struct queue *q)
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
static void queue_fill(struct queue *q)
{
	if (q->head < q->events.n || q->is_done)
		return;
	if (q->trace->ahead) {
		q->is_done = !pt_ahead_fill(q->trace->ahead, q);
		return;
	}
	queue_forget_given(q);
	if (!q->flow)
		queue_open_flow(q);
	while (q->piece < q->pieces.n && !q->events.n)
		queue_decode_piece(q);
	if (!q->events.n)
		queue_end(q);
}

uint64_t pt_trace_ns(const struct pt_trace *t, uint64_t tsc)
{
	return trace_ns(t, tsc);
}

static uint64_t queue_head_ns(const struct queue *q)
{
	return trace_ns(q->trace, q->events.data[q->head].tsc);
}

/* How many of the waiting events, up to the next mark, are no later than `until_ns`. */
static size_t queue_count_until(const struct queue *q, uint64_t until_ns, bool with_it)
{
	const struct pt_trace *t = q->trace;
	size_t end = q->mark + 1 < q->marks.n ? q->marks.data[q->mark + 1].event : q->events.n;
	size_t low = q->head, high = end;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		uint64_t ns = trace_ns(t, q->events.data[mid].tsc);

		if (ns < until_ns || (with_it && ns == until_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low - q->head;
}

static void queue_pass_marks(struct queue *q)
{
	while (q->mark + 1 < q->marks.n && q->marks.data[q->mark + 1].event <= q->head)
		q->mark++;
}

static int trace_give(struct queue *q, size_t n, struct pt_trace_sink *sink)
{
	const struct mark *m;
	struct pt_span span;

	assert(n && q->head + n <= q->events.n && q->mark < q->marks.n);
	m = &q->marks.data[q->mark];
	span = (struct pt_span){ .events = q->events.data + q->head,
				 .n = n,
				 .queue = q->number,
				 .pid = m->of.pid,
				 .is_guest = m->of.is_guest,
				 .tid = m->tid,
				 .cpu = q->cpu };
	if (m->of.guest) {
		span.machine_pid = m->machine_pid;
		span.vcpu = m->vcpu;
		span.guest_pid = guest_task_id(span.machine_pid, m->of.guest);
		span.guest_tid = guest_task_id(span.machine_pid, m->guest_tid);
	}
	q->given = m->of;
	q->has_given_maps = false;
	q->head += n;
	return sink->span(sink, &span);
}

static int trace_give_loss(struct pt_trace *t, struct pt_trace_sink *sink)
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
static struct queue *trace_earliest(struct pt_trace *t, uint64_t *first_ns, uint64_t *second_ns)
{
	struct queue *first = NULL;

	*first_ns = *second_ns = UINT64_MAX;
	vec_foreach (&t->queues, q) {
		uint64_t ns;

		queue_fill(q);
		if (q->is_done)
			continue;
		queue_pass_marks(q);
		ns = queue_head_ns(q);
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
		struct queue *q = trace_earliest(t, &first_ns, &second_ns);
		bool has_loss = t->n_losses_given < t->losses.n;
		size_t n;

		if (reserve_check() < 0)
			return -ENOMEM;
		loss_ns = has_loss ? t->history.losses.data[t->n_losses_given].time_ns : UINT64_MAX;
		if (has_loss && loss_ns < before_ns &&
		    (!q || loss_ns < first_ns || (loss_ns == first_ns && q != t->last))) {
			t->last = NULL;
			e = trace_give_loss(t, sink);
			continue;
		}
		if (!q || first_ns >= before_ns)
			break;
		second_ns = MIN(second_ns, loss_ns);
		/* What others have at the same time comes behind. */
		n = second_ns < before_ns
			    ? queue_count_until(q, second_ns, true)
			    : queue_count_until(q, before_ns, before_ns == UINT64_MAX);
		t->last = q;
		e = trace_give(q, n, sink);
	}
	return e;
}

size_t pt_trace_code(struct pt_trace *t, uint32_t queue, uint64_t addr, bool is_way, uint8_t *out,
		     size_t size)
{
	const struct address_space *maps = queue_given_maps(t, queue);

	return maps ? pt_view_read(t, maps, &t->queues.data[queue].given, addr, is_way, out, size)
		    : 0;
}

uint64_t pt_trace_space(const struct pt_trace *t, uint32_t queue)
{
	const struct queue *q;

	if (queue >= t->queues.n)
		return 0;
	q = &t->queues.data[queue];
	/* Both numbers only grow with time, as far as a process is concerned. */
	return (uint64_t)(uint32_t)version_process(&q->given) << 32 |
	       (uint64_t)q->given.is_guest << 31 |
	       ((uint32_t)(q->given.n_changes + q->given.n_pokes) & INT32_MAX);
}

/* ---- opening ---- */

static bool trace_takes_cpu(const struct pt_trace_config *c, uint32_t cpu)
{
	for (size_t i = 0; i < c->n_cpus; i++)
		if (c->cpus[i] == cpu)
			return true;
	return !c->n_cpus || cpu == UINT32_MAX;
}

static struct queue *trace_queue_of(struct pt_trace *t, uint32_t index, uint32_t cpu, int32_t tid)
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

static void queue_add_piece(struct queue *q, struct piece piece)
{
	const struct piece *last = q->pieces.data + q->pieces.n - 1;

	piece.offset = q->pieces.n ? last->offset + last->size : 0;
	vec_push(&q->pieces, piece);
}

static void trace_add_piece(struct pt_trace *t, const struct perfdata_aux *aux)
{
	const uint8_t *bytes = perfdata_aux_bytes(t->data, aux);

	queue_add_piece(trace_queue_of(t, aux->index, aux->cpu, aux->tid),
			(struct piece){ .bytes = bytes,
					.size = bytes ? aux->size_bytes : 0,
					.pid = -1,
					.tid = -1 });
}

/* Samples of a CPU have the last bytes of that CPU's buffer; samples without a CPU, of a thread's.
 */
static void trace_add_sampled(struct pt_trace *t, const struct pt_sampled *s)
{
	bool is_of_cpu = s->cpu != UINT32_MAX;

	queue_add_piece(trace_queue_of(t, is_of_cpu ? s->cpu : (uint32_t)s->tid, s->cpu, s->tid),
			(struct piece){ .bytes = s->bytes,
					.size = s->size,
					.pid = s->pid,
					.tid = s->tid,
					.time_ns = s->time_ns });
}

static void trace_open_queues(struct pt_trace *t, const struct pt_trace_config *config)
{
	const struct perfdata_stats *stats = perfdata_stats(t->data);

	for (size_t i = 0; i < stats->aux.n; i++)
		if (trace_takes_cpu(config, stats->aux.data[i].cpu))
			trace_add_piece(t, &stats->aux.data[i]);
	vec_foreach (&t->history.sampled, s)
		if (trace_takes_cpu(config, s->cpu))
			trace_add_sampled(t, s);
	t->info.is_snapshot |= t->history.sampled.n > 0;
	vec_foreach (&t->queues, q) {
		q->trace = t; /* they move no more */
		q->pool = &t->pool;
		q->time.clock = &t->info.clock;
		pt_steps_find(q);
		if (config->n_spans)
			pt_window_cut(q, config->spans, config->n_spans);
	}
}

static void trace_open_losses(struct pt_trace *t)
{
	vec_foreach (&t->history.losses, l)
		vec_push(&t->losses,
			 ((struct pt_event){ .tsc = pt_time_tsc(&t->info.clock, l->time_ns),
					     .error = { PT_EV_ERROR, .reason = PT_ERR_LOST } }));
}

/* It is of use where the trace is of the kernel, and its time fine enough to tell one from the
 * next. */
static uint64_t trace_find_switch_ip(const struct pt_trace *t)
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
		if (foreign_trace_of_kind(type))
			return error_set(
				err, -ENODATA,
				"it has no Intel PT data, but %s, which assay does not decode",
				foreign_trace_of_kind(type));
		return error_set(err, -ENODATA, "it has no Intel PT data");
	}
	t->data = config->data;
	pt_filters_read(&t->filters, perfdata_info(config->data));
	t->detail = config->detail;
	t->quick = t->info.lacks_tnt && !config->quick ? PT_QUICK : config->quick;
	pt_history_read(&t->history, config->side_band);
	images.images = t->history.images;
	images.kernel_text = t->history.kernel_text;
	images.guest_texts = t->history.guest_texts.data;
	images.n_guest_texts = t->history.guest_texts.n;
	images.kernel_build_id = t->history.kernel_build_id;
	vec_foreach (&t->history.modules, m)
		vec_push(&t->loaded_modules, ((struct loaded_module){ m->name, m->start }));
	images.modules = t->loaded_modules.data;
	images.n_modules = t->loaded_modules.n;
	t->images = pt_images_new(&images);
	t->modules = pt_modules_new(&t->history, t->images);
	t->switch_ip = trace_find_switch_ip(t);
	t->module_errors = xcalloc(t->history.modules.n + 1, sizeof(*t->module_errors));
	trace_open_queues(t, config);
	trace_open_losses(t);
	t->ahead = pt_ahead_new(t);
	*out = t;
	return 0;
}

void pt_trace_close(struct pt_trace *t)
{
	if (!t)
		return;
	pt_ahead_free(t->ahead);
	vec_foreach (&t->queues, q) {
		pt_ahead_forget(q);
		queue_fini(q);
	}
	vec_fini(&t->queues);
	view_pool_fini(&t->pool);
	vec_fini(&t->losses);
	pt_modules_free(t->modules);
	pt_images_free(t->images);
	address_filters_fini(&t->filters);
	vec_fini(&t->loaded_modules);
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

void pt_trace_sample(struct pt_trace *t, uint64_t ticks)
{
	t->sample_ticks = ticks;
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
			queue_add_stats(out, pt_flow_stats(q->flow));
}
