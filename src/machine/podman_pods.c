/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/podman_pods.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"

#define ENTRIES_MAX 200000 /* of all pages together */
#define DEPTH_MAX   16

struct database {
	const uint8_t *base;
	size_t size, page_size;
	uint32_t n_entries; /* looked at */
	struct container_names *names;
};

struct span {
	const uint8_t *at; /* NULL: there is none */
	size_t len;
};

static bool is_span_text(struct span s, const char *text)
{
	return s.at && s.len == strlen(text) && !memcmp(s.at, text, s.len);
}

static void put_pod_name(struct database *d, struct span id, struct span name)
{
	cleanup(free_at_exit) char *id_text = NULL, *name_text = NULL;

	if (!id.at || !name.at)
		return;
	id_text = xstrndup((const char *)id.at, MIN(id.len, (size_t)CONTAINER_NAME_SIZE));
	name_text = xstrndup((const char *)name.at, MIN(name.len, (size_t)CONTAINER_NAME_SIZE));
	container_names_put(d->names, id_text, name_text);
}

/* From a page to the end of the file: a long page continues behind its end. */
static struct reader page_at(const struct database *d, uint64_t number)
{
	uint64_t max = d->size / d->page_size;

	return number < max ? reader_over(d->base + number * d->page_size,
					  d->size - number * d->page_size)
			    : reader_over(d->base, 0);
}

static struct reader reader_behind(struct reader r, size_t offset)
{
	reader_bytes(&r, offset);
	return r;
}

/* False past the limits. */
static bool count_entry(struct database *d, int depth)
{
	return depth < DEPTH_MAX && d->n_entries++ < ENTRIES_MAX;
}

/* ---- bbolt ---- */

#define BOLT_MAGIC  0xed0cdaed
#define BOLT_HEADER 16 /* bytes in front of a page's entries, and of a bucket in its value */
#define BOLT_ENTRY  16
#define BOLT_BRANCH 1
#define BOLT_LEAF   2
#define BOLT_SUMMED 56 /* bytes of a meta page's content in front of its checksum */
#define PAGE_MIN    512
#define PAGE_MAX    65536

typedef void bolt_visit(struct database *d, struct span key, struct span value, bool is_bucket);

/* Visits the entries of a page and of all pages below it. */
static void bolt_walk(struct database *d, struct reader page, int depth, bolt_visit *visit)
{
	struct reader r = reader_behind(page, 8);
	unsigned int flags = reader_u16(&r), n = reader_u16(&r);

	for (size_t i = 0; i < n && count_entry(d, depth); i++) {
		struct reader entry = reader_behind(page, BOLT_HEADER + i * BOLT_ENTRY),
			      data = entry;
		struct span key, value;
		uint32_t kind, pos;

		kind = flags & BOLT_LEAF ? reader_u32(&entry) : 0;
		pos = reader_u32(&entry);
		key.len = reader_u32(&entry);
		if (flags & BOLT_BRANCH) {
			bolt_walk(d, page_at(d, reader_u64(&entry)), depth + 1, visit);
			continue;
		}
		value.len = reader_u32(&entry);
		data = reader_behind(data, pos);
		key.at = reader_bytes(&data, key.len);
		value.at = reader_bytes(&data, value.len);
		if (entry.bad || data.bad)
			break;
		visit(d, key, value, kind & 1);
	}
}

static void bolt_pod(struct database *d, struct span key, struct span value, bool is_bucket)
{
	if (!is_bucket)
		put_pod_name(d, key, value);
}

static void bolt_bucket(struct database *d, struct span key, struct span value, bool is_bucket)
{
	struct reader r = reader_over(value.at, value.len);
	uint64_t root = reader_u64(&r);

	if (is_bucket && is_span_text(key, "allPods"))
		bolt_walk(d, root ? page_at(d, root) : reader_behind(r, 8), 0, bolt_pod);
}

/* FNV-1a, the checksum of a meta page. */
static uint64_t bolt_sum(const uint8_t *bytes, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3;
	return sum;
}

struct bolt_meta {
	uint32_t page_size;
	uint64_t root, transaction;
};

/* False: a writer was interrupted here. */
static bool bolt_meta(struct reader r, struct bolt_meta *out)
{
	const uint8_t *content = r.at;
	uint32_t magic = reader_u32(&r);
	uint64_t sum;

	reader_u32(&r); /* version */
	out->page_size = reader_u32(&r);
	reader_u32(&r); /* flags */
	out->root = reader_u64(&r);
	reader_bytes(&r, 24);
	out->transaction = reader_u64(&r);
	sum = reader_u64(&r);
	return !r.bad && magic == BOLT_MAGIC && sum == bolt_sum(content, BOLT_SUMMED);
}

/* The meta page of the later transaction counts. */
static void parse_bolt(struct database *d)
{
	struct bolt_meta meta[2] = { 0 };
	bool is_good[2];

	is_good[0] = bolt_meta(reader_behind(reader_over(d->base, d->size), BOLT_HEADER), &meta[0]);
	d->page_size = meta[0].page_size;
	if (d->page_size < PAGE_MIN || d->page_size > PAGE_MAX)
		return;
	is_good[1] = bolt_meta(reader_behind(page_at(d, 1), BOLT_HEADER), &meta[1]);
	if (is_good[1] && (!is_good[0] || meta[1].transaction > meta[0].transaction))
		bolt_walk(d, page_at(d, meta[1].root), 0, bolt_bucket);
	else if (is_good[0])
		bolt_walk(d, page_at(d, meta[0].root), 0, bolt_bucket);
}

