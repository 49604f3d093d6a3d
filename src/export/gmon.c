/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gmon.out, version 1, of one image, as `gprof IMAGE gmon.out` reads it: a histogram of addresses
 * and the arcs between its functions. Layout: gmon_out.h of the GNU C library and binutils.
 *
 *	header   "gmon", version 1, 12 bytes of nothing
 *	0 hist   low_pc, high_pc, n_bins, rate, dimension, its letter; n_bins of 16 bits
 *	1 arc    from_pc, to_pc, count of 32 bits
 *
 * Addresses, their width and the byte order are those of the image. A bin holds 65535. gprof adds
 * up histograms of the same range, so a fuller bin goes into several of them. Beyond
 * MAX_HISTOGRAMS, all bins and the rate are divided by one number.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "guard/open.h"
#include "machine/image_look.h"
#include "export/calls.h"
#include "export/export.h"
#include "export/names.h"
#include "store/session.h"

#define BIN_MAX        65535U
#define MAX_HISTOGRAMS 64
#define MAX_BINS       (1U << 20)
#define MIN_BIN_BYTES  2 /* gprof counts code in units of two bytes */
#define DIMENSION_SIZE 15

enum { RECORD_HISTOGRAM, RECORD_ARC };

struct gmon {
	const struct export *x;
	struct sink *out;
	uint32_t image;
	struct image_look look;
	uint64_t low, high, bin_bytes; /* link addresses */
	uint32_t n_bins;
	uint64_t *bins;
	struct calls calls;
};

static bool gmon_is_wanted(const struct export *x, uint32_t image)
{
	const struct image *i = x->profile->images.data[image].image;
	struct query q = { 0 };
	bool takes = i->kind == IMAGE_FILE;

	if (takes && x->options->image) {
		cleanup(free_at_exit) char *filter = xasprintf("image:%s", x->options->image);

		takes = query_add(&q, filter, NULL) >= 0 &&
			query_takes_path(&q, FILTER_IMAGE, i->path);
	}
	query_fini(&q);
	return takes;
}

static int gmon_choose_image(struct gmon *g, struct error *err)
{
	const struct profile *p = g->x->profile;
	uint64_t best = 0;

	for (uint32_t i = 0; i < p->images.n; i++)
		if (p->images.data[i].samples > best && gmon_is_wanted(g->x, i)) {
			best = p->images.data[i].samples;
			g->image = i;
		}
	if (best)
		return 0;
	if (g->x->options->image)
		return error_set(err, -ENOENT, "no samples are in an executable file '%s'",
				 g->x->options->image);
	return error_set(err, -ENOENT, "no samples are in an executable file");
}

/* gprof will read the same file: it must be the profiled one. */
static int gmon_look(struct gmon *g, struct error *err)
{
	const struct image *image = g->x->profile->images.data[g->image].image;
	struct symbolizer *symbols = g->x->profile->symbols;
	cleanup(free_at_exit) char *path =
		symbols ? symbolizer_image_file(symbols, image) : xstrdup(image->path);
	static const struct image_look_wish wish = { IMAGE_HIDDEN, LOOK_SEGMENTS, 0 };
	struct file_mapping file = { 0 };
	int r = guard_map(GUARD_HERE, path, &guard_image_rules, &file, err);

	if (r < 0)
		return r;
	r = image_look(&file, &wish, &g->look, err);
	file_unmap(&file);
	if (r < 0)
		return error_wrap(err, r, "%s", image->path);
	if (image->build_id.len && !build_id_equal(&image->build_id, &g->look.head.build_id))
		return error_set(err, -ESTALE, "%s has changed since: another build id",
				 image->path);
	return 0;
}

/* False for an offset that no segment maps as code. */
static bool link_addr_of(const struct gmon *g, uint64_t file_off, uint64_t *link_addr)
{
	return image_look_address(&g->look, PF_X, file_off, link_addr);
}

static bool place_addr(const struct gmon *g, uint32_t place, uint64_t *addr)
{
	const struct profile *p = g->x->profile;
	const struct profile_place *at = &p->places.data[place];

	return p->functions.data[at->function].image == g->image &&
	       link_addr_of(g, at->offset, addr);
}

/* The start of a function; gprof could not name a function without a name. */
static bool function_addr(const struct gmon *g, uint32_t function, uint64_t *addr)
{
	const struct profile_function *f = &g->x->profile->functions.data[function];
	const struct symbol_table *table = g->x->profile->images.data[f->image].table;

	return f->image == g->image && f->symbol != NO_SYMBOL &&
	       link_addr_of(g, symbol_get(table, f->symbol).offset, addr);
}

static uint64_t gmon_value(const struct gmon *g, const struct weight *w)
{
	return weight_value(w, g->x->options->by_period);
}

static void gmon_find_range(struct gmon *g)
{
	uint64_t addr;

	g->low = UINT64_MAX;
	for (uint32_t i = 0; i < g->x->profile->places.n; i++) {
		if (!place_addr(g, i, &addr) || !gmon_value(g, &g->calls.self[i]))
			continue;
		g->low = MIN(g->low, addr);
		g->high = MAX(g->high, addr + 1);
	}
	if (g->low >= g->high) /* only callers: an empty histogram somewhere */
		g->low = 0, g->high = 1;
	g->bin_bytes = MIN_BIN_BYTES;
	g->low -= g->low % 16;
	while ((g->high - g->low) / g->bin_bytes >= MAX_BINS)
		g->bin_bytes *= 2;
	g->n_bins = (uint32_t)((g->high - g->low + g->bin_bytes - 1) / g->bin_bytes);
	g->high = g->low + g->n_bins * g->bin_bytes;
}

