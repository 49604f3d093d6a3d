/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A static flame graph, as SVG 1.1: no script, hover titles, light and dark by the viewer's choice.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "picture/picture.h"
#include "report/markup.h"
#include "report/names.h"
#include "store/session.h"

#define WIDTH       1200.0
#define MARGIN      10.0
#define ROW_HEIGHT  17.0
#define HEAD_HEIGHT 58.0
#define FOOT_HEIGHT 26.0
#define LEAST_WIDTH 0.33 /* of a box that is drawn */
#define LEAST_ROW   12.0 /* of all boxes of the topmost row together */
#define TEXT_WIDTH  24.0 /* of a box with a text */
#define GLYPH_WIDTH 6.65 /* of the 11 px monospace that is asked for */

#define MAX_ROWS (PROFILE_MAX_DEPTH + N_PROFILE_KEYS + 3)

struct canvas {
	const struct picture *pic;
	FILE *out;
	bool by_period;
	uint64_t *totals, *bases; /* by node, of lane 0 */
	unsigned *hues;           /* by image */
	double n_samples, n_base_samples;
	double row_widths[MAX_ROWS]; /* of the boxes that are wide enough, by depth */
	uint32_t max_depth, n_drawn;
};

static void sum_cells(const struct picture *pic, const struct picture_cell *cells, size_t n,
		      bool by_period, uint64_t *totals)
{
	for (size_t i = 0; i < n; i++)
		totals[cells[i].node] += weight_value(&cells[i].weight, by_period);
	for (size_t i = pic->nodes.n; i-- > 1;)
		totals[pic->nodes.data[i].parent] += totals[i];
}

static const struct picture_image *svg_image_of(const struct canvas *c, uint32_t node)
{
	uint32_t image = c->pic->frames.data[c->pic->nodes.data[node].frame].image;

	return image < c->pic->images.n ? &c->pic->images.data[image] : NULL;
}

/* The heaviest images get the hues that are furthest apart, the kernel's its own. */
static const unsigned user_hues[] = { 214, 140, 268, 186, 98, 320, 236, 162, 290, 72, 200, 120 };
static const unsigned kernel_hues[] = { 26, 14, 40, 20 };

struct image_weight {
	uint32_t image;
	uint64_t weight;
};

static int heavier_image(const void *a, const void *b)
{
	const struct image_weight *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->image > y->image) - (x->image < y->image);
}

static void weigh_image(const struct canvas *c, uint32_t node, const struct weight *w,
			struct image_weight *order)
{
	const struct picture *pic = c->pic;
	uint32_t image = pic->frames.data[pic->nodes.data[node].frame].image;

	if (image < pic->images.n)
		order[image].weight += weight_value(w, c->by_period);
}

static void choose_hues(struct canvas *c)
{
	const struct picture *pic = c->pic;
	struct image_weight *order = xcalloc(pic->images.n + 1, sizeof(*order));
	size_t n_user = 0, n_kernel = 0;

	c->hues = xcalloc(pic->images.n + 1, sizeof(*c->hues));
	for (uint32_t i = 0; i < pic->images.n; i++)
		order[i].image = i;
	vec_foreach (&pic->lanes[0].cells, cell)
		weigh_image(c, cell->node, &cell->weight, order);
	vec_foreach (&pic->lanes[0].moments, m)
		weigh_image(c, m->node, &m->weight, order);
	if (pic->images.n)
		qsort(order, pic->images.n, sizeof(*order), heavier_image);
	for (uint32_t i = 0; i < pic->images.n; i++) {
		const struct image *image = pic->images.data[order[i].image].image;

		c->hues[order[i].image] =
			image_code_mode(image) == CODE_KERNEL
				? kernel_hues[n_kernel++ % ARRAY_SIZE(kernel_hues)]
				: user_hues[n_user++ % ARRAY_SIZE(user_hues)];
	}
	free(order);
}

/*
 * By what a share of the total became: -1 is all gone, 1 is new. Pale below three standard
 * deviations of the number of samples, as on the page.
 */
static void put_difference(const struct canvas *c, uint32_t node, struct buf *text)
{
	double now = (double)c->totals[node] / (double)MAX(c->totals[0], 1);
	double then = (double)c->bases[node] / (double)MAX(c->bases[0], 1);
	double deviation = sqrt(now / c->n_samples + then / c->n_base_samples);
	double certainty = deviation > 0 ? MIN(1, fabs(now - then) / deviation / 3) : 0;
	double strength = certainty * fabs(now - then) / MAX(MAX(now, then), 1e-9);

	buf_printf(text, "hsl(%d,%.0f%%,%.0f%%)", now > then ? 8 : 214, 20 + 60 * strength,
		   88 - 24 * strength);
}

