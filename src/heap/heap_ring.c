/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/heap_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

struct heap_ring {
	int fd;
	char path[64];
	struct heap_shared *shared;
	uint64_t lost_samples, lost_notes; /* as read before */
	uint64_t looked_ns;                /* for places whose writer has ended */
	uint64_t opened_ns;
};

static int ring_map(struct heap_ring *r, struct error *err)
{
	r->fd = memfd_create("assay-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (r->fd < 0 || ftruncate(r->fd, sizeof(struct heap_shared)) < 0 ||
	    fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return error_errno(err, -errno, "memory for the records of --alloc");
	r->shared = mmap(NULL, sizeof(struct heap_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
			 r->fd, 0);
	if (r->shared == MAP_FAILED) {
		r->shared = NULL;
		return error_errno(err, -errno, "memory for the records of --alloc");
	}
	return 0;
}

int heap_ring_open(uint64_t mean_bytes, struct heap_ring **out, struct error *err)
{
	struct heap_ring *r = xcalloc(1, sizeof(*r));
	int e = ring_map(r, err);

	if (e < 0) {
		heap_ring_free(r);
		return e;
	}
	snprintf(r->path, sizeof(r->path), "/proc/%d/fd/%d", (int)getpid(), r->fd);
	r->shared->mean_bytes = mean_bytes;
	r->shared->reader = (int32_t)getpid();
	r->opened_ns = clock_monotonic_ns();
	r->shared->magic = HEAP_MAGIC;
	*out = r;
	return 0;
}

void heap_ring_free(struct heap_ring *r)
{
	if (!r)
		return;
	if (r->shared) {
		r->shared->is_closed = 1;
		munmap(r->shared, sizeof(*r->shared));
	}
	close_at_exit(&r->fd);
	free(r);
}

const char *heap_ring_path(const struct heap_ring *r)
{
	return r->path;
}

void heap_records_fini(struct heap_records *r)
{
	vec_foreach (r, record)
		free(record->copy);
	vec_fini(r);
}

/* Checks. */

bool heap_slot_read(const struct heap_slot *slot, struct heap_record *out)
{
	if (slot->pid <= 0 || slot->tid <= 0 || !slot->id || slot->bytes > HEAP_BYTES_MAX ||
	    slot->stack_bytes > HEAP_STACK_BYTES)
		return false;
	*out = (struct heap_record){
		.kind = HEAP_ALLOCATED,
		.pid = slot->pid,
		.tid = slot->tid,
		.cpu = slot->cpu,
		.time_ns = slot->time_ns,
		.id = slot->id,
		.bytes = MAX(slot->bytes, 1),
		.mapping = slot->mapping,
		.is_untracked = slot->is_untracked,
		.stack_bytes = slot->stack_bytes,
	};
	out->copy = xmalloc(sizeof(slot->regs) + slot->stack_bytes);
	memcpy(out->copy, slot->regs, sizeof(slot->regs));
	memcpy(out->copy + HEAP_REGISTERS, slot->stack, slot->stack_bytes);
	return true;
}

bool heap_note_read(const struct heap_note *note, struct heap_record *out)
{
	static const enum heap_record_kind kinds[] = {
		[HEAP_NOTE_RELEASED] = HEAP_RELEASED,
		[HEAP_NOTE_STARTED] = HEAP_STARTED,
		[HEAP_NOTE_UNMAPPED] = HEAP_UNMAPPED,
	};

	if (note->pid <= 0 || !note->kind || note->kind >= ARRAY_SIZE(kinds))
		return false;
	*out = (struct heap_record){
		.kind = kinds[note->kind],
		.pid = note->pid,
		.tid = note->pid,
		.time_ns = note->time_ns,
		.id = note->id,
		.bytes = note->bytes,
		.last_id = note->last_id,
	};
	return true;
}

/* Reading. */

/* A place that is ready is copied, and becomes free. What is in it can change until then. */
static bool take_place(_Atomic uint32_t *state, void *copy, const void *place, size_t size)
{
	if (atomic_load_explicit(state, memory_order_acquire) != HEAP_READY)
		return false;
	memcpy(copy, place, size);
	atomic_store_explicit(state, HEAP_FREE, memory_order_release);
	return true;
}

static uint64_t collect_notes(struct heap_ring *r, struct heap_records *out)
{
	struct heap_record record;
	struct heap_note copy;
	uint64_t n_bad = 0;

	for (uint32_t i = 0; i < HEAP_NOTES; i++) {
		struct heap_note *n = &r->shared->notes[i];

		if (!take_place(&n->state, &copy, n, sizeof(copy)))
			continue;
		if (heap_note_read(&copy, &record))
			vec_push(out, record);
		else
			n_bad++;
	}
	return n_bad;
}

/* A place whose writer ended before it was ready: the record is lost. */
static void free_abandoned(struct heap_ring *r, struct heap_slot *s, bool is_due)
{
	uint32_t state = atomic_load_explicit(&s->state, memory_order_acquire);
	int32_t pid = (int32_t)(state >> 2);

	if (is_due && state == heap_claimed_by(pid) &&
	    (pid <= 0 || (kill(pid, 0) < 0 && errno == ESRCH)) &&
	    atomic_compare_exchange_strong(&s->state, &state, HEAP_FREE))
		atomic_fetch_add(&r->shared->lost_samples, 1);
}

static uint64_t collect_slots(struct heap_ring *r, struct heap_records *out)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_due = now_ns - r->looked_ns > NS_PER_SECOND;
	static struct heap_slot copy;
	struct heap_record record;
	uint64_t n_bad = 0;

	for (uint32_t i = 0; i < HEAP_SLOTS; i++) {
		struct heap_slot *s = &r->shared->slots[i];

		if (!take_place(&s->state, &copy, s, sizeof(copy)))
			free_abandoned(r, s, is_due);
		else if (heap_slot_read(&copy, &record))
			vec_push(out, record);
		else
			n_bad++;
	}
	if (is_due)
		r->looked_ns = now_ns;
	return n_bad;
}

static int compare_records(const void *a, const void *b)
{
	const struct heap_record *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (int)x->kind - (int)y->kind;
}

void heap_records_sort(struct heap_records *r, size_t before, uint64_t from_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = before; i < r->n; i++)
		r->data[i].time_ns = MIN(MAX(r->data[i].time_ns, from_ns), now_ns);
	if (r->n > before)
		qsort(r->data, r->n, sizeof(*r->data), compare_records);
}

/* Notes first: the slot of a block that was released is ready before the note. */
uint64_t heap_ring_collect(struct heap_ring *r, struct heap_records *out)
{
	size_t before = out->n;
	uint64_t n_bad = collect_notes(r, out);

	n_bad += collect_slots(r, out);
	heap_records_sort(out, before, r->opened_ns);
	return n_bad;
}

static uint64_t take_count(_Atomic uint64_t *counter, uint64_t *before)
{
	uint64_t now = atomic_load_explicit(counter, memory_order_relaxed), n = now - *before;

	*before = now;
	return n < UINT32_MAX ? n : 0; /* a program has set it back */
}

struct heap_ring_losses heap_ring_take_losses(struct heap_ring *r)
{
	return (struct heap_ring_losses){
		.samples = take_count(&r->shared->lost_samples, &r->lost_samples),
		.notes = take_count(&r->shared->lost_notes, &r->lost_notes),
	};
}