static void fill_bins(struct gmon *g)
{
	uint64_t addr;

	g->bins = xcalloc(g->n_bins, sizeof(*g->bins));
	for (uint32_t i = 0; i < g->x->profile->places.n; i++)
		if (place_addr(g, i, &addr) && gmon_value(g, &g->calls.self[i]))
			g->bins[(addr - g->low) / g->bin_bytes] += gmon_value(g, &g->calls.self[i]);
}

static void gmon_put_address(struct gmon *g, uint64_t addr)
{
	if (g->look.head.is_64)
		buf_u64(&g->out->buf, addr);
	else
		buf_u32(&g->out->buf, (uint32_t)addr);
}

/* The divisor and unit of gprof's results: seconds for clocks, else the event itself. */
struct dimension {
	uint32_t rate;
	char name[DIMENSION_SIZE];
	char letter;
};

static struct dimension dimension_of(const struct gmon *g, uint64_t divisor)
{
	const struct profile *p = g->x->profile;
	const struct counter_info *c = &p->session->info.counters[p->lanes[0].counter];
	uint64_t period = counter_period(c);
	struct dimension d = { .rate = 1, .name = "samples", .letter = '1' };
	double rate = 0;

	if (!strcmp(c->unit, "ns"))
		rate = g->x->options->by_period ? 1e9 : period ? 1e9 / (double)period : 0;
	rate /= (double)divisor;
	if (rate >= 1 && rate <= UINT32_MAX) {
		d = (struct dimension){ (uint32_t)(rate + 0.5), "seconds", 's' };
	} else if (g->x->options->by_period) {
		memcpy(d.name, "events", sizeof("events"));
		d.letter = 'e';
	}
	return d;
}

static void put_histogram(struct gmon *g, const struct dimension *d, uint64_t divisor)
{
	struct buf *out = &g->out->buf;

	buf_u8(out, RECORD_HISTOGRAM);
	gmon_put_address(g, g->low);
	gmon_put_address(g, g->high);
	buf_u32(out, g->n_bins);
	buf_u32(out, d->rate);
	buf_bytes(out, d->name, sizeof(d->name));
	buf_u8(out, (uint8_t)d->letter);
	for (uint32_t i = 0; i < g->n_bins; i++) {
		uint64_t n = MIN(g->bins[i], BIN_MAX * divisor),
			 units = (n + divisor / 2) / divisor;

		buf_u8(out, (uint8_t)units);
		buf_u8(out, (uint8_t)(units >> 8));
		g->bins[i] -= n;
		sink_step(g->out);
	}
}

static void put_histograms(struct gmon *g)
{
	uint64_t max = 0, divisor;
	struct dimension d;

	for (uint32_t i = 0; i < g->n_bins; i++)
		max = MAX(max, g->bins[i]);
	divisor = max / ((uint64_t)BIN_MAX * MAX_HISTOGRAMS) + 1;
	d = dimension_of(g, divisor);
	do {
		put_histogram(g, &d, divisor);
		max -= MIN(max, BIN_MAX * divisor);
	} while (max);
}

/* gprof, too, adds up the counts of one arc. */
static void gmon_put_arcs(struct gmon *g)
{
	uint64_t from, to;

	for (size_t i = 0; i < g->calls.list.n; i++) {
		uint64_t left = gmon_value(g, &g->calls.weights[i]), n;

		if (!place_addr(g, g->calls.list.data[i].caller, &from) ||
		    !function_addr(g, g->calls.list.data[i].callee, &to))
			continue;
		for (; left; left -= n) {
			n = MIN(left, UINT32_MAX);
			buf_u8(&g->out->buf, RECORD_ARC);
			gmon_put_address(g, from);
			gmon_put_address(g, to);
			buf_u32(&g->out->buf, (uint32_t)n);
		}
		sink_step(g->out);
	}
}

static void gmon_put_all(struct gmon *g)
{
	static const uint8_t spare[12];

	calls_init(&g->calls, g->x->profile);
	gmon_find_range(g);
	fill_bins(g);
	buf_str(&g->out->buf, "gmon");
	buf_u32(&g->out->buf, 1);
	buf_bytes(&g->out->buf, spare, sizeof(spare));
	put_histograms(g);
	gmon_put_arcs(g);
	calls_fini(&g->calls);
	free(g->bins);
}

static int write_gmon(const struct export *x, struct sink *out, struct error *err)
{
	struct gmon g = { .x = x, .out = out };
	int r;

	if (x->profile->n_lanes > 1)
		return error_set(
			err, -EINVAL,
			"gmon holds one event; choose it with event:NAME ('assay info' has "
			"their names)");
	r = gmon_choose_image(&g, err);
	if (r >= 0)
		r = gmon_look(&g, err);
	if (r >= 0)
		gmon_put_all(&g);
	if (r >= 0 && g.look.head.is_cut)
		r = error_set(err, -EIO, "%s was cut while it was read",
			      x->profile->images.data[g.image].image->path);
	image_look_fini(&g.look);
	return r;
}

const struct export_ops export_gmon = {
	.of_samples = true,
	.target = EXPORT_STREAM,
	.is_binary = true,
	.with_chains = true,
	.with_places = true,
	.write = write_gmon,
};