static void put_colour(const struct canvas *c, uint32_t node, struct buf *text)
{
	uint32_t image = c->pic->frames.data[c->pic->nodes.data[node].frame].image;

	if (c->pic->baseline)
		put_difference(c, node, text);
	else if (image >= c->pic->images.n)
		buf_str(text, "hsl(220,12%,80%)");
	else
		buf_printf(text, "hsl(%u,55%%,%u%%)", c->hues[image],
			   73 + c->pic->nodes.data[node].frame % 5);
}

static const char *svg_frame_name(const struct canvas *c, uint32_t node)
{
	return strings_get(&c->pic->names,
			   c->pic->frames.data[c->pic->nodes.data[node].frame].name);
}

static void print_label(const struct canvas *c, uint32_t node, double x, double y, double width)
{
	struct buf clean = { 0 }, text = { 0 };

	utf8_append_visible(&clean, svg_frame_name(c, node));
	name_append_short(&text, buf_cstr(&clean), (size_t)((width - 6) / GLYPH_WIDTH),
			  "\xe2\x80\xa6");
	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + 12.2);
	markup_print_text(buf_cstr(&text), c->out);
	fputs("</text>", c->out);
	buf_fini(&clean);
	buf_fini(&text);
}

static const char *svg_unit(const struct canvas *c)
{
	const struct profile *p = c->pic->report->profile;
	uint32_t counter = p->lanes[0].counter;

	return !c->by_period         ? "samples"
	       : counter == NO_INDEX ? "events"
				     : p->session->info.counters[counter].unit;
}

/* "12 of 340 samples" or "1.200 ms of 2.500 s"; without a part: "340 samples". */
static void print_weights(const struct canvas *c, const uint64_t *part, uint64_t whole)
{
	const char *unit = svg_unit(c);
	bool is_time = !strcmp(unit, "ns");
	struct buf text = { 0 };

	if (part && is_time)
		buf_duration(&text, *part);
	else if (part)
		buf_printf(&text, "%" PRIu64, *part);
	if (part)
		buf_str(&text, " of ");
	if (is_time)
		buf_duration(&text, whole);
	else
		buf_printf(&text, "%" PRIu64 " %s", whole, unit);
	markup_print_text(buf_cstr(&text), c->out);
	buf_fini(&text);
}

static void print_hover(const struct canvas *c, uint32_t node)
{
	const struct picture_image *image = svg_image_of(c, node);

	fputs("<title>", c->out);
	markup_print_text(svg_frame_name(c, node), c->out);
	if (image) {
		fputs("\n", c->out);
		markup_print_text(image->path, c->out);
	}
	fputc('\n', c->out);
	print_weights(c, &c->totals[node], c->totals[0]);
	fprintf(c->out, ", %.2f %%",
		100.0 * (double)c->totals[node] / (double)MAX(c->totals[0], 1));
	if (c->pic->baseline)
		fprintf(c->out, "\nbaseline %.2f %%",
			100.0 * (double)c->bases[node] / (double)MAX(c->bases[0], 1));
	fputs("</title>", c->out);
}

static void print_box(struct canvas *c, uint32_t node, double x, double width)
{
	double y = HEAD_HEIGHT + (c->max_depth - c->pic->nodes.data[node].depth) * ROW_HEIGHT;
	struct buf colour = { 0 };

	put_colour(c, node, &colour);
	fputs("<g>", c->out);
	print_hover(c, node);
	fprintf(c->out,
		"<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"1.5\" "
		"fill=\"%s\"/>",
		x, y, MAX(width - 0.5, 0.3), ROW_HEIGHT - 1, buf_cstr(&colour));
	if (width >= TEXT_WIDTH)
		print_label(c, node, x, y, width);
	fputs("</g>\n", c->out);
	buf_fini(&colour);
}

static double width_of(const struct canvas *c, uint32_t node)
{
	return (WIDTH - 2 * MARGIN) * (double)c->totals[node] / (double)MAX(c->totals[0], 1);
}

/*
 * Calls visit() for each box that is wide enough, in preorder. Rows above the last one of
 * any width would make the image tall for a few lines as thin as hairs: they are left out.
 */