/* ---- SQLite ---- */

#define SQLITE_HEADER   100 /* bytes in front of the first page's tree */
#define SQLITE_INTERIOR 5
#define SQLITE_LEAF     13
#define N_COLUMNS       4 /* of a row: the first ones, which hold the needed values */

struct row {
	struct span text[N_COLUMNS];
	uint64_t number[N_COLUMNS];
};

typedef void sqlite_visit(struct database *d, const struct row *row);

static uint64_t big_endian(struct reader *r, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | reader_u8(r);
	return v;
}

/* Seven bits a byte, the highest first; the ninth byte has eight. */
static uint64_t sqlite_varint(struct reader *r)
{
	uint64_t v = 0;

	for (int i = 0; i < 9; i++) {
		uint8_t byte = reader_u8(r);

		if (i == 8)
			return v << 8 | byte;
		v = v << 7 | (byte & 0x7f);
		if (!(byte & 0x80))
			break;
	}
	return v;
}

/* The bytes of a column of this type in a row. */
static uint64_t sqlite_size(uint64_t type)
{
	static const uint8_t small[12] = { 0, 1, 2, 3, 4, 6, 8, 8 };

	return type < ARRAY_SIZE(small) ? small[type] : (type - 12) / 2;
}

/* The bytes of a row that are in its cell. The others are in overflow pages, which are not read. */
static uint64_t sqlite_local(const struct database *d, uint64_t size)
{
	uint64_t usable = d->page_size - d->base[20], max = usable - 35;
	uint64_t min = (usable - 12) * 32 / 255 - 23, local;

	if (size <= max)
		return size;
	local = min + (size - min) % (usable - 4);
	return local <= max ? local : min;
}

static bool sqlite_row(struct reader r, struct row *row)
{
	struct reader types = r, values = reader_behind(r, sqlite_varint(&types));

	*row = (struct row){ 0 };
	for (int i = 0; i < N_COLUMNS && types.at < values.at; i++) {
		uint64_t type = sqlite_varint(&types), size = sqlite_size(type);

		if (type < 12)
			row->number[i] = big_endian(&values, size);
		else
			row->text[i] = (struct span){ reader_bytes(&values, size), (size_t)size };
		if (values.bad && i < 2)
			return false;
	}
	return !types.bad;
}

/* Visits the rows of a tree: cells of this page, and of the pages below it. */
static void sqlite_walk(struct database *d, uint64_t number, int depth, sqlite_visit *visit)
{
	struct reader page = page_at(d, number - 1), r;
	unsigned int kind, n;
	struct row row;

	page.end = page.at + MIN(reader_left(&page), d->page_size);
	r = reader_behind(page, number == 1 ? SQLITE_HEADER : 0);
	kind = reader_u8(&r);
	reader_bytes(&r, 2);
	n = (unsigned int)big_endian(&r, 2);
	reader_bytes(&r, 3);
	if (kind == SQLITE_INTERIOR && count_entry(d, depth))
		sqlite_walk(d, big_endian(&r, 4), depth + 1, visit);
	for (unsigned int i = 0; i < n && count_entry(d, depth) && !r.bad; i++) {
		struct reader cell = reader_behind(page, big_endian(&r, 2));

		if (kind == SQLITE_INTERIOR) {
			sqlite_walk(d, big_endian(&cell, 4), depth + 1, visit);
		} else if (kind == SQLITE_LEAF) {
			uint64_t size = sqlite_varint(&cell);

			sqlite_varint(&cell); /* number of the row */
			cell.end = cell.at + MIN(reader_left(&cell), sqlite_local(d, size));
			if (sqlite_row(cell, &row))
				visit(d, &row);
		}
	}
}

static void sqlite_pod(struct database *d, const struct row *row)
{
	put_pod_name(d, row->text[0], row->text[1]);
}

static void sqlite_table(struct database *d, const struct row *row)
{
	if (is_span_text(row->text[0], "table") && is_span_text(row->text[1], "PodConfig"))
		sqlite_walk(d, row->number[3], 0, sqlite_pod);
}

static void parse_sqlite(struct database *d)
{
	struct reader r = reader_behind(reader_over(d->base, d->size), 16);
	uint64_t page_size = big_endian(&r, 2);

	d->page_size = page_size == 1 ? PAGE_MAX : page_size;
	if (d->page_size >= PAGE_MIN)
		sqlite_walk(d, 1, 0, sqlite_table);
}

/* ---- which of both ---- */

void podman_parse_pods(struct container_names *n, const void *bytes, size_t size)
{
	static const char sqlite[] = "SQLite format 3";
	struct database d = { .base = bytes, .size = size, .names = n };

	if (size >= SQLITE_HEADER && !memcmp(bytes, sqlite, sizeof(sqlite)))
		parse_sqlite(&d);
	else
		parse_bolt(&d);
}
