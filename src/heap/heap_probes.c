/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "collect/program_load.h"
#include "collect/sampler.h"
#include "collect/sampler_limits.h"
#include "collect/sampler_support.h"
#include "counter/sources.h"
#include "counter/uprobe.h"
#include "heap/allocators.h"
#include "heap/bpf/heap_message.h"
#include "heap/heap.skel.h"
#include "heap/returns.h"

#define BLOCKS_MAX    (256u << 10)
#define MESSAGE_BYTES (16u << 20)

struct heap_probes {
	struct heap_bpf *bpf;
	struct ring_buffer *messages;
	VEC(struct bpf_link *) links;
	VEC(char *) images;           /* the files that have probes */
	struct heap_records *records; /* while messages are read */
	uint64_t n_bad;               /* likewise */
	uint64_t counts[N_HEAP_COUNTS];
};

/* Messages. */

static bool read_allocated(const struct heap_message *m, size_t size, struct heap_record *r)
{
	uint64_t skip, n_bytes = (uint64_t)m->head.n_pages * HEAP_PROBE_PAGE;

	if (size < sizeof(*m) || m->head.n_pages > HEAP_PROBE_PAGES)
		return false;
	r->bytes = MIN(MAX(r->bytes, 1), HEAP_BYTES_MAX);
	r->mapping = m->head.mapping;
	r->is_untracked = m->head.is_untracked;
	skip = m->regs[HEAP_SP_AT] % HEAP_PROBE_PAGE;
	r->stack_bytes = n_bytes ? (uint32_t)(n_bytes - skip) : 0;
	r->copy = xmalloc(sizeof(m->regs) + r->stack_bytes);
	memcpy(r->copy, m->regs, sizeof(m->regs));
	if (n_bytes)
		memcpy(r->copy + HEAP_REGISTERS, (const uint8_t *)m->stack + skip, r->stack_bytes);
	return true;
}

static int read_heap_message(void *context, void *data, size_t size)
{
	static const enum heap_record_kind kinds[] = {
		[HEAP_MESSAGE_ALLOCATED] = HEAP_ALLOCATED,
		[HEAP_MESSAGE_RELEASED] = HEAP_RELEASED,
		[HEAP_MESSAGE_UNMAPPED] = HEAP_UNMAPPED,
	};
	const struct heap_message *m = data;
	struct heap_probes *p = context;
	struct heap_record r;

	if (size < sizeof(m->head) || !m->head.kind || m->head.kind >= ARRAY_SIZE(kinds) ||
	    (int32_t)m->head.pid <= 0) {
		p->n_bad++;
		return 0;
	}
	r = (struct heap_record){
		.kind = kinds[m->head.kind],
		.pid = (int32_t)m->head.pid,
		.tid = (int32_t)m->head.tid,
		.cpu = m->head.cpu,
		.time_ns = m->head.time_ns,
		.id = m->head.id,
		.bytes = m->head.bytes,
		.last_id = m->head.last_id,
	};
	if (r.kind != HEAP_ALLOCATED || read_allocated(m, size, &r))
		vec_push(p->records, r);
	else
		p->n_bad++;
	return 0;
}

uint64_t heap_probes_collect(struct heap_probes *p, struct heap_records *out)
{
	size_t before = out->n;

	p->records = out;
	p->n_bad = 0;
	ring_buffer__consume(p->messages);
	p->records = NULL;
	heap_records_sort(out, before, 0);
	return p->n_bad;
}

static uint64_t sum_count(const struct heap_probes *p, uint32_t which)
{
	int n_cpus = libbpf_num_possible_cpus();
	uint64_t *values = xcalloc((size_t)MAX(n_cpus, 1), sizeof(*values)), sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(p->bpf->maps.heap_counts), &which, values) == 0)
		for (int i = 0; i < n_cpus; i++)
			sum += values[i];
	free(values);
	return sum;
}

static uint64_t take_lost(struct heap_probes *p, enum heap_probe_count which)
{
	uint64_t now = sum_count(p, which), n = now - p->counts[which];

	p->counts[which] = now;
	return n;
}

struct heap_ring_losses heap_probes_take_losses(struct heap_probes *p)
{
	return (struct heap_ring_losses){ take_lost(p, HEAP_COUNT_LOST_SAMPLES),
					  take_lost(p, HEAP_COUNT_LOST_NOTES) };
}

uint64_t heap_probes_calls(const struct heap_probes *p)
{
	return sum_count(p, HEAP_COUNT_CALLS);
}

/* Opening. */

static int check_rights(struct error *err)
{
	static const struct counter_sources here;
	char why[640];
	int e = uprobe_check(
		&here, "--alloc of a running process, or of a static, set-uid or musl program",
		err);

	if (e == 0 && !sampler_is_available(&here, why, sizeof(why)))
		e = error_set(
			err, -EACCES,
			"--alloc of a running process, or of a static, set-uid or musl program, "
			"needs a BPF program: %s",
			why);
	return e;
}

