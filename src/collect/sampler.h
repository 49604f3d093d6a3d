/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-kernel sampler, as its reader: loads the BPF program (collect/bpf/),
 * attaches it to counters on every CPU, and hands over what it counted.
 *
 * Only counts and stacks that were not seen before cross from the kernel.
 * A stack names files by number; which path a number has, the side band tells,
 * by device and inode. Needs CAP_BPF and CAP_PERFMON, and BTF in the kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "collect/bpf/shared.h"
#include "collect/rings.h"
#include "counter/counter.h"
#include "event/loss.h"

struct error;
struct sampler;

struct sampler_config {
	const struct counters *counters;
	const struct counter_sources *sources;
	const struct cpu_list *cpus;
	bool with_stacks;
};

/* Whether it is built in and permitted here: true, or false with the reason in *why. */
bool sampler_is_available(const struct counter_sources *sources, char *why, size_t size);

/* Loads and attaches; counting begins. */
int sampler_open(const struct sampler_config *config, struct sampler **out, struct error *err);
void sampler_close(struct sampler *s); /* NULL is fine; no program and no map stays behind */
DEFINE_AT_EXIT(sampler_close, struct sampler)

void sampler_disable(struct sampler *s);

/* What was counted alike since the last time. Pointers hold until the visit returns. */
struct sampler_count {
	int32_t pid, tid;
	uint32_t cpu, counter;
	uint32_t app; /* file number of the process's executable; FILE_NONE: a kernel thread */
	const char *comm;
	const uint64_t *frames; /* packed (collect/bpf/shared.h), innermost first */
	uint32_t n_kernel, n_user;
	uint64_t samples, period;
};

struct sampler_visitor {
	/* A file got a number; before any count that uses it. */
	void (*file)(struct sampler_visitor *self, uint32_t number, uint64_t dev, uint64_t ino);
	void (*count)(struct sampler_visitor *self, const struct sampler_count *count);
};

/*
 * Ends the epoch and begins another: what is counted from now on is for the
 * next sampler_read(). Call it when a second is over.
 */
void sampler_turn(struct sampler *s);

/*
 * Visits all that was counted in the epoch before the last sampler_turn(). The
 * program may still be at work in it for as long as one run takes, so wait a
 * few milliseconds (rings_safe_time() says when).
 */
int sampler_read(struct sampler *s, struct sampler_visitor *visitor, struct error *err);

/* Losses since the last call. */
void sampler_collect_losses(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context);
