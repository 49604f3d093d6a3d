/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a small cache in front of the machine's lookups pay? Prospect had four entries with random
 * replacement in front of its tries.
 *
 * The program profiles a command and keeps the (pid, address) of its samples and callers. Then it
 * looks all of them up again and again: mappings by address, and processes by pid.
 *
 *   front_cache COMMAND [ARG…]
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "collect/rings.h"
#include "machine/address_space.h"
#include "pipeline/host.h"
#include "record/child.h"

#define ROUNDS 20

struct lookup {
	int32_t pid;
	uint64_t addr;
};

/* One address space a process, as the machine keeps them; forks copy, exec clears. */
struct stream {
	struct event_sink sink;
	VEC(struct lookup) lookups;
	VEC(struct address_space) spaces;
	struct intmap by_pid;
};

static struct address_space *space_of(struct stream *s, int32_t pid)
{
	bool is_new;
	uint32_t *at = intmap_put(&s->by_pid, (uint32_t)pid, &is_new);

	if (is_new) {
		*at = (uint32_t)s->spaces.n;
		vec_add(&s->spaces);
	}
	return &s->spaces.data[*at];
}

static void keep_sample(struct stream *s, const struct event *e)
{
	const struct sample_event *sample = &e->sample;

	if (sample->mode == MODE_USER)
		vec_push(&s->lookups, (struct lookup){ e->pid, sample->ip });
	for (uint32_t i = sample->n_kernel; i < sample->n_callers; i++)
		vec_push(&s->lookups, (struct lookup){ e->pid, sample->callers[i] });
}

static int keep(struct event_sink *sink, const struct event *e)
{
	struct stream *s = (struct stream *)sink;

	if (e->type == EVENT_SAMPLE) {
		keep_sample(s, e);
	} else if (e->type == EVENT_MAPPING) {
		struct mapping m = { .start = e->mapping.start,
				     .end = e->mapping.start + e->mapping.size };

		address_space_map(space_of(s, e->pid), &m);
	} else if (e->type == EVENT_FORK && e->pid != e->fork.ppid) {
		space_of(s, e->pid);
		address_space_copy(space_of(s, e->pid), space_of(s, e->fork.ppid));
	} else if (e->type == EVENT_COMM && e->comm.is_exec) {
		address_space_clear(space_of(s, e->pid));
	}
	return 0;
}

static int profile(char **argv, struct stream *s, struct error *err)
{
	static const struct counter_sources sources;
	struct counters counters = { 0 };
	struct cpu_list cpus = { 0 };
	struct rings_config c = { .counters = &counters,
				  .sources = &sources,
				  .cpus = &cpus,
				  .n_tids = 1,
				  .cgroup_fd = -1,
				  .inherit = true,
				  .enable_on_exec = true,
				  .with_callchain = true };
	struct rings *rings;
	struct child child;
	char note[256];
	sigset_t none;
	int32_t tid;
	int r;

	sigemptyset(&none);
	if ((r = counter_default(&sources, &(struct counter_rate){ .freq_hz = 4000 }, &counters,
				 note, sizeof(note), err)) < 0 ||
	    (r = cpu_list_online(NULL, &cpus, err)) < 0 ||
	    (r = child_prepare(argv, NULL, &none, false, &child, err)) < 0)
		return r;
	tid = child.pid;
	c.tids = &tid;
	r = rings_open(&c, &rings, err);
	if (r < 0) {
		child_abandon(&child);
		return r;
	}
	r = child_go(&child, argv, err);
	while (!r && waitpid(child.pid, NULL, WNOHANG) == 0) {
		rings_wait(rings, -1, 100);
		rings_drain(rings, rings_safe_time(), &s->sink);
	}
	rings_drain(rings, UINT64_MAX, &s->sink);
	rings_close(rings);
	counters_fini(&counters);
	vec_fini(&cpus);
	return r;
}

/* Prospect's cache: four entries, the loser chosen by a free-running counter. */
struct front {
	uint64_t key[4];
	uintptr_t value[4];
};

