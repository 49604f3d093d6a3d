/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/intmap.h"
#include "collect/cgroup.h"
#include "collect/kernel_btf.h"
#include "collect/load_log.h"
#include "collect/missed.h"
#include "collect/table_maps.h"
#include "collect/sampler_limits.h"
#include "counter/pace.h"
#include "counter/sources.h"
#include "unwind/stop_loss.h"
#include "collect/sampler.skel.h"
#include "machine/cgroup_domain.h"

/* A second at the highest requested rate, and room for bursts of several counters. */
#define COUNTS_MIN 8192
#define COUNTS_MAX (4u << 20)

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

#define FILES_ENTRIES MAX_FILES
#define BATCH         4096

/* The ring is mapped twice, so it should not be larger than the rate needs. */
#define MESSAGES_MIN_BYTES  (1u << 20)
#define MESSAGES_LEAST_RATE 64u

/* Beyond this multiple of the rate that the maps were made for, they must be made anew. */
#define MADE_FOR_TIMES 4

/* Threads that are away at once, and followed processes. */
#define WAITS_ENTRIES   65536
#define TARGETS_ENTRIES 65536

/* If more tables are in use than fit, tables without room are built again and again. */
#define TABLES_KEPT_NS 60000000000ULL

/*
 * Stacks are kept packed in one array. A new generation begins at this size, which is the most that
 * a minute can bring. At a low rate, keeping more costs memory and saves little.
 */
#define STACKS_MAX_WORDS ((uint64_t)2 << 20)
#define STACKS_MIN_WORDS ((uint64_t)1 << 17)
#define USUAL_FRAMES     64

struct known_stack {
	uint32_t at; /* of its first frame */
	uint16_t n_kernel, n_user;
	uint32_t fit;
};

/* The stacks of one generation, by hash. */
struct stacks {
	VEC(uint64_t) frames;
	VEC(struct known_stack) list;
	struct intmap by_hash;
};

/* A counter's value, and its samples, at the last check. */
struct missed_base {
	uint64_t counted, samples, period;
};

struct sampler {
	struct sampler_config config;
	struct sampler_waits waits; /* the target of its pointer */
	struct sampler_bpf *bpf;
	VEC(int) fds;
	VEC(uint32_t) counter_of_fd;
	VEC(struct bpf_link *) links, switch_links;
	struct stacks now, before;       /* of this generation and the one before */
	struct sampler_visitor *visitor; /* while messages are read */
	struct ring_buffer *messages;
	struct table_maps *tables;
	struct count_key *keys; /* a batch */
	struct count_value *values;
	VEC(struct count_key) all_keys;
	VEC(struct count_value) all_values;
	uint64_t losses[N_SAMPLER_COUNTERS]; /* the program's numbers at the last reading */
	uint64_t n_unknown;                  /* samples whose stack never came, not reported yet */
	uint32_t n_cleared;
	bool is_paused;
	uint32_t counts_room; /* entries of each map of counts */
	uint32_t messages_bytes;
	uint64_t max_words;            /* of stacks, in a generation */
	size_t n_polled_bytes;         /* in this sampler_poll() */
	uint64_t made_for_hz;          /* the rate that the maps were made for */
	VEC(struct missed_base) bases; /* by counter: sampler_collect_missed() */
	uint64_t cleared_ns;           /* time of the last clearing of tables */
};

static void stacks_fini(struct stacks *s)
{
	vec_fini(&s->frames);
	vec_fini(&s->list);
	intmap_fini(&s->by_hash);
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

	s->n_polled_bytes += size;
	if (size >= sizeof(struct file_message) && stack->type == MESSAGE_FILE) {
		sampler_visit_file(s, data);
	} else if (size >= offsetof(struct raw_stack_message, stack) &&
		   stack->type == MESSAGE_RAW_STACK) {
		s->visitor->raw(s->visitor, data);
	} else if (size >= offsetof(struct code_message, code.lines) &&
		   stack->type == MESSAGE_CODE) {
		const struct code_message *m = data;

		s->visitor->code(s->visitor, (int32_t)m->pid, &m->code);
	} else if (size >= offsetof(struct stack_message, frames) && stack->type == MESSAGE_STACK) {
		keep_stack(s, stack);
	}
	/* new messages during the reading could keep us here for ever */
	return s->n_polled_bytes < s->messages_bytes ? 0 : -EAGAIN;
}

/* Opening. */

/* libbpf's warnings while programs are loaded; libbpf prints without a context. NULL: not now. */
static struct buf *load_messages;

