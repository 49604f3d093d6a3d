/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a block: strings, images, classes, code symbols. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"
#include "store/block.h"
#include "store/kinds.h"

static void encode_images(struct buf *b, const struct names_part *names)
{
	for (uint32_t i = 0; i < names->n_images; i++) {
		const struct image *image = &names->images[i];

		buf_u8(b, (uint8_t)image->kind);
		buf_uleb(b, names->paths[i]);
		buf_uleb(b, (uint32_t)image->pid);
		buf_uleb(b, image->dev);
		buf_uleb(b, image->ino);
		buf_u8(b, image->build_id.len);
		buf_bytes(b, image->build_id.bytes, image->build_id.len);
	}
	buf_uleb(b, names->n_late);
	for (uint32_t i = 0; i < names->n_late; i++) {
		buf_uleb(b, names->late[i].image);
		buf_u8(b, names->late[i].build_id.len);
		buf_bytes(b, names->late[i].build_id.bytes, names->late[i].build_id.len);
	}
}

/* Writes column by column, each value as the difference to the class before. Most values repeat. */
static void encode_classes(struct buf *b, const struct names_part *names)
{
	static const struct profile_class none;

#define COLUMN(value)                                                 \
	for (uint32_t i = 0; i < names->n_classes; i++) {             \
		const struct profile_class *c = &names->classes[i];   \
		const struct profile_class *last = i ? c - 1 : &none; \
                                                                      \
		(void)last;                                           \
		buf_sleb(b, (value));                                 \
	}
	COLUMN((int64_t)c->counter - last->counter)
	COLUMN((int64_t)c->app.n - last->app.n)
	COLUMN((int64_t)c->pid - last->pid)
	COLUMN((int64_t)c->tid - c->pid)
	COLUMN((int64_t)c->comm.n - last->comm.n)
	COLUMN((int64_t)c->cpu - last->cpu)
#undef COLUMN
}

/* Writes the cgroups at the end, where older readers ignore them, and only if there are some. */
static void encode_cgroups(struct buf *b, const struct names_part *names)
{
	uint32_t last = 0, any = 0;

	for (uint32_t i = 0; i < names->n_classes; i++)
		any |= names->classes[i].cgroup.n;
	for (uint32_t i = 0; any && i < names->n_classes; i++) {
		buf_sleb(b, (int64_t)names->classes[i].cgroup.n - last);
		last = names->classes[i].cgroup.n;
	}
}

/*
 * A symbol whose size has this bit is a source line, with its number in the size. Real code never
 * covers half of the address space.
 */
#define IS_LINE    ((uint64_t)1 << 63)
#define LINE_SHIFT 32

static void encode_symbols(struct buf *b, const struct names_part *names)
{
	for (uint32_t i = 0; i < names->n_symbols; i++) {
		const struct symbol_entry *s = &names->symbols[i];

		buf_uleb(b, s->image);
		buf_uleb(b, s->name);
		buf_sleb(b, (int64_t)(s->offset - (i ? s[-1].offset : 0)));
		buf_uleb(b, s->line ? IS_LINE | (uint64_t)s->line << LINE_SHIFT | (uint32_t)s->size
				    : s->size & ~IS_LINE);
	}
}

void names_encode(struct block_encoder *e, struct buf *out, const struct names_part *names)
{
	struct buf b = { 0 };

	for (uint32_t i = 0; i < names->n_strings; i++)
		buf_cstr0(&b, names->strings[i]);
	encode_images(&b, names);
	encode_classes(&b, names);
	encode_symbols(&b, names);
	encode_cgroups(&b, names);
	pack_bytes(e->packer, out, b.data, b.len);
	buf_fini(&b);
}

void names_encode_group(struct block_encoder *e, struct buf *out, const struct names_part *names)
{
	struct buf b = { 0 };

	for (uint32_t i = 0; i < names->n_strings; i++)
		buf_cstr0(&b, names->strings[i]);
	encode_images(&b, names);
	encode_symbols(&b, names);
	pack_bytes(e->packer, out, b.data, b.len);
	buf_fini(&b);
	kinds_encode(e, out, names->classes, names->n_classes);
}

static uint32_t names_get_below(struct reader *r, uint32_t limit)
{
	uint64_t v = reader_uleb(r);

	if (v >= limit)
		r->bad = true;
	return r->bad ? 0 : (uint32_t)v;
}

static void names_get_build_id(struct reader *r, struct build_id *out)
{
	uint8_t len = reader_u8(r);
	const void *bytes = len <= BUILD_ID_MAX ? reader_bytes(r, len) : NULL;

	*out = (struct build_id){ 0 };
	if (!bytes) {
		r->bad = true;
		return;
	}
	out->len = len;
	memcpy(out->bytes, bytes, len);
}

