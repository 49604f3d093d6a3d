/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/log.h"
#include "collect/missed.h"
#include "collect/sampler_load.h"
#include "collect/sampler_state.h"
#include "collect/table_maps.h"
#include "counter/sources.h"
#include "machine/cgroup_domain.h"

#define BATCH 4096

/* Samples with times that wait for the end of their second. */
#define TIMED_MAX (1u << 20)

/* If more tables are in use than fit, tables without room are built again and again. */
#define TABLES_KEPT_NS 60000000000ULL

static void stacks_fini(struct stacks *s)
{
	vec_fini(&s->frames);
	vec_fini(&s->list);
	intmap_fini(&s->by_hash);
	vec_fini(&s->wakers);
	intmap_fini(&s->by_waker);
	vec_fini(&s->labels);
	intmap_fini(&s->by_labels);
}

static const struct known_stack *find_stack(const struct sampler *s, uint64_t hash,
					    const uint64_t **frames)
{
	const struct stacks *sets[] = { &s->now, &s->before };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const uint32_t *at = intmap_find(&sets[i]->by_hash, hash);

		if (!at)
			continue;
		*frames = sets[i]->frames.data + sets[i]->list.data[*at].at;
		return &sets[i]->list.data[*at];
	}
	return NULL;
}

static void keep_stack(struct sampler *s, const struct stack_message *m)
{
	uint32_t n = (uint32_t)m->n_kernel + m->n_user;
	struct known_stack known = { (uint32_t)s->now.frames.n, m->n_kernel, m->n_user, m->fit };
	bool is_new;
	uint32_t *at = intmap_put(&s->now.by_hash, m->hash, &is_new);

	if (!is_new) /* the kernel had forgotten that it sent the stack */
		return;
	*at = (uint32_t)s->now.list.n;
	vec_push(&s->now.list, known);
	vec_reserve(&s->now.frames, s->now.frames.n + n);
	memcpy(s->now.frames.data + s->now.frames.n, m->frames, n * sizeof(*m->frames));
	s->now.frames.n += n;
}

static void keep_waker(struct sampler *s, const struct waker_message *m)
{
	bool is_new;
	uint32_t *at = intmap_put(&s->now.by_waker, m->id, &is_new);

	if (!is_new)
		return;
	*at = (uint32_t)s->now.wakers.n;
	vec_push(&s->now.wakers, *m);
}

static void keep_labels(struct sampler *s, const struct label_message *m)
{
	bool is_new;
	uint32_t *at = intmap_put(&s->now.by_labels, m->id, &is_new);

	if (!is_new)
		return;
	*at = (uint32_t)s->now.labels.n;
	vec_push(&s->now.labels, *m);
}

const struct label_value *sampler_find_labels(const struct sampler *s, uint64_t labels)
{
	const struct stacks *sets[] = { &s->now, &s->before };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		const uint32_t *at = intmap_find(&sets[i]->by_labels, labels);

		if (at)
			return sets[i]->labels.data[*at].values;
	}
	return NULL;
}

bool sampler_find_waker(const struct sampler *s, uint64_t waker, struct sampler_waker *out)
{
	const struct stacks *sets[] = { &s->now, &s->before };
	const struct waker_message *m = NULL;
	const struct known_stack *stack;

	for (size_t i = 0; i < ARRAY_SIZE(sets) && !m; i++) {
		const uint32_t *at = intmap_find(&sets[i]->by_waker, waker);

		m = at ? &sets[i]->wakers.data[*at] : NULL;
	}
	if (!m)
		return false;
	*out = (struct sampler_waker){ .pid = (int32_t)m->pid,
				       .tid = (int32_t)m->tid,
				       .stack = m->stack };
	memcpy(out->comm, m->comm, sizeof(out->comm));
	out->comm[sizeof(out->comm) - 1] = '\0';
	stack = find_stack(s, m->stack, &out->frames);
	if (stack) {
		out->n_kernel = stack->n_kernel;
		out->n_user = stack->n_user;
		out->fit = (enum language_fit)stack->fit;
	}
	return true;
}