static uint32_t counter_bits(void)
{
#if defined(__x86_64__)
	return (uint32_t)__builtin_ia32_rdtsc() >> 4 & 3;
#else
	return (uint32_t)clock_monotonic_ns() >> 4 & 3;
#endif
}

static uint64_t sum; /* keeps the compiler from dropping the work */

/* The mapping, as a cache would keep it: no space changes while this program measures. */
static uintptr_t search(const struct address_space *a, uint64_t addr)
{
	return (uintptr_t)address_space_find(a, addr);
}

static void find_plain(struct stream *s, const struct lookup *l, struct front *f)
{
	(void)f;
	sum += (uintptr_t)address_space_find(space_of(s, l->pid), l->addr);
}

static void find_last(struct stream *s, const struct lookup *l, struct front *f)
{
	const struct address_space *a = space_of(s, l->pid);
	const struct mapping *last = (const struct mapping *)f->value[0];

	if (!last || f->key[0] != (uint32_t)l->pid ||
	    l->addr - last->start >= last->end - last->start) {
		f->key[0] = (uint32_t)l->pid;
		f->value[0] = search(a, l->addr);
	}
	sum += f->value[0];
}

static void find_random4(struct stream *s, const struct lookup *l, struct front *f)
{
	uint64_t key = l->addr >> 12 ^ (uint64_t)(uint32_t)l->pid << 40;
	uint32_t slot;

	for (int i = 0; i < 4; i++) {
		if (f->key[i] == key) {
			sum += f->value[i];
			return;
		}
	}
	slot = counter_bits();
	f->key[slot] = key;
	f->value[slot] = search(space_of(s, l->pid), l->addr);
	sum += f->value[slot];
}

static void pid_map(struct stream *s, const struct lookup *l, struct front *f)
{
	(void)f;
	sum += *intmap_find(&s->by_pid, (uint32_t)l->pid);
}

static void pid_random4(struct stream *s, const struct lookup *l, struct front *f)
{
	uint32_t slot;

	for (int i = 0; i < 4; i++) {
		if (f->key[i] == (uint32_t)l->pid) {
			sum += f->value[i];
			return;
		}
	}
	slot = counter_bits();
	f->key[slot] = (uint32_t)l->pid;
	f->value[slot] = *intmap_find(&s->by_pid, (uint32_t)l->pid);
	sum += f->value[slot];
}

static const struct {
	const char *name;
	void (*find)(struct stream *, const struct lookup *, struct front *);
} variants[] = {
	{ "mapping: binary search", find_plain },
	{ "mapping: last hit in front", find_last },
	{ "mapping: four random entries in front", find_random4 },
	{ "process: hash map", pid_map },
	{ "process: four random entries in front", pid_random4 },
};

static void measure(struct stream *s)
{
	for (size_t v = 0; v < ARRAY_SIZE(variants); v++) {
		uint64_t best = UINT64_MAX;

		for (int round = 0; round < ROUNDS; round++) {
			struct front f = { 0 };
			uint64_t start = clock_monotonic_ns();

			vec_foreach (&s->lookups, l)
				variants[v].find(s, l, &f);
			best = MIN(best, clock_monotonic_ns() - start);
		}
		printf("%-40s %6.2f ns\n", variants[v].name, (double)best / (double)s->lookups.n);
	}
}

int main(int argc, char **argv)
{
	struct stream s = { .sink = { keep } };
	struct error err = { 0 };

	if (argc < 2 || profile(argv + 1, &s, &err) < 0) {
		fprintf(stderr, "front_cache: %s\n", argc < 2 ? "no command" : err.text);
		return 1;
	}
	printf("%zu lookups in %zu processes; the best of %d rounds, a lookup:\n", s.lookups.n,
	       s.spaces.n, ROUNDS);
	if (s.lookups.n)
		measure(&s);
	vec_foreach (&s.spaces, a)
		address_space_fini(a);
	vec_fini(&s.spaces);
	vec_fini(&s.lookups);
	intmap_fini(&s.by_pid);
	return sum == 42; /* it never is */
}