static void set_constants(struct heap_bpf *b, uint64_t mean_bytes)
{
	struct sampler_limits limits = sampler_limits(1);
	uint32_t *parts = (uint32_t *)b->rodata->log2_parts;

	b->rodata->own_pid_namespace = sources_pid_namespace(NULL);
	b->rodata->mean_by_ln2 = (uint64_t)((double)mean_bytes * M_LN2 + 0.5);
	for (int i = 0; i <= HEAP_PROBE_LOG_PARTS; i++)
		parts[i] = (uint32_t)(log2(1 + i / (double)HEAP_PROBE_LOG_PARTS) *
					      (1u << HEAP_PROBE_LOG_SHIFT) +
				      0.5);
	bpf_map__set_max_entries(b->maps.heap_blocks, limits.blocks ? limits.blocks : BLOCKS_MAX);
	bpf_map__set_max_entries(b->maps.heap_messages,
				 limits.allocations ? limits.allocations : MESSAGE_BYTES);
}

static int load_probes(struct heap_probes *p, uint64_t mean_bytes, struct error *err)
{
	char types_path[32];
	cleanup(close_at_exit) int types_fd = program_types(types_path);
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = types_fd >= 0 ? types_path : NULL);
	int e;

	p->bpf = heap_bpf__open_opts(&opts);
	if (!p->bpf)
		return error_errno(err, -errno, "cannot open the probes of --alloc");
	set_constants(p->bpf, mean_bytes);
	e = program_load(p->bpf->skeleton, types_fd, err);
	if (e < 0)
		return e;
	p->messages = ring_buffer__new(bpf_map__fd(p->bpf->maps.heap_messages), read_heap_message,
				       p, NULL);
	return p->messages ? 0 : error_errno(err, -errno, "the ring of --alloc");
}

int heap_probes_open(uint64_t mean_bytes, struct heap_probes **out, struct error *err)
{
	struct heap_probes *p = NULL;
	int e = check_rights(err);

	if (e < 0)
		return e;
	p = xcalloc(1, sizeof(*p));
	e = load_probes(p, mean_bytes, err);
	if (e < 0)
		heap_probes_free(p);
	else
		*out = p;
	return MIN(e, 0);
}

/* The kernel takes 0.1 s for each, one after the other, whoever closes them. */
void heap_probes_detach(struct heap_probes *p)
{
	vec_foreach (&p->links, link)
		bpf_link__destroy(*link);
	p->links.n = 0;
}

void heap_probes_free(struct heap_probes *p)
{
	if (!p)
		return;
	heap_probes_detach(p);
	vec_fini(&p->links);
	vec_foreach (&p->images, image)
		free(*image);
	vec_fini(&p->images);
	ring_buffer__free(p->messages);
	heap_bpf__destroy(p->bpf);
	free(p);
}

/* Probes. */

static int attach_probe(struct heap_probes *p, int32_t pid, const struct allocator_place *place,
			bool is_return, struct error *err)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = place->function, .retprobe = is_return);
	struct bpf_link *link =
		bpf_program__attach_uprobe_opts(is_return ? p->bpf->progs.heap_returned
							  : p->bpf->progs.heap_called,
						pid, place->path, place->file_off, &opts);

	if (!link)
		return error_errno(err, -errno, "--alloc: no probe can be placed in %s",
				   place->path);
	vec_push(&p->links, link);
	return 0;
}

bool heap_probes_are_in(const struct heap_probes *p, const char *image)
{
	vec_foreach (&p->images, known)
		if (!strcmp(*known, image))
			return true;
	return false;
}

/* Returns first: a call that is seen is seen to return. */
static int attach_places(struct heap_probes *p, int32_t pid, const struct allocator_places *places,
			 struct error *err)
{
	int e = 0;

	for (size_t i = 0; i < places->n && e == 0; i++)
		if (places->data[i].function < HEAP_FUNCTION_FREE)
			e = attach_probe(p, pid, &places->data[i], true, err);
	for (size_t i = places->n; i-- && e == 0;)
		e = attach_probe(p, pid, &places->data[i], false, err);
	vec_foreach (places, place)
		if (e == 0 && !heap_probes_are_in(p, place->image))
			vec_push(&p->images, xstrdup(place->image));
	return e;
}

int heap_probes_attach(struct heap_probes *p, int32_t tid, struct error *err)
{
	struct allocator_places places = { 0 };
	int e = returns_check("/proc", tid, err);

	if (e == 0)
		e = allocator_places_of_process(tid, &places, err);
	if (e == 0)
		e = attach_places(p, tid, &places, err);
	allocator_places_fini(&places);
	return e;
}

int heap_probes_attach_later(struct heap_probes *p, int32_t pid, char *const *files, size_t n_files,
			     struct error *err)
{
	struct allocator_places places = { 0 };
	int e = returns_check("/proc", pid, err);

	if (e == 0)
		e = allocator_places_of_files(files, n_files, &places, err);

	if (e == 0)
		e = attach_places(p, pid, &places, err);
	allocator_places_fini(&places);
	return e;
}