static void decode_images(struct reader *r, const struct block_header *h, struct segment *seg)
{
	struct image *image = seg->images + h->first_id[TABLE_IMAGES];
	uint64_t n_late;

	for (uint32_t i = 0; i < h->n_ids[TABLE_IMAGES]; i++, image++) {
		struct image new = { .kind = names_get_below(r, N_IMAGE_KINDS) };

		new.path = seg->strings[names_get_below(r, seg->n_strings)];
		new.pid = (int32_t)reader_uleb(r);
		new.dev = reader_uleb(r);
		new.ino = reader_uleb(r);
		names_get_build_id(r, &new.build_id);
		if (r->bad)
			return;
		*image = new;
	}
	n_late = reader_uleb(r);
	for (uint64_t i = 0; i < n_late && !r->bad; i++) {
		uint32_t id = names_get_below(r, seg->n_images);
		struct build_id build_id;

		names_get_build_id(r, &build_id);
		if (!r->bad && !seg->images[id].build_id.len)
			seg->images[id].build_id = build_id;
	}
}

/* Returns `last` + a difference. A result outside [0, limit) marks the reader as bad. */
static uint32_t get_step(struct reader *r, uint32_t last, uint32_t limit)
{
	int64_t step = reader_sleb(r);

	if (step < -(int64_t)UINT32_MAX || step > (int64_t)UINT32_MAX || (int64_t)last + step < 0 ||
	    (int64_t)last + step >= limit)
		r->bad = true;
	return r->bad ? 0 : (uint32_t)((int64_t)last + step);
}

/* Decodes all classes or none: if a column breaks off, all of them stay unknown. */
static void decode_classes(struct reader *r, const struct block_header *h, struct segment *seg)
{
	uint32_t n = h->n_ids[TABLE_CLASSES];
	struct profile_class *classes = seg->classes + h->first_id[TABLE_CLASSES], *new;
	static const struct profile_class none;

	if (n > reader_left(r) / 6) {
		r->bad = true;
		return;
	}
	new = xcalloc(n + 1, sizeof(*new));
#define COLUMN(field, value)                                                \
	for (struct profile_class *c = new; c < new + n; c++) {             \
		const struct profile_class *last = c > new ? c - 1 : &none; \
                                                                            \
		(void)last;                                                 \
		c->field = (value);                                         \
	}
	COLUMN(counter, get_step(r, last->counter, SESSION_COUNTERS_MAX))
	COLUMN(app.n, get_step(r, last->app.n, seg->n_images))
	COLUMN(pid, (int32_t)((uint32_t)last->pid + (uint32_t)reader_sleb(r)))
	COLUMN(tid, (int32_t)((uint32_t)c->pid + (uint32_t)reader_sleb(r)))
	COLUMN(comm.n, get_step(r, last->comm.n, seg->n_strings))
	COLUMN(cpu, last->cpu + (uint32_t)reader_sleb(r))
#undef COLUMN
	if (!r->bad && n)
		memcpy(classes, new, n * sizeof(*new));
	free(new);
}

static void decode_symbols(struct reader *r, const struct block_header *h, struct segment *seg)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < h->n_ids[TABLE_SYMBOLS]; i++) {
		struct code_symbol new = { .image.n = names_get_below(r, seg->n_images) };

		new.name = seg->strings[names_get_below(r, seg->n_strings)];
		offset += (uint64_t)reader_sleb(r);
		new.offset = offset;
		new.size = reader_uleb(r);
		if (new.size & IS_LINE) {
			new.line = (uint32_t)((new.size & ~IS_LINE) >> LINE_SHIFT);
			new.size = (uint32_t) new.size;
		}
		if (r->bad)
			return;
		seg->symbols[h->first_id[TABLE_SYMBOLS] + i] = new;
	}
}

static void decode_cgroups(struct reader *r, const struct block_header *h, struct segment *seg)
{
	struct profile_class *class = seg->classes + h->first_id[TABLE_CLASSES];
	uint32_t cgroup = 0;

	if (r->bad || !reader_left(r))
		return;
	for (uint32_t i = 0; i < h->n_ids[TABLE_CLASSES] && !r->bad; i++)
		class[i].cgroup.n = cgroup = get_step(r, cgroup, seg->n_strings);
}

int names_decode(struct unpacker *u, const uint8_t *bytes, size_t size,
		 const struct block_header *h, struct arena *arena, struct segment *seg)
{
	struct reader packed = reader_over(bytes, size), r;
	uint8_t *raw, *text;
	size_t n;

	if (unpack_bytes(u, &packed, names_bytes_max(size), &raw, &n) < 0)
		return -EBADMSG;
	r = reader_over(raw, n);
	for (uint32_t i = 0; i < h->n_ids[TABLE_STRINGS]; i++)
		reader_cstr(&r);
	text = (uint8_t *)arena_strndup(arena, (char *)raw, (size_t)(r.at - raw));
	for (uint32_t i = 0; i < h->n_ids[TABLE_STRINGS] && !r.bad; i++) {
		seg->strings[h->first_id[TABLE_STRINGS] + i] = (char *)text;
		text += strlen((char *)text) + 1;
	}
	decode_images(&r, h, seg);
	if (!is_group(h->kind))
		decode_classes(&r, h, seg);
	decode_symbols(&r, h, seg);
	if (!is_group(h->kind))
		decode_cgroups(&r, h, seg);
	else if (!r.bad)
		r.bad = !kinds_decode(u, &packed, h, seg);
	free(raw);
	return r.bad ? -EBADMSG : 0;
}
