/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes/account.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "store/session.h"

const struct account_row_info account_rows[N_ACCOUNT_ROWS] = {
#define X(id, key, title) { key, title },
	ACCOUNT_ROWS(X)
#undef X
};

static int64_t weight_ns(const struct processes *list, const struct weight *w)
{
	return list->basis == TIME_PERIOD
		       ? (int64_t)w->period
		       : (int64_t)(processes_seconds(list, w) * (double)NS_PER_SECOND);
}

/* Samples that were not taken, or got lost, stand for as much as the others do on average. */
static int64_t samples_ns(const struct processes *list, uint64_t n)
{
	const struct weight *all = &list->total.all;

	if (!n || !all->samples)
		return 0;
	return (int64_t)((double)n * (double)weight_ns(list, all) / (double)all->samples);
}

/* The reason why there is no account of these samples; NULL: there is one. */
static const char *account_obstacle(const struct processes *list, bool is_filtered)
{
	const struct session *s = list->profile->session;
	uint32_t n_events = 0;

	for (uint32_t i = 0; i < s->info.n_counters; i++)
		n_events += !counter_is_wait(&s->info.counters[i]);
	if (list->basis == TIME_NONE)
		return "hits are no time";
	if (is_filtered)
		return "a filter leaves samples out";
	return n_events > 1 ? "several events: losses are not known of each" : NULL;
}

static int64_t known_rest(uint64_t measured, int64_t seen)
{
	if (measured == CPU_TIME_UNKNOWN)
		return INT64_MIN;
	return MAX((int64_t)measured - seen, 0);
}

/*
 * The time of ticks without a sample: between the kernel's records of throttling, or else of the
 * samples that the sampler missed. A halted CPU's timer is often throttled, so that much of the
 * time is idle time; and while the hypervisor has the CPU, a tick is late.
 */
static int64_t not_sampled_ns(const struct account *a, const struct processes *list)
{
	int64_t known = MAX(a->ns[ACCOUNT_IDLE_UNSEEN], 0);
	uint64_t missed = list->profile->losses[LOSS_THROTTLED_SAMPLES];

	if (a->times.throttled_ns != CPU_TIME_UNKNOWN)
		return known_rest(a->times.throttled_ns, known);
	return MAX(samples_ns(list, missed) - known - MAX(a->ns[ACCOUNT_STEAL], 0), 0);
}

/*
 * A row of which a part lies between samples, so that the samples stand for it, too: it explains no
 * more than they leave. INT64_MIN: it was not measured.
 */
static void take_rest(struct account *a, int64_t *rest, enum account_row row, int64_t ns)
{
	a->ns[row] = ns == INT64_MIN ? ns : MIN(ns, MAX(*rest, 0));
	*rest -= MAX(a->ns[row], 0);
}

static void account_fill(struct account *a, const struct processes *list)
{
	static const enum account_row of_context[N_CONTEXTS] = {
		[CONTEXT_USER] = ACCOUNT_USER, [CONTEXT_SYSTEM] = ACCOUNT_SYSTEM,
		[CONTEXT_IRQ] = ACCOUNT_IRQ,   [CONTEXT_SOFTIRQ] = ACCOUNT_SOFTIRQ,
		[CONTEXT_IDLE] = ACCOUNT_IDLE,
	};
	const uint64_t *losses = list->profile->losses;
	const struct cpu_times *t = &a->times;
	int64_t rest = (int64_t)t->capacity_ns;

	for (int c = 0; c < N_CONTEXTS; c++)
		a->ns[of_context[c]] = weight_ns(list, &list->total.by[c]);
	a->ns[ACCOUNT_IDLE_UNSEEN] = known_rest(t->idle_ns, a->ns[ACCOUNT_IDLE]);
	a->ns[ACCOUNT_INTERRUPTS] =
		known_rest(t->interrupts_ns, a->ns[ACCOUNT_IRQ] + a->ns[ACCOUNT_SOFTIRQ]);
	a->ns[ACCOUNT_LOST] = samples_ns(list, losses_of_kind(losses, LOSS_LOST));
	for (int i = 0; i < N_ACCOUNT_ROWS; i++)
		rest -= a->ns[i] == INT64_MIN ? 0 : a->ns[i];
	take_rest(a, &rest, ACCOUNT_STEAL, known_rest(t->steal_ns, 0));
	take_rest(a, &rest, ACCOUNT_THROTTLED, not_sampled_ns(a, list));
	take_rest(a, &rest, ACCOUNT_SHORT_LIVED, samples_ns(list, losses[LOSS_UNSAMPLED]));
	a->ns[ACCOUNT_UNSEEN] = rest;
	a->capacity_ns = t->capacity_ns;
}

/* Times of a number that two processes had are those of the heavier one. */
static void find_kernel_times(struct account *a, const struct processes *list)
{
	struct intmap row_of = { 0 };

	a->kernel_ns = xcalloc(list->rows.n + 1, sizeof(*a->kernel_ns));
	for (size_t i = list->rows.n; i-- > 0;) {
		const struct process_row *row = &list->rows.data[i];

		a->kernel_ns[i] = row->is_idle_task ? a->times.idle_ns : CPU_TIME_UNKNOWN;
		if (!row->is_idle_task && process_pid(list, row) >= 0)
			*intmap_put(&row_of, (uint32_t)process_pid(list, row), NULL) = (uint32_t)i;
	}
	a->total_ns = (a->times.idle_ns == CPU_TIME_UNKNOWN ? 0 : a->times.idle_ns) +
		      a->times.more_ns + a->times.children_ns + a->times.rest_ns;
	a->n_unsampled = a->times.n_more;
	a->unsampled_ns = a->times.more_ns;
	vec_foreach (&a->times.processes, p) {
		const uint32_t *row = intmap_find(&row_of, (uint32_t)p->pid);

		if (row)
			a->kernel_ns[*row] = p->ns;
		if (p->ns == CPU_TIME_UNKNOWN)
			continue;
		a->total_ns += p->ns;
		a->n_unsampled += !row;
		a->unsampled_ns += row ? 0 : p->ns;
	}
	intmap_fini(&row_of);
}

void account_make(struct account *out, const struct processes *list, bool is_filtered)
{
	*out = (struct account){ .why = account_obstacle(list, is_filtered) };
	cpu_times_init(&out->times);
	out->is_known =
		!out->why && cpu_times_of_session(&out->times, list->profile->session, &out->why);
	if (!out->is_known)
		return;
	account_fill(out, list);
	find_kernel_times(out, list);
}

char *account_children_text(const struct account *a)
{
	if (!a->times.children_ns)
		return xstrdup("");
	return xasprintf("%.4f s of the kernel's time: all that ended and that their parents "
			 "waited for",
			 (double)a->times.children_ns / 1e9);
}

char *account_rest_text(const struct account *a)
{
	if (!a->times.rest_ns)
		return xstrdup("");
	return xasprintf("%.4f s of the kernel's time: processes without a time, last moments of "
			 "the others, and time that the hypervisor took from them",
			 (double)a->times.rest_ns / 1e9);
}

void account_fini(struct account *a)
{
	cpu_times_fini(&a->times);
	free(a->kernel_ns);
}

bool account_deviation(const struct processes *list, const struct weight *w, uint64_t kernel_ns,
		       double *percent)
{
	if (!kernel_ns || kernel_ns == CPU_TIME_UNKNOWN)
		return false;
	*percent = 100 * ((double)weight_ns(list, w) - (double)kernel_ns) / (double)kernel_ns;
	return true;
}
