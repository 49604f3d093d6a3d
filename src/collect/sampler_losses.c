/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "collect/missed.h"
#include "collect/sampler_state.h"
#include "counter/pace.h"
#include "unwind/stop_loss.h"
#include "machine/cgroup_domain.h"

#define LOSSES_MAX_CPUS 1024

/* By CPU. Returns the number of CPUs; 0: it can't be read. */
static int read_loss_by_cpu(const struct sampler *s, uint32_t which,
			    uint64_t values[LOSSES_MAX_CPUS])
{
	int n = libbpf_num_possible_cpus();

	if (n <= 0 || n > LOSSES_MAX_CPUS ||
	    bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.losses), &which, values) < 0)
		return 0;
	return n;
}

static uint64_t read_loss(const struct sampler *s, uint32_t which)
{
	uint64_t values[LOSSES_MAX_CPUS] = { 0 }, sum = 0;
	int n = read_loss_by_cpu(s, which, values);

	for (int i = 0; i < n; i++)
		sum += values[i];
	return sum;
}

void sampler_add_losses(const struct sampler *s, uint64_t *by_cpu, size_t n_cpus)
{
	static const uint32_t lost[] = { SAMPLER_COUNTS_FULL, SAMPLER_STACK_DROPPED };

	for (size_t k = 0; k < ARRAY_SIZE(lost); k++) {
		uint64_t values[LOSSES_MAX_CPUS] = { 0 };
		int n = read_loss_by_cpu(s, lost[k], values);

		for (int i = 0; i < n && (size_t)i < n_cpus; i++)
			by_cpu[i] += values[i];
	}
}

/* The loss reason of a counter of the program; -1: none. */
static int loss_of_counter(uint32_t counter)
{
	static const enum loss_reason reasons[N_SAMPLER_LOSSES] = {
		[SAMPLER_COUNTS_FULL] = LOSS_RING_FULL,
		[SAMPLER_STACK_DROPPED] = LOSS_RING_FULL,
		[SAMPLER_FILES_FULL] = LOSS_FILES_FULL,
		[SAMPLER_RAW_DROPPED] = LOSS_STACK_NO_TABLE,
		[SAMPLER_TABLES_FULL] = LOSS_TABLES_FULL,
		[SAMPLER_WAITS_FULL] = LOSS_WAITS_FULL,
		[SAMPLER_TIMES_FULL] = LOSS_TIMES_FULL,
		[SAMPLER_WAKERS_LOST] = LOSS_WAKERS_FULL,
		[SAMPLER_LOCKS_FULL] = LOSS_LOCKS_FULL,
		[SAMPLER_GUESSED] = LOSS_STACK_GUESSED,
	};
	/* Each language has the same losses, in the order of enum language_loss. */
	static const enum loss_reason of_language[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = LOSS_##id##_STATE,
		LANGUAGES(X)
#undef X
	};

	if (counter == SAMPLER_OTHERS)
		return -1;
	if (counter < N_SAMPLER_LOSSES)
		return (int)reasons[counter];
	if (counter < N_STOP_COUNTERS)
		return loss_of_stop((enum unwind_stop)(counter - N_SAMPLER_LOSSES));
	counter -= N_STOP_COUNTERS;
	return counter < N_LANGUAGE_LOSSES ? -1
					   : (int)(of_language[counter / N_LANGUAGE_LOSSES] +
						   counter % N_LANGUAGE_LOSSES);
}

void sampler_collect_losses(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context)
{
	for (uint32_t i = 0; i < N_SAMPLER_COUNTERS; i++) {
		uint64_t n = read_loss(s, i);
		int reason = loss_of_counter(i);

		if (n > s->losses[i] && reason >= 0)
			lose(context, (enum loss_reason)reason, UINT32_MAX, n - s->losses[i]);
		s->losses[i] = n;
	}
	if (s->n_unknown)
		lose(context, LOSS_RING_FULL, UINT32_MAX, s->n_unknown);
	s->n_unknown = 0;
}

static struct count_value overflows_of(const struct sampler *s, uint32_t counter)
{
	struct count_value values[1024], sum = { 0 };
	int n = libbpf_num_possible_cpus();

	if (n <= 0 || n > 1024 ||
	    bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.overflows), &counter, values) < 0)
		return sum;
	for (int i = 0; i < n; i++) {
		sum.samples += values[i].samples;
		sum.period += values[i].period;
	}
	return sum;
}

/*
 * A clock stands still while it is throttled; the result is the time for which it should have run.
 */
static uint64_t counted_on(int fd, bool is_clock)
{
	uint64_t values[3]; /* the count, time enabled, time running */

	if (read(fd, values, sizeof(values)) != sizeof(values))
		return 0;
	return is_clock ? values[2] : values[0];
}

struct rings_tally sampler_tally(const struct sampler *s, uint32_t counter)
{
	struct count_value got = overflows_of(s, counter);
	struct rings_tally t = { .samples = got.samples, .period = got.period };
	bool is_clock = !strcmp(s->config.counters->data[counter].unit, "ns");

	for (size_t i = 0; i < s->fds.n; i++) {
		if (s->counter_of_fd.data[i] != counter)
			continue;
		t.counted += counted_on(s->fds.data[i], is_clock);
		t.n_fds++;
	}
	return t;
}

/* The value of a CPU that went offline can't be read any more. */
static uint64_t missed_since(struct sampler *s, uint32_t counter, uint64_t counted,
			     const struct count_value *got, uint64_t wanted, uint64_t n_cpus)
{
	struct missed_base *base, old;

	while (s->bases.n <= counter)
		vec_push(&s->bases, (struct missed_base){ 0 });
	base = &s->bases.data[counter];
	old = *base;
	*base = (struct missed_base){ counted, got->samples, got->period };
	return missed_samples(counted - MIN(counted, old.counted), got->samples - old.samples,
			      got->period - old.period, wanted, n_cpus);
}

/* Nobody knows the processes of samples that were never taken: they are as those of the others. */
static double chosen_share(const struct sampler *s)
{
	uint64_t n_all = 0, n_others = read_loss(s, SAMPLER_OTHERS);

	for (uint32_t k = 0; k < s->config.counters->n; k++)
		n_all += overflows_of(s, k).samples;
	return n_all ? 1 - (double)MIN(n_others, n_all) / (double)n_all : 1;
}

void sampler_collect_missed(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context)
{
	double share = chosen_share(s);

	for (uint32_t k = 0; k < s->config.counters->n; k++) {
		const struct counter *counter = &s->config.counters->data[k];
		bool is_clock = !strcmp(counter->unit, "ns");
		struct count_value got = overflows_of(s, k);
		uint64_t counted = 0, n_cpus = 0, n;

		if (is_clock && !clock_shows_missed(&counter->attr))
			continue;
		for (size_t i = 0; i < s->fds.n; i++) {
			if (s->counter_of_fd.data[i] != k)
				continue;
			counted += counted_on(s->fds.data[i], is_clock);
			n_cpus++;
		}
		n = missed_since(s, k, counted, &got, pace_period(counter), n_cpus);
		n = (uint64_t)((double)n * share + 0.5);
		if (n)
			lose(context, LOSS_THROTTLED_SAMPLES, k, n);
	}
}