static int __attribute__((format(printf, 2, 0)))
take_message(enum libbpf_print_level level, const char *format, va_list ap)
{
	char *text;

	if (!load_messages || level != LIBBPF_WARN || vasprintf(&text, format, ap) < 0)
		return 0;
	buf_str(load_messages, text); /* with a verifier's log: megabytes */
	free(text);
	return 0;
}

/* Permissions and features were checked before: this is a fault of the program or of the kernel. */
static int explain_load(int code, struct buf *messages, struct error *err)
{
	char reason[512];

	load_log_reason(buf_cstr(messages), reason, sizeof(reason));
	return error_set(err, code, "the kernel refuses assay's BPF program (%s)%s%s",
			 strerror(-code), *reason ? ": " : "", reason);
}

/* `types_fd`: the file with the kernel's types for libbpf; -1: libbpf finds one itself. */
static int load_programs(struct sampler_bpf *b, int types_fd, struct error *err)
{
	struct buf messages = { 0 };
	int e = 0;

	load_messages = &messages;
	if (types_fd >= 0)
		e = kernel_btf_write(KERNEL_BTF_PATH, bpf_object__btf(b->obj), types_fd);
	if (e == 0)
		e = sampler_bpf__load(b);
	load_messages = NULL;
	if (e < 0)
		explain_load(e, &messages, err);
	buf_fini(&messages);
	return e;
}

/* Samples a second on all CPUs; a counter by count is assumed to have a high rate. */
static uint64_t samples_a_second(const struct sampler_config *c)
{
	uint64_t rate = 0;

	for (size_t i = 0; i < c->counters->n; i++)
		rate += c->counters->data[i].attr.freq ? c->counters->data[i].attr.sample_freq
						       : 10000;
	return rate * c->cpus->n;
}

static uint32_t counts_entries(const struct sampler_config *c)
{
	/* each sample makes at most one entry */
	uint64_t rate = samples_a_second(c);

	if (c->waits) /* waits of a millisecond or more are few */
		rate += (c->waits->min_ns < 1000000 ? 50000 : 10000) * c->cpus->n;
	rate = rate * 3 / 2;
	return (uint32_t)MIN(MAX(rate, COUNTS_MIN), COUNTS_MAX);
}

/* The maps of waits are loaded only with them. */
static void prepare_waits(struct sampler_bpf *b, const struct sampler_config *c)
{
	const struct sampler_waits *w = c->waits;

	bpf_program__set_autoload(b->progs.sample, c->counters->n > 0);
	bpf_program__set_autoload(b->progs.switched, w != NULL);
	bpf_program__set_autoload(b->progs.forked, w && w->n_targets && !w->targets_are_threads);
	bpf_map__set_max_entries(b->maps.waits, w ? WAITS_ENTRIES : 1);
	bpf_map__set_max_entries(b->maps.targets, w && w->n_targets ? TARGETS_ENTRIES : 1);
	if (!w)
		return;
	b->rodata->waits_of_targets = w->n_targets > 0;
	b->rodata->targets_are_threads = w->targets_are_threads;
	b->rodata->waits_min_ns = w->min_ns;
	b->rodata->waits_counter = w->first_counter;
}

static uint64_t stacks_max_words(const struct sampler_config *c)
{
	uint64_t of_a_minute = samples_a_second(c) * 60 * USUAL_FRAMES;

	return MIN(MAX(of_a_minute, STACKS_MIN_WORDS), STACKS_MAX_WORDS);
}

/* For half a second, in which all stacks may be raw. */
static uint32_t messages_bytes(const struct sampler_config *c, uint32_t most)
{
	uint64_t rate = c->waits ? UINT32_MAX : MAX(samples_a_second(c), MESSAGES_LEAST_RATE);
	uint32_t bytes = MESSAGES_MIN_BYTES;

	while (bytes < most && bytes < rate * sizeof(struct raw_stack_message) / 2)
		bytes *= 2;
	return MIN(bytes, most);
}

