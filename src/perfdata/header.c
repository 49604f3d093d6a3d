/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header of a perf.data file: the places of its data, its events and its features. */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "perfdata/attr.h"
#include "perfdata/state.h"

#define MAX_COUNTERS 65536
#define MAX_IDS      ((uint64_t)1 << 24)

struct section {
	uint64_t off, size;
};

static struct section header_read_section(struct order_reader *o)
{
	struct section s;

	s.off = order_u64(o);
	s.size = order_u64(o);
	return s;
}

static bool is_inside(const struct perfdata *p, const struct section *s)
{
	return s->off <= p->files[0].size && s->size <= p->files[0].size - s->off;
}

/* Remembers the first damage of the header; the rest is read all the same. */
static void note_damage(struct perfdata *p, const char *what, const struct section *s)
{
	if (!p->damage.code)
		error_set(&p->damage, -EBADMSG,
			  "%s: offset %" PRIu64 ", size %" PRIu64
			  " is not inside the file's %zu bytes",
			  what, s->off, s->size, p->files[0].size);
}

static int read_attrs(struct perfdata *p, const struct section *attrs, uint64_t entry_size,
		      struct error *err)
{
	const struct perfdata_bytes *f = &p->files[0];
	uint64_t n;

	if (entry_size < PERFDATA_FIRST_ATTR + 16 || entry_size > 4096)
		return error_set(err, -EINVAL,
				 "offset 16: a size of %" PRIu64
				 " bytes for each event is not possible",
				 entry_size);
	if (!is_inside(p, attrs))
		return error_set(err, -EINVAL,
				 "offset 24: the events are at offset %" PRIu64 ", %" PRIu64
				 " bytes, but the file has only %zu",
				 attrs->off, attrs->size, f->size);
	n = attrs->size / entry_size;
	if (!n || n > MAX_COUNTERS)
		return error_set(err, -EINVAL, "offset 32: %" PRIu64 " events", n);
	for (uint64_t i = 0; i < n; i++) {
		const uint8_t *entry = f->base + attrs->off + i * entry_size;
		struct order_reader o =
			order_reader_over(entry + entry_size - 16, 16, p->is_foreign);
		struct section ids = header_read_section(&o);
		struct perf_event_attr attr;

		attr_read(entry, entry_size - 16, p->is_foreign, &attr);
		if (!is_inside(p, &ids) || ids.size / 8 > MAX_IDS) {
			note_damage(p, "the ids of an event", &ids);
			ids = (struct section){ 0 };
		}
		counter_add(p, &attr, f->base + ids.off, ids.size / 8);
	}
	return 0;
}

/*
 * The feature bits are an array of unsigned long: four words of 64 bits from a 64-bit machine,
 * eight of 32 from a 32-bit one. This matters only in the other byte order. Nearly every file has a
 * host name, so that bit shows the size of the words.
 */
static void read_bits(struct perfdata *p, struct order_reader *o, uint64_t bits[static 4])
{
	const uint64_t hostname = (uint64_t)1 << FEATURE_HOSTNAME;

	for (int i = 0; i < 4; i++)
		bits[i] = order_u64(o);
	if (!p->is_foreign || (bits[0] & hostname) || !(bits[0] >> 32 & hostname))
		return;
	for (int i = 0; i < 4; i++)
		bits[i] = bits[i] >> 32 | bits[i] << 32;
}

/* The features' sections are behind the data, one for each bit. */
static void read_features(struct perfdata *p, const uint64_t bits[static 4], uint64_t at)
{
	struct section table = { .off = at };
	struct order_reader o;

	for (int i = 0; i < 4; i++)
		table.size += 16 * (uint64_t)__builtin_popcountll(bits[i]);
	if (!is_inside(p, &table)) {
		note_damage(p, "the table of features", &table);
		return;
	}
	o = order_reader_over(p->files[0].base + at, table.size, p->is_foreign);
	for (uint32_t bit = 0; bit < N_FEATURE_BITS; bit++) {
		struct section s;

		if (!(bits[bit / 64] >> (bit % 64) & 1))
			continue;
		s = header_read_section(&o);
		if (is_inside(p, &s))
			feature_read(p, bit, p->files[0].base + s.off, s.size);
		else
			note_damage(p, "a feature section", &s);
	}
}

/* A killed recorder has not written the end of its data. */
static void find_data(struct perfdata *p, const struct section *data)
{
	uint64_t size = p->files[0].size;

	p->data_off = MIN(data->off, size);
	p->data_end = p->data_off + data->size;
	if (!data->size && data->off < size) {
		p->data_end = size;
		error_set(
			&p->damage, -EBADMSG,
			"the header says that there is no data: the recorder was killed before it "
			"could finish the file");
	} else if (!is_inside(p, data)) {
		p->data_end = size;
		error_set(&p->damage, -EBADMSG,
			  "the file is cut: its data should end at offset %" PRIu64
			  ", but the file has only %" PRIu64 " bytes",
			  data->off + data->size, size);
	}
}

int header_read(struct perfdata *p, struct error *err)
{
	const struct perfdata_bytes *f = &p->files[0];
	struct order_reader o = order_reader_over(f->base, f->size, p->is_foreign);
	struct section attrs, data, types;
	uint64_t size, entry_size, bits[4];
	int r;

	order_u64(&o); /* magic */
	size = order_u64(&o);
	if (size == PERFDATA_PIPE_HEADER) {
		p->info.is_pipe = true;
		p->data_off = size;
		p->data_end = f->size;
		return 0;
	}
	if (size == PERFDATA_HEADER_SIZE && f->size < size)
		return error_set(err, -EBADMSG,
				 "the file is cut: its header has 104 bytes, but the file only %zu",
				 f->size);
	if (size != PERFDATA_HEADER_SIZE)
		return error_set(err, -EINVAL,
				 "offset 8: the header's size is %" PRIu64
				 ", not 104 (a file) or 16 (a pipe); the file has %zu bytes",
				 size, f->size);
	entry_size = order_u64(&o);
	attrs = header_read_section(&o);
	data = header_read_section(&o);
	types = header_read_section(&o);
	(void)types; /* names of events, before Linux 3.x */
	read_bits(p, &o, bits);
	r = read_attrs(p, &attrs, entry_size, err);
	if (r < 0)
		return r;
	find_data(p, &data);
	if (!p->damage.code)
		read_features(p, bits, data.off + data.size);
	return 0;
}
