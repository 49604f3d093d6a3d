/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/open_files.h"

#include <string.h>
#include <xxhash.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "oprofile/store/sample_file.h"

struct entry {
	struct file_key key;
	struct sample_file *file;
	uint64_t last_used;
};

struct open_files {
	struct intmap by_hash; /* of the key, or the next number that is free: entry */
	struct entry *entries;
	uint32_t n, limit;
	uint64_t clock, grown_bytes;
};

struct open_files *open_files_new(uint32_t limit)
{
	struct open_files *o = xcalloc(1, sizeof(*o));

	o->limit = MAX(limit, 2);
	o->entries = xcalloc(o->limit, sizeof(*o->entries));
	return o;
}

struct sample_file *open_files_find(struct open_files *o, const struct file_key *key)
{
	for (uint64_t hash = XXH3_64bits(key, sizeof(*key));; hash++) {
		const uint32_t *n = intmap_find(&o->by_hash, hash);

		if (!n)
			return NULL;
		if (memcmp(&o->entries[*n].key, key, sizeof(*key)) != 0)
			continue;
		o->entries[*n].last_used = ++o->clock;
		return o->entries[*n].file;
	}
}

static void open_files_index_entry(struct open_files *o, uint32_t n)
{
	for (uint64_t hash = XXH3_64bits(&o->entries[n].key, sizeof(struct file_key));; hash++) {
		bool is_new;
		uint32_t *slot = intmap_put(&o->by_hash, hash, &is_new);

		if (!is_new)
			continue;
		*slot = n;
		return;
	}
}

static int later_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return (x->last_used < y->last_used) - (x->last_used > y->last_used);
}

static int flush_entry(struct open_files *o, uint32_t i, const struct unwritten *u,
		       struct error *err)
{
	struct sample_file *file = o->entries[i].file;
	uint64_t *n = o->entries[i].key.is_arc ? u->arcs : u->samples;
	int r = sample_file_flush(file, n, err);

	o->grown_bytes += sample_file_take_growth(file);
	return r;
}

static int close_half(struct open_files *o, const struct unwritten *u, struct error *err)
{
	uint32_t kept = o->limit / 2;
	int r = 0;

	qsort(o->entries, o->n, sizeof(*o->entries), later_first);
	for (uint32_t i = kept; i < o->n; i++) {
		int now = flush_entry(o, i, u, r ? NULL : err);

		r = r ? r : now;
		sample_file_close(o->entries[i].file);
	}
	o->n = MIN(o->n, kept);
	intmap_clear(&o->by_hash);
	for (uint32_t i = 0; i < o->n; i++)
		open_files_index_entry(o, i);
	return r;
}

int open_files_put(struct open_files *o, const struct file_key *key, struct sample_file *file,
		   const struct unwritten *u, struct error *err)
{
	int r = o->n == o->limit ? close_half(o, u, err) : 0;

	o->entries[o->n] = (struct entry){ *key, file, ++o->clock };
	open_files_index_entry(o, o->n++);
	return r;
}

int open_files_flush(struct open_files *o, const struct unwritten *u, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < o->n; i++) {
		int now = flush_entry(o, i, u, r ? NULL : err);

		r = r ? r : now;
	}
	return r;
}

uint64_t open_files_grown(const struct open_files *o)
{
	return o->grown_bytes;
}

void open_files_free(struct open_files *o)
{
	if (!o)
		return;
	for (uint32_t i = 0; i < o->n; i++)
		sample_file_close(o->entries[i].file);
	intmap_fini(&o->by_hash);
	free(o->entries);
	free(o);
}