static int sampler_load(struct sampler *s, const struct sampler_config *c, struct error *err)
{
	struct sampler_limits limits = sampler_limits(c->cpus->n);
	cleanup(close_at_exit) int types_fd = memfd_create("kernel-types", MFD_CLOEXEC);
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	struct sampler_bpf *b;
	char types_path[32];
	int e;

	libbpf_set_print(take_message);
	snprintf(types_path, sizeof(types_path), "/proc/self/fd/%d", types_fd);
	opts.btf_custom_path = types_fd >= 0 ? types_path : NULL;
	s->bpf = b = sampler_bpf__open_opts(&opts);
	if (!b)
		return error_errno(err, -errno, "cannot open the in-kernel sampler");
	b->rodata->with_stacks = c->with_stacks;
	b->rodata->by_frame_pointer = c->by_frame_pointer;
	b->rodata->own_pid_namespace = c->pid_namespace;
	b->rodata->with_cgroup_v1 = cgroup_has_v1();
	b->rodata->page_shift = (uint32_t)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	limits.counts = limits.counts ? limits.counts : counts_entries(c);
	s->counts_room = limits.counts;
	s->made_for_hz = samples_a_second(c) / MAX(c->cpus->n, 1u);
	bpf_map__set_max_entries(b->maps.counts_even, limits.counts);
	bpf_map__set_max_entries(b->maps.counts_odd, limits.counts);
	bpf_map__set_max_entries(b->maps.overflows, MAX((uint32_t)c->counters->n, 1u));
	bpf_map__set_max_entries(b->maps.seen, limits.seen);
	bpf_map__set_max_entries(b->maps.files, FILES_ENTRIES);
	bpf_map__set_max_entries(b->maps.table_places, MAX_FILES);
	bpf_map__set_max_entries(b->maps.chunks, limits.chunks);
	s->messages_bytes = messages_bytes(c, limits.messages);
	s->max_words = limits.stacks ? limits.stacks
		       : c->waits    ? STACKS_MAX_WORDS
				     : stacks_max_words(c);
	bpf_map__set_max_entries(b->maps.messages, s->messages_bytes);
	prepare_waits(b, c);
	b->rodata->is_to_be_refused = limits.refuse;
	usleep(limits.load_ms * 1000);
	e = load_programs(b, types_fd, err);
	if (e < 0)
		return e;
	s->messages = ring_buffer__new(bpf_map__fd(b->maps.messages), read_message, s, NULL);
	if (!s->messages)
		return error_errno(err, -errno, "cannot map the sampler's messages");
	return table_maps_open(bpf_map__fd(b->maps.chunks), limits.chunks,
			       bpf_map__fd(b->maps.table_places), &s->tables, err);
}

/*
 * The leader of a counter's group, among those opened from `first` on; -1: it leads, or is alone.
 */
static int sampler_leader_of(const struct sampler *s, size_t counter, size_t first)
{
	const struct counter *counters = s->config.counters->data;

	for (size_t i = first; counters[counter].group && i < s->fds.n; i++)
		if (counters[s->counter_of_fd.data[i]].group == counters[counter].group)
			return s->fds.data[i];
	return -1;
}

/* Whom a counter is opened for: everything on a CPU, or a thread wherever it runs. */
struct place {
	int32_t tid; /* -1: all */
	int32_t cpu; /* -1: all */
};

static int sampler_explain_refusal(const struct sampler_config *c, size_t counter,
				   struct place place, int leader, int code, struct error *err)
{
	cleanup(close_at_exit) int alone =
		leader < 0 ? -1
			   : sources_open(c->sources, &c->counters->data[counter].attr, place.tid,
					  place.cpu);

	if (alone >= 0)
		return counter_explain_group(c->counters, counter, code, err);
	return counter_explain(c->sources, &c->counters->data[counter], code, err);
}

/* Opens a counter at a place, whose counters are those from descriptor `first` on. */
static int attach_counter(struct sampler *s, const struct sampler_config *c, size_t counter,
			  struct place place, size_t first, struct error *err)
{
	struct perf_event_attr a = pace_attr(&c->counters->data[counter]);
	LIBBPF_OPTS(bpf_perf_event_opts, opts, .bpf_cookie = counter); /* zeroes the padding */
	int fd, leader = sampler_leader_of(s, counter, first);
	struct bpf_link *link;

	a.size = sizeof(a);
	a.disabled = 1;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.inherit = place.tid >= 0 && c->inherit;
	a.enable_on_exec = place.tid >= 0 && c->enable_on_exec;
	fd = perf_system.open(NULL, &a, place.tid, place.cpu, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd == -ENODEV || (fd == -ESRCH && place.tid >= 0)) /* offline, or ended, meanwhile */
		return 0;
	if (fd < 0)
		return sampler_explain_refusal(c, counter, place, leader, fd, err);
	link = bpf_program__attach_perf_event_opts(s->bpf->progs.sample, fd, &opts);
	if (!link) {
		int e = -errno;

		close(fd);
		return error_errno(err, e, "cannot attach the in-kernel sampler to '%s'",
				   c->counters->data[counter].name);
	}
	if (s->is_paused || a.enable_on_exec) /* attaching has enabled it */
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	vec_push(&s->fds, fd); /* the link's own from here on */
	vec_push(&s->counter_of_fd, (uint32_t)counter);
	vec_push(&s->links, link);
	return 0;
}