void sampler_find_frames(const struct sampler *s, struct sampler_count *count)
{
	const struct known_stack *stack;

	count->frames = NULL;
	stack = find_stack(s, count->stack, &count->frames);
	count->n_kernel = stack ? stack->n_kernel : 0;
	count->n_user = stack ? stack->n_user : 0;
	count->fit = stack ? (enum language_fit)stack->fit : LANGUAGE_FITS;
}

static void sampler_visit_file(struct sampler *s, const struct file_message *m)
{
	const struct sampler_file file = {
		.number = m->number,
		.pid = (int32_t)m->pid,
		.place = m->place,
		.time_ns = m->time_ns,
		.dev = (uint64_t)(m->key.dev >> 20) << 32 | (m->key.dev & 0xfffff),
		.ino = m->key.ino,
	};

	s->visitor->file(s->visitor, &file);
}

static int read_message(void *context, void *data, size_t size)
{
	struct sampler *s = context;
	const struct stack_message *stack = data;

	s->poll_left -= MIN(size, s->poll_left);
	if (size >= sizeof(struct file_message) && stack->type == MESSAGE_FILE) {
		sampler_visit_file(s, data);
	} else if (size >= offsetof(struct raw_stack_message, stack) &&
		   stack->type == MESSAGE_RAW_STACK) {
		s->visitor->raw(s->visitor, data);
	} else if (size >= offsetof(struct code_message, code.lines) &&
		   stack->type == MESSAGE_CODE) {
		const struct code_message *m = data;

		s->visitor->code(s->visitor, (int32_t)m->pid, &m->code);
	} else if (size >= sizeof(struct waker_message) && stack->type == MESSAGE_WAKER) {
		keep_waker(s, data);
	} else if (size >= sizeof(struct label_message) && stack->type == MESSAGE_LABELS) {
		keep_labels(s, data);
	} else if (size >= offsetof(struct stack_message, frames) && stack->type == MESSAGE_STACK) {
		keep_stack(s, stack);
	}
	/* new messages during the reading could keep us here for ever */
	return s->poll_left ? 0 : -EAGAIN;
}

static int read_time(void *context, void *data, size_t size)
{
	struct sampler *s = context;

	if (size >= sizeof(struct time_message))
		vec_push(&s->timed, *(const struct time_message *)data);
	/* as above; so long a list is a ring that was full several times */
	return s->timed.n < TIMED_MAX ? 0 : -EAGAIN;
}

/*
 * The rings have copies of all programs' stacks. A child that parses files of strangers must not
 * have the rings. libbpf keeps their addresses to itself, so we look for them in our own mappings.
 */
static void hide_from_children(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	cleanup(free_at_exit) char *line = NULL;
	uintptr_t from, to;
	size_t size = 0;
	int path = 0;

	while (maps && getline(&line, &size, maps) > 0)
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %n", &from, &to,
			   &path) == 2 &&
		    !strcmp(line + path, "anon_inode:bpf-map\n"))
			madvise((void *)from, to - from, MADV_DONTFORK);
	if (maps)
		fclose(maps);
	else
		log_warning("/proc/self/maps: %s: processes that parse files can read the "
			    "sampler's rings",
			    strerror(errno));
}

