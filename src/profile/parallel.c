/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/parallel.h"

#include <string.h>

#include "base/clock.h"
#include "base/secret.h"
#include "profile/index.h"
#include "profile/load_part.h"
#include "profile/query.h"
#include "store/session.h"

/* Of one moment. More are not looked at, so that no session costs more than its size. */
#define NEIGHBOURS_MAX 1024
#define THREADS_MAX    512
#define THREAD_SLOTS   1024 /* a power of two */

bool index_wants_parallelism(const struct profile *p)
{
	return p->index->request->wall_weight ||
	       key_list_has(&p->class_keys, PROFILE_PARALLELISM) ||
	       query_has(p->index->query, FILTER_PARALLELISM);
}

uint64_t profile_interval_ns(const struct counter_info *c)
{
	if (counter_is_wait(c))
		return 0;
	if (c->freq_hz)
		return NS_PER_SECOND / c->freq_hz;
	return strcmp(c->unit, "ns") ? 0 : c->count;
}

struct thread_sum {
	int32_t pid, tid;
	uint32_t cpu, slot;
	double sum;
};

struct moment {
	const struct profile *p;
	const struct load_part *part;
	const struct sample_times *times;
	const struct count_row *rows;
	size_t at; /* the sample */
	double period_ns;
	struct thread_sum *threads; /* THREADS_MAX */
	uint32_t n_threads;
	uint16_t *slots; /* THREAD_SLOTS, by hash: the place in `threads`, + 1 */
};

static const struct profile_class *class_at(const struct moment *m, size_t i)
{
	return &m->part->segment->classes[m->rows[m->times->data[i].row].class];
}

static bool is_counted(const struct moment *m, size_t i)
{
	uint32_t class = m->rows[m->times->data[i].row].class;

	return m->part->groups[(size_t) class * N_CONTEXTS] != NO_INDEX && !m->part->idle[class] &&
	       class_at(m, i)->counter == class_at(m, m->at)->counter;
}

/* Where threads are merged, a CPU runs one at a time. */
static bool is_same_thread(const struct profile_class *a, int32_t pid, int32_t tid, uint32_t cpu)
{
	return a->pid == pid && a->tid == tid && (tid >= 0 || a->cpu == cpu);
}

static uint32_t thread_slot(const struct profile_class *c)
{
	uint64_t key = c->tid >= 0 ? (uint32_t)c->tid : (uint64_t)c->cpu << 32;

	return (uint32_t)hash_secret_u64(key) % THREAD_SLOTS;
}

/* NULL: there are too many. */
static struct thread_sum *thread_of(struct moment *m, const struct profile_class *c)
{
	uint32_t slot = thread_slot(c);
	struct thread_sum *t;

	for (; m->slots[slot]; slot = (slot + 1) % THREAD_SLOTS) {
		t = &m->threads[m->slots[slot] - 1];
		if (is_same_thread(c, t->pid, t->tid, t->cpu))
			return t;
	}
	if (m->n_threads == THREADS_MAX)
		return NULL;
	t = &m->threads[m->n_threads++];
	*t = (struct thread_sum){ c->pid, c->tid, c->cpu, slot, 0 };
	m->slots[slot] = (uint16_t)m->n_threads;
	return t;
}

static void add_neighbour(struct moment *m, size_t i, double distance_ns)
{
	const struct profile_class *c = class_at(m, i), *own = class_at(m, m->at);
	struct thread_sum *t;

	if (!is_counted(m, i) || is_same_thread(own, c->pid, c->tid, c->cpu))
		return;
	t = thread_of(m, c);
	if (t)
		t->sum += 1 - distance_ns / m->period_ns;
}

static double parallelism_at(struct moment *m)
{
	uint64_t now = m->times->data[m->at].time_ns;
	double all = 1;

	m->n_threads = 0;
	for (size_t i = m->at, n = 0; i-- > 0 && n < NEIGHBOURS_MAX; n++) {
		double distance = (double)(now - MIN(now, m->times->data[i].time_ns));

		if (distance >= m->period_ns)
			break;
		add_neighbour(m, i, distance);
	}
	for (size_t i = m->at + 1, n = 0; i < m->times->n && n < NEIGHBOURS_MAX; i++, n++) {
		uint64_t then = m->times->data[i].time_ns;
		double distance = (double)(then - MIN(now, then));

		if (distance >= m->period_ns)
			break;
		add_neighbour(m, i, distance);
	}
	for (uint32_t k = 0; k < m->n_threads; k++) {
		all += MIN(m->threads[k].sum, 1);
		m->slots[m->threads[k].slot] = 0;
	}
	return all;
}

double *load_parallelism(const struct profile *p, const struct load_part *part,
			 const struct sample_times *times, const struct count_row *rows)
{
	struct moment m = { .p = p, .part = part, .times = times, .rows = rows };
	double *found = xcalloc(times->n + 1, sizeof(*found));

	m.threads = xcalloc(THREADS_MAX, sizeof(*m.threads));
	m.slots = xcalloc(THREAD_SLOTS, sizeof(*m.slots));
	for (m.at = 0; m.at < times->n; m.at++) {
		uint32_t counter = class_at(&m, m.at)->counter;

		if (counter >= p->session->info.n_counters || !is_counted(&m, m.at))
			continue;
		m.period_ns = (double)profile_interval_ns(&p->session->info.counters[counter]);
		if (m.period_ns > 0)
			found[m.at] = parallelism_at(&m);
	}
	free(m.threads);
	free(m.slots);
	return found;
}

bool load_takes_parallelism(const struct profile *p, const struct load_part *part,
			    const struct count_row *row)
{
	size_t i = (size_t)(row - part->rows.data);

	return !query_has(p->index->query, FILTER_PARALLELISM) ||
	       query_takes_number(p->index->query, FILTER_PARALLELISM,
				  i < part->row_parallelism.n ? part->row_parallelism.data[i] : 0);
}