static int attach_tracepoint(struct sampler *s, const struct bpf_program *program,
			     struct error *err)
{
	struct bpf_link *link = bpf_program__attach(program);

	if (!link)
		return error_errno(err, -errno,
				   "cannot follow the scheduler's tracepoints, which are reached "
				   "through tracefs: /sys/kernel/tracing must be mounted, and is "
				   "root's alone, whatever the capabilities");
	vec_push(&s->switch_links, link);
	return 0;
}

/* Forks first, so that no child of a target is missed. */
static int attach_waits(struct sampler *s, const struct sampler_config *c, struct error *err)
{
	const struct sampler_waits *w = c->waits;
	uint8_t one = 1;
	int e = 0;

	for (size_t i = 0; w && i < w->n_targets; i++)
		bpf_map_update_elem(bpf_map__fd(s->bpf->maps.targets), &w->targets[i], &one,
				    BPF_ANY);
	if (w && w->n_targets && !w->targets_are_threads)
		e = attach_tracepoint(s, s->bpf->progs.forked, err);
	if (w && !e)
		e = attach_tracepoint(s, s->bpf->progs.switched, err);
	return e;
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
	e = sampler_load(s, c, err);
	if (e < 0)
		return e;
	s->keys = xcalloc(BATCH, sizeof(*s->keys));
	s->values = xcalloc(BATCH, sizeof(*s->values));
	*out = take_ptr(s);
	return 0;
}

int sampler_cpu_online(struct sampler *s, uint32_t cpu, struct error *err)
{
	const struct sampler_config *c = &s->config;
	size_t first = s->fds.n;
	int e = 0;

	for (size_t k = 0; !e && k < c->counters->n; k++)
		if (counter_is_on_cpu(&c->counters->data[k], cpu))
			e = attach_counter(s, c, k, (struct place){ -1, (int32_t)cpu }, first, err);
	return e;
}

static int attach_threads(struct sampler *s, struct error *err)
{
	const struct sampler_config *c = &s->config;
	int e = 0;

	for (size_t i = 0; !e && i < c->n_tids; i++)
		for (size_t k = 0; !e && k < c->counters->n; k++)
			e = attach_counter(s, c, k, (struct place){ c->tids[i], -1 }, s->fds.n,
					   err);
	return e;
}

int sampler_start(struct sampler *s, struct error *err)
{
	const struct sampler_config *c = &s->config;
	int e = c->n_tids ? attach_threads(s, err) : 0;

	for (size_t i = 0; !e && !c->n_tids && i < c->cpus->n; i++)
		e = sampler_cpu_online(s, c->cpus->data[i], err);
	return e ? e : attach_waits(s, c, err);
}

static void detach_waits(struct sampler *s)
{
	vec_foreach (&s->switch_links, link)
		bpf_link__destroy(*link);
	vec_fini(&s->switch_links);
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	detach_waits(s);
	vec_foreach (&s->links, link)
		bpf_link__destroy(*link);
	vec_fini(&s->links);
	vec_fini(&s->fds);
	vec_fini(&s->counter_of_fd);
	vec_fini(&s->bases);
	ring_buffer__free(s->messages);
	table_maps_close(s->tables);
	sampler_bpf__destroy(s->bpf);
	stacks_fini(&s->now);
	stacks_fini(&s->before);
	vec_fini(&s->all_keys);
	vec_fini(&s->all_values);
	free(s->keys);
	free(s->values);
	free(s);
}

void sampler_disable(struct sampler *s)
{
	vec_foreach (&s->fds, fd)
		ioctl(*fd, PERF_EVENT_IOC_DISABLE, 0);
	detach_waits(s);
	table_maps_stop(s->tables);
}

