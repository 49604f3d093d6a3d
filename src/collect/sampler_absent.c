/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collect/sampler.h in a build without BPF. */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "collect/sampler.h"
#include "collect/sampler_support.h"

void sampler_support_check(const struct counter_sources *sources, struct sampler_support *out)
{
	(void)sources;
	*out = (struct sampler_support){ .obstacle = OBSTACLE_BUILD,
					 .why = "this assay was built without BPF" };
}

void sampler_support_try(const struct counter_sources *sources, struct sampler_support *out)
{
	sampler_support_check(sources, out);
}

bool sampler_is_available(const struct counter_sources *sources, char *why, size_t size)
{
	(void)sources;
	snprintf(why, size, "this assay was built without BPF");
	return false;
}

int sampler_open(const struct sampler_config *config, struct sampler **out, struct error *err)
{
	(void)config, (void)out;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

int sampler_start(struct sampler *s, struct error *err)
{
	(void)s;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

int sampler_cpu_online(struct sampler *s, uint32_t cpu, struct error *err)
{
	(void)cpu;
	return sampler_start(s, err);
}

void sampler_close(struct sampler *s)
{
	(void)s;
}

void sampler_disable(struct sampler *s)
{
	(void)s;
}

int sampler_pause(struct sampler *s, bool is_paused, struct error *err)
{
	(void)s, (void)is_paused, (void)err;
	return 0;
}

void sampler_pause_counter(struct sampler *s, uint32_t counter, bool is_paused)
{
	(void)s, (void)counter, (void)is_paused;
}

void sampler_each_event(const struct sampler *s,
			void (*visit)(void *context, const char *name,
				      const struct perf_event_attr *attr, const uint64_t *ids,
				      size_t n_ids),
			void *context)
{
	(void)s, (void)visit, (void)context;
}

int sampler_set_rate(struct sampler *s, size_t counter, uint64_t rate, uint64_t period,
		     struct error *err)
{
	(void)s, (void)counter, (void)rate, (void)period, (void)err;
	return 0;
}

void sampler_turn(struct sampler *s, uint64_t now_ns)
{
	(void)s, (void)now_ns;
}

int sampler_read(struct sampler *s, uint64_t until_ns, struct sampler_visitor *visitor,
		 struct error *err)
{
	(void)s, (void)until_ns, (void)visitor;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

struct rings_tally sampler_tally(const struct sampler *s, uint32_t counter)
{
	(void)s, (void)counter;
	return (struct rings_tally){ 0 };
}

void sampler_add_losses(const struct sampler *s, uint64_t *by_cpu, size_t n_cpus)
{
	(void)s, (void)by_cpu, (void)n_cpus;
}

void sampler_collect_losses(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context)
{
	(void)s, (void)lose, (void)context;
}

bool sampler_can_unwind(char *why, size_t size)
{
	snprintf(why, size, "this assay was built without BPF");
	return false;
}

int sampler_fd(const struct sampler *s)
{
	(void)s;
	return -1;
}

int sampler_poll(struct sampler *s, struct sampler_visitor *visitor, size_t most_bytes,
		 struct error *err)
{
	(void)s, (void)visitor, (void)most_bytes;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

void sampler_set_table(struct sampler *s, uint32_t file, const struct unwind_table *table)
{
	(void)s, (void)file, (void)table;
}

bool sampler_has_tables(struct sampler *s)
{
	(void)s;
	return true;
}

uint32_t sampler_know_file(struct sampler *s, const struct file_key *key)
{
	(void)s, (void)key;
	return 0;
}

void sampler_set_runtime(struct sampler *s, uint32_t file, const struct lang_runtime *runtime)
{
	(void)s, (void)file, (void)runtime;
}

bool sampler_set_java(struct sampler *s, const struct java_key *key, const struct java_frame *frame)
{
	(void)s, (void)key, (void)frame;
	return false;
}

void sampler_drop_java(struct sampler *s, const struct java_key *key)
{
	(void)s, (void)key;
}

void sampler_tell_codes_again(struct sampler *s)
{
	(void)s;
}

const struct unwind_table *sampler_next_table(struct sampler *s)
{
	(void)s;
	return NULL;
}

int sampler_read_waits(struct sampler *s, uint64_t now_ns, struct sampler_visitor *visitor,
		       struct error *err)
{
	(void)s, (void)now_ns, (void)visitor;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

bool sampler_put_wait(struct sampler *s, int32_t tid, const struct wait *wait)
{
	(void)s, (void)tid, (void)wait;
	return false;
}

bool sampler_follows_waits(const struct sampler *s, int32_t pid, int32_t tid)
{
	(void)s, (void)pid, (void)tid;
	return false;
}

void sampler_forget_waits(struct sampler *s)
{
	(void)s;
}

void sampler_drop_wait(struct sampler *s, int32_t tid)
{
	(void)s, (void)tid;
}

bool sampler_find_stack(struct sampler *s, int32_t tid, struct blocked_stack *out)
{
	(void)s, (void)tid, (void)out;
	return false;
}

void sampler_collect_missed(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context)
{
	(void)s, (void)lose, (void)context;
}

uint32_t sampler_table_round(const struct sampler *s)
{
	(void)s;
	return 1;
}

bool sampler_find_waker(const struct sampler *s, uint64_t waker, struct sampler_waker *out)
{
	(void)s, (void)waker, (void)out;
	return false;
}

const struct label_value *sampler_find_labels(const struct sampler *s, uint64_t labels)
{
	(void)s, (void)labels;
	return NULL;
}

void sampler_find_frames(const struct sampler *s, struct sampler_count *count)
{
	(void)s, (void)count;
}

bool sampler_has_room_for_files(const struct sampler *s)
{
	(void)s;
	return false;
}

void sampler_set_labels(struct sampler *s, uint32_t file, const struct label_places *places)
{
	(void)s, (void)file, (void)places;
}

void sampler_set_process_labels(struct sampler *s, int32_t pid, const struct process_labels *labels)
{
	(void)s, (void)pid, (void)labels;
}