int sampler_open(const struct sampler_config *c, struct sampler **out, struct error *err)
{
	cleanup(sampler_close_at_exit) struct sampler *s = xcalloc(1, sizeof(*s));
	int e;

	s->config = *c;
	if (c->waits) {
		s->waits = *c->waits;
		s->config.waits = &s->waits;
	}
	e = sampler_load(s, err);
	if (e < 0)
		return e;
	s->messages = ring_buffer__new(bpf_map__fd(s->bpf->maps.messages), read_message, s, NULL);
	if (!s->messages)
		return error_errno(err, -errno, "cannot map the sampler's messages");
	if (c->with_times)
		s->times = ring_buffer__new(bpf_map__fd(s->bpf->maps.times), read_time, s, NULL);
	if (c->with_times && !s->times)
		return error_errno(err, -errno, "cannot map the sampler's times");
	hide_from_children();
	s->is_off = xcalloc(MAX(c->counters->n, 1u), sizeof(*s->is_off));
	memset(s->is_off, c->starts_paused, c->counters->n * sizeof(*s->is_off));
	s->bpf->bss->is_waiting = c->starts_paused;
	s->keys = xcalloc(BATCH, sizeof(*s->keys));
	s->values = xcalloc(BATCH, sizeof(*s->values));
	*out = take_ptr(s);
	return 0;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_detach_waits(s);
	bpf_link__destroy(s->fork_link);
	vec_foreach (&s->links, link)
		bpf_link__destroy(*link);
	vec_fini(&s->links);
	vec_fini(&s->fds);
	vec_fini(&s->counter_of_fd);
	vec_fini(&s->cpu_of_fd);
	vec_fini(&s->bases);
	ring_buffer__free(s->messages);
	ring_buffer__free(s->times);
	vec_fini(&s->timed);
	table_maps_close(s->tables);
	sampler_bpf__destroy(s->bpf);
	stacks_fini(&s->now);
	stacks_fini(&s->before);
	vec_fini(&s->all_keys);
	vec_fini(&s->all_values);
	free(s->is_off);
	free(s->keys);
	free(s->values);
	free(s);
}

/* Tables. */

void sampler_set_table(struct sampler *s, uint32_t file, const struct unwind_table *table)
{
	table_maps_set(s->tables, file, table);
}

bool sampler_has_room_for_files(const struct sampler *s)
{
	return s->bpf->data->next_file < MAX_FILES;
}

bool sampler_has_tables(struct sampler *s)
{
	return table_maps_is_idle(s->tables);
}

uint32_t sampler_know_file(struct sampler *s, const struct file_key *key)
{
	struct file_entry entry = { .number = s->bpf->data->next_file };

	if (entry.number >= MAX_FILES ||
	    bpf_map_update_elem(bpf_map__fd(s->bpf->maps.files), key, &entry, BPF_NOEXIST) < 0)
		return 0;
	s->bpf->data->next_file++;
	return entry.number;
}

/* The sampler looks for registers and threads of its own processor: qemu-user maps other files. */
#if defined(__aarch64__)
#define IS_AARCH64 1
#else
#define IS_AARCH64 0
#endif

void sampler_set_runtime(struct sampler *s, uint32_t file, const struct lang_runtime *runtime)
{
	if (!s->with_languages || runtime->is_aarch64 != IS_AARCH64)
		return;
	if (!bpf_map_update_elem(bpf_map__fd(s->bpf->maps.runtimes), &file, runtime, BPF_ANY))
		s->bpf->bss->has_runtimes = 1;
	if (language_is_on_stack(runtime->language))
		s->bpf->bss->has_stack_runtimes = 1;
}

bool sampler_set_java(struct sampler *s, const struct java_key *key, const struct java_frame *frame)
{
	return !bpf_map_update_elem(bpf_map__fd(s->bpf->maps.java_frames), key, frame, BPF_ANY);
}

void sampler_drop_java(struct sampler *s, const struct java_key *key)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.java_frames), key);
}

void sampler_set_labels(struct sampler *s, uint32_t file, const struct label_places *places)
{
	if (s->config.n_labels)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.label_files), &file, places, BPF_ANY);
}

void sampler_set_process_labels(struct sampler *s, int32_t pid, const struct process_labels *labels)
{
	int map = bpf_map__fd(s->bpf->maps.label_processes);

	if (labels)
		bpf_map_update_elem(map, &pid, labels, BPF_ANY);
	else
		bpf_map_delete_elem(map, &pid);
}

/* the stacks are new, too: a stack's functions are sent before it */
void sampler_tell_codes_again(struct sampler *s)
{
	__atomic_add_fetch(&s->bpf->bss->code_generation, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&s->bpf->bss->generation, 1, __ATOMIC_SEQ_CST);
}

const struct unwind_table *sampler_next_table(struct sampler *s)
{
	return table_maps_next(s->tables);
}

uint32_t sampler_table_round(const struct sampler *s)
{
	return s->n_cleared + 1;
}