int sampler_pause(struct sampler *s, bool is_paused, struct error *err)
{
	s->is_paused = is_paused;
	vec_foreach (&s->fds, fd)
		ioctl(*fd, is_paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
	if (!is_paused)
		return attach_waits(s, &s->config, err);
	detach_waits(s);
	return 0;
}

int sampler_set_rate(struct sampler *s, size_t counter, uint64_t rate, uint64_t period,
		     struct error *err)
{
	const struct counter *c = &s->config.counters->data[counter];

	if (c->attr.freq && (rate * s->config.cpus->n * 3 / 2 > s->counts_room ||
			     rate > MADE_FOR_TIMES * s->made_for_hz))
		return error_set(err, -E2BIG,
				 "the in-kernel sampler was made for fewer than %" PRIu64
				 " samples of '%s' a second",
				 rate, c->name);
	for (size_t i = 0; i < s->fds.n; i++)
		if (s->counter_of_fd.data[i] == counter &&
		    ioctl(s->fds.data[i], PERF_EVENT_IOC_PERIOD, &period) < 0)
			return error_errno(err, -errno, "cannot set the rate of counter '%s'",
					   c->name);
	return 0;
}

/* Tables. */

void sampler_set_table(struct sampler *s, uint32_t file, const struct unwind_table *table)
{
	table_maps_set(s->tables, file, table);
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

void sampler_set_runtime(struct sampler *s, uint32_t file, const struct lang_runtime *runtime)
{
	if (!bpf_map_update_elem(bpf_map__fd(s->bpf->maps.runtimes), &file, runtime, BPF_ANY))
		s->bpf->bss->has_runtimes = 1;
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
	if (s->now.frames.n > s->max_words) {
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

static void visit_counts(struct sampler *s, struct sampler_visitor *visitor,
			 const struct count_key *key, const struct count_value *value)
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
	};
	const struct known_stack *stack = find_stack(s, key->stack, &count.frames);

	if (stack) {
		count.n_kernel = stack->n_kernel;
		count.n_user = stack->n_user;
		count.fit = (enum language_fit)stack->fit;
	}
	if (!visitor->count(visitor, &count))
		s->n_unknown += count.samples;
}

int sampler_fd(const struct sampler *s)
{
	return ring_buffer__epoll_fd(s->messages);
}

int sampler_poll(struct sampler *s, struct sampler_visitor *visitor, struct error *err)
{
	int e;

	s->visitor = visitor;
	s->n_polled_bytes = 0;
	e = ring_buffer__consume(s->messages);
	return e < 0 && e != -EAGAIN
		       ? error_errno(err, e, "cannot read the in-kernel sampler's messages")
		       : 0;
}

int sampler_read(struct sampler *s, struct sampler_visitor *visitor, struct error *err)
{
	int e = collect_counts(s, err);

	if (e < 0)
		return e;
	/* a stack is sent before its first count: after the counts, all are there */
	e = sampler_poll(s, visitor, err);
	if (e < 0)
		return e;
	for (size_t i = 0; i < s->all_keys.n; i++)
		visit_counts(s, visitor, &s->all_keys.data[i], &s->all_values.data[i]);
	return 0;
}

int sampler_read_waits(struct sampler *s, uint64_t now_ns, struct sampler_visitor *visitor,
		       struct error *err)
{
	int map = bpf_map__fd(s->bpf->maps.waits);
	uint32_t tid, *before = NULL;
	struct wait wait;

	while (bpf_map_get_next_key(map, before, &tid) == 0) {
		before = &tid;
		if (bpf_map_lookup_elem(map, &tid, &wait) < 0)
			return error_errno(err, -errno, "cannot read the in-kernel waits");
		struct count_key key = {
			.stack = wait.stack,
			.pid = wait.pid,
			.tid = tid,
			.app = wait.app,
			.cgroup = wait.cgroup,
			.counter = (uint16_t)(s->bpf->rodata->waits_counter + wait.state),
		};
		struct count_value value = { 1, now_ns - wait.start_ns };

		memcpy(key.comm, wait.comm, sizeof(key.comm));
		if (now_ns > wait.start_ns && value.period >= s->bpf->rodata->waits_min_ns)
			visit_counts(s, visitor, &key, &value);
	}
	return 0;
}

void sampler_put_wait(struct sampler *s, int32_t tid, const struct wait *wait)
{
	bpf_map_update_elem(bpf_map__fd(s->bpf->maps.waits), &tid, wait, BPF_NOEXIST);
}

void sampler_drop_wait(struct sampler *s, int32_t tid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.waits), &tid);
}

static uint64_t read_loss(const struct sampler *s, uint32_t which)
{
	uint64_t values[1024] = { 0 }, sum = 0;
	int n = libbpf_num_possible_cpus();

	if (n <= 0 || n > 1024 ||
	    bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.losses), &which, values) < 0)
		return 0;
	for (int i = 0; i < n; i++)
		sum += values[i];
	return sum;
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
	};
	/* Each language has the same losses, in the order of enum language_loss. */
	static const enum loss_reason of_language[N_LANGUAGES] = {
#define X(id, key, name) [LANGUAGE_##id] = LOSS_##id##_STATE,
		LANGUAGES(X)
#undef X
	};

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

void sampler_collect_missed(struct sampler *s,
			    void (*lose)(void *context, enum loss_reason reason, uint32_t counter,
					 uint64_t n),
			    void *context)
{
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
		if (n)
			lose(context, LOSS_THROTTLED_SAMPLES, k, n);
	}
}