static void svg_walk(struct canvas *c, void (*visit)(struct canvas *, uint32_t, double, double))
{
	const struct picture_node *nodes = c->pic->nodes.data;
	double *next_x = xcalloc(MAX_ROWS, sizeof(*next_x)); /* by depth */

	next_x[1] = MARGIN;
	c->n_drawn = 0;
	for (uint32_t i = 1; i < c->pic->nodes.n; i++) {
		double x = next_x[nodes[i].depth], width = width_of(c, i);

		next_x[nodes[i].depth] += width;
		next_x[nodes[i].depth + 1] = x;
		if (width < LEAST_WIDTH || nodes[i].depth > c->max_depth)
			continue;
		c->n_drawn++;
		visit(c, i, x, width);
	}
	free(next_x);
}

static void add_to_row(struct canvas *c, uint32_t node, double x, double width)
{
	(void)x;
	c->row_widths[c->pic->nodes.data[node].depth] += width;
}

static void choose_depth(struct canvas *c)
{
	c->max_depth = MAX_ROWS;
	svg_walk(c, add_to_row);
	for (c->max_depth = MAX_ROWS - 1; c->max_depth > 1; c->max_depth--)
		if (c->row_widths[c->max_depth] >= LEAST_ROW)
			break;
}

static void svg_print_heading(const struct canvas *c)
{
	const struct profile *p = c->pic->report->profile;
	const struct session_info *info = &p->session->info;
	struct buf clean = { 0 }, text = { 0 };
	uint64_t n_lost = losses_of_kind(p->losses, LOSS_LOST);

	utf8_append_visible(&clean, *info->command ? info->command : info->target);
	name_append_cut(&text, buf_cstr(&clean), 110, "\xe2\x80\xa6");
	fputs("<text class=\"title\" x=\"10\" y=\"24\">", c->out);
	markup_print_text(buf_cstr(&text), c->out);
	fputs("</text>\n<text class=\"dim\" x=\"10\" y=\"43\">", c->out);
	if (p->lanes[0].counter != NO_INDEX)
		markup_print_text(info->counters[p->lanes[0].counter].name, c->out);
	fputs(" \xc2\xb7 ", c->out);
	print_weights(c, NULL, c->totals[0]);
	fprintf(c->out, " \xc2\xb7 %" PRIu64 " lost", n_lost);
	if (*info->hostname) {
		fputs(" \xc2\xb7 ", c->out);
		markup_print_text(info->hostname, c->out);
	}
	if (c->pic->baseline)
		fputs(" \xc2\xb7 red grew, blue shrank against the baseline", c->out);
	fputs("</text>\n", c->out);
	buf_fini(&clean);
	buf_fini(&text);
}

static const char style[] =
	"<style>text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans "
	"Mono',monospace;"
	"fill:#16181d}.title,.dim{fill:#1c2230}.title{font:600 15px system-ui,sans-serif}"
	".dim{font:12px system-ui,sans-serif;fill:#5b6472}"
	".paper{fill:#fcfcfd}g:hover rect{stroke:#111;stroke-width:1}"
	"@media(prefers-color-scheme:dark){.paper{fill:#14161b}.title{fill:#e8eaf0}.dim{fill:#"
	"9aa3b2}"
	"g:hover rect{stroke:#fff}g rect{opacity:.9}}</style>\n";

void picture_print_svg(const struct picture *pic, FILE *out)
{
	struct canvas c = {
		.pic = pic,
		.out = out,
		.by_period = pic->report->options->by_period,
		.totals = xcalloc(pic->nodes.n, sizeof(uint64_t)),
		.bases = xcalloc(pic->nodes.n, sizeof(uint64_t)),
	};
	double height;

	vec_foreach (&pic->lanes[0].moments, m)
		c.totals[m->node] += weight_value(&m->weight, c.by_period);
	sum_cells(pic, pic->lanes[0].cells.data, pic->lanes[0].cells.n, c.by_period, c.totals);
	sum_cells(pic, pic->lanes[0].base.data, pic->lanes[0].base.n, c.by_period, c.bases);
	c.n_samples = (double)MAX(pic->report->profile->n_selected, 1);
	c.n_base_samples = pic->baseline ? (double)MAX(pic->baseline->n_selected, 1) : 1;
	choose_hues(&c);
	choose_depth(&c);
	height = HEAD_HEIGHT + c.max_depth * ROW_HEIGHT + FOOT_HEIGHT;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
		"xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n%s<rect "
		"class=\"paper\" "
		"width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, height, WIDTH, height, style);
	svg_print_heading(&c);
	svg_walk(&c, print_box);
	fprintf(out,
		"<text class=\"dim\" x=\"10\" y=\"%.1f\">%" PRIu32
		" of %zu boxes; the others are narrower than a third of a pixel, or above the last "
		"row "
		"of one percent</text>\n</svg>\n",
		height - 9, c.n_drawn, pic->nodes.n - 1);
	free(c.hues);
	free(c.totals);
	free(c.bases);
}