/* Programs that run now may need less room than all that ran since. */
static void make_room(struct sampler *s, uint64_t now_ns)
{
	if (now_ns - s->cleared_ns < TABLES_KEPT_NS || !table_maps_lack_room(s->tables) ||
	    !table_maps_clear(s->tables))
		return;
	s->cleared_ns = now_ns;
	s->n_cleared++;
}

/* Reading. */

void sampler_turn(struct sampler *s, uint64_t now_ns)
{
	uint32_t epoch = s->bpf->bss->epoch;

	make_room(s, now_ns);
	/* Values of labels can be new in each request of a server. */
	if (s->now.frames.n + s->now.labels.n * sizeof(*s->now.labels.data) / sizeof(uint64_t) >
	    s->max_words) {
		stacks_fini(&s->before);
		s->before = s->now;
		s->now = (struct stacks){ 0 };
		__atomic_add_fetch(&s->bpf->bss->generation, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&s->bpf->bss->epoch, epoch + 1, __ATOMIC_SEQ_CST);
}

/* Takes all entries out of the map that the program does not write to now. */
static int collect_counts(struct sampler *s, struct error *err)
{
	struct bpf_map *map =
		s->bpf->bss->epoch & 1 ? s->bpf->maps.counts_even : s->bpf->maps.counts_odd;
	uint64_t cursor = 0;
	void *in = NULL;
	int e;

	s->all_keys.n = s->all_values.n = 0;
	do {
		uint32_t n = BATCH;

		e = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), in, &cursor, s->keys,
						    s->values, &n, NULL);
		if (e < 0 && e != -ENOENT)
			return error_errno(err, e, "cannot read the in-kernel counts");
		for (uint32_t i = 0; i < n; i++) {
			vec_push(&s->all_keys, s->keys[i]);
			vec_push(&s->all_values, s->values[i]);
		}
		in = &cursor;
	} while (!e);
	return 0;
}

void sampler_visit(struct sampler *s, struct sampler_visitor *visitor, const struct count_key *key,
		   const struct count_value *value, uint64_t time_ns)
{
	struct sampler_count count = {
		.pid = (int32_t)key->pid,
		.tid = (int32_t)key->tid,
		.cpu = key->cpu,
		.counter = key->counter,
		.app = key->app,
		.comm = key->comm,
		.cgroup = key->cgroup,
		.stack = key->stack,
		.samples = value->samples,
		.period = value->period,
		.time_ns = time_ns,
		.waker = key->waker,
		.detail = key->detail,
	};

	sampler_find_frames(s, &count);
	if (!visitor->count(visitor, &count))
		s->n_unknown += count.samples;
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->messages);
}

int sampler_poll(struct sampler *s, struct sampler_visitor *visitor, size_t most_bytes,
		 struct error *err)
{
	int e;

	s->visitor = visitor;
	s->poll_left = MIN(s->messages_bytes, most_bytes);
	e = s->times ? ring_buffer__consume(s->times) : 0;
	if (e >= 0 || e == -EAGAIN)
		e = ring_buffer__consume(s->messages);
	return e < 0 && e != -EAGAIN
		       ? error_errno(err, e, "cannot read the in-kernel sampler's messages")
		       : 0;
}

/* Later ones belong to the next second. */
static void visit_timed(struct sampler *s, uint64_t until_ns, struct sampler_visitor *visitor)
{
	size_t kept = 0;

	vec_foreach (&s->timed, m) {
		const struct count_value one = { 1, m->period };

		if (m->time_ns > until_ns)
			s->timed.data[kept++] = *m;
		else
			sampler_visit(s, visitor, &m->key, &one, m->time_ns);
	}
	s->timed.n = kept;
}

int sampler_read(struct sampler *s, uint64_t until_ns, struct sampler_visitor *visitor,
		 struct error *err)
{
	int e = collect_counts(s, err);

	if (e < 0)
		return e;
	/* a stack is sent before its first count: after the counts, all are there */
	e = sampler_poll(s, visitor, SIZE_MAX, err);
	if (e < 0)
		return e;
	for (size_t i = 0; i < s->all_keys.n; i++)
		sampler_visit(s, visitor, &s->all_keys.data[i], &s->all_values.data[i], 0);
	visit_timed(s, until_ns, visitor);
	return 0;
}
