/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/mapped.h"

#define PAGE UINT64_C(4096)

void mapped_fini(struct mapped *m)
{
	vec_fini(m);
}

uint64_t mapped_size(uint64_t bytes)
{
	return bytes > UINT64_MAX - PAGE ? bytes : (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* An end beyond all addresses is the last address. */
static uint64_t mapped_end(uint64_t start, uint64_t bytes)
{
	uint64_t size = mapped_size(bytes);

	return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

bool mapped_add(struct mapped *m, int32_t pid, uint64_t start, uint64_t bytes, uint64_t id)
{
	uint64_t end = mapped_end(start, bytes);

	if (m->n >= MAPPED_MAX || end <= start)
		return false;
	vec_push(m, ((struct mapped_range){ start, end, id, pid }));
	return true;
}

/* The rest behind the part becomes a range. Without room for it, the rest is gone, too. */
static uint64_t cut_range(struct mapped *m, size_t at, uint64_t start, uint64_t end)
{
	struct mapped_range *r = &m->data[at], rest = *r;
	uint64_t from = MAX(start, r->start), to = MIN(end, r->end);

	rest.start = to;
	r->end = from;
	if (rest.start < rest.end && m->n < MAPPED_MAX)
		vec_push(m, rest);
	else
		to = rest.end;
	return to - from;
}

void mapped_remove(struct mapped *m, int32_t pid, uint64_t start, uint64_t bytes, uint64_t last_id,
		   void (*ended)(void *context, uint64_t id, uint64_t bytes), void *context)
{
	uint64_t end = mapped_end(start, bytes);

	for (size_t i = m->n; i--;) {
		const struct mapped_range r = m->data[i];

		if (end <= start || r.pid != pid || r.id > last_id || r.end <= start ||
		    r.start >= end)
			continue;
		ended(context, r.id, cut_range(m, i, start, end));
		if (m->data[i].start >= m->data[i].end)
			m->data[i] = m->data[--m->n];
	}
}

bool mapped_has(const struct mapped *m, int32_t pid)
{
	vec_foreach (m, range)
		if (range->pid == pid)
			return true;
	return false;
}

void mapped_forget(struct mapped *m, int32_t pid)
{
	for (size_t i = m->n; i--;)
		if (m->data[i].pid == pid)
			m->data[i] = m->data[--m->n];
}
