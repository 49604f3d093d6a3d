/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page: the files of html/ with the picture in them. The picture is two payloads, compressed
 * (RFC 1950) and then in base64. So the title is the only text of the profile that stands in the
 * page itself. The first payload is all that the call tree needs, which the page shows at once:
 *
 *     uleb size, JSON    header, names, images, frames of Go, lanes (keys below)
 *     nodes              two columns of ulebs, without the root: twice the levels up from the node
 *                        before (0: its child), and 1 more if it is light; and the frame
 *     frames             uleb: image + 2; 0 a group, 1 "other"
 *     each lane          ulebs, by node: the samples of the whole time; the periods unless all
 *                        samples have the same; then the cells of the baseline
 *
 * The second payload has the times: of each lane, its cells, then its moments.
 *
 * Cells are columns of ulebs, too. The first two are of each bucket with cells: the distance from
 * the bucket before, and the number of cells. Then come the nodes, as distances that begin anew in
 * each bucket, and the samples. The periods follow unless all samples have the same. html/data.js
 * reads it.
 *
 * Moments are samples with exact times, of one thread after the other. The columns of all of them
 * are the time, the node, the samples unless all are 1, and the periods unless all samples have the
 * same. A thread's first time is in microseconds since the session began. Each further one is its
 * distance from the one before, less the lane's interval, in zigzag. The moments of waits have
 * their reasons at last.
 *
 * Periods that vary are mostly noise, which does not compress. So many periods are written in
 * steps. Each node's sum over time is rounded down at every cell. So the sum over any range of time
 * is wrong by less than a step.
 */
#include <jansson.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "lang/language.h"
#include "picture/html/parts.h"
#include "picture/picture.h"
#include "profile/wait_reasons.h"
#include "report/header.h"
#include "report/markup.h"
#include "store/session.h"

#define MAX_EXACT_PERIODS 200000
#define STEPS_A_CELL      128

static json_t *names_json(const struct picture *pic)
{
	json_t *names = json_array();

	vec_foreach (&pic->frames, f)
		json_array_append_new(names, json_text(strings_get(&pic->names, f->name)));
	return names;
}

static json_t *html_images_json(const struct picture *pic)
{
	json_t *images = json_array();

	vec_foreach (&pic->images, i) {
		json_t *image = json_object();
		char hex[BUILD_ID_HEX_SIZE];

		build_id_hex(&i->image->build_id, hex);
		json_object_set_new(image, "name", json_text(i->name));
		json_object_set_new(image, "path", json_text(i->path));
		json_object_set_new(image, "build_id", json_text(hex));
		json_object_set_new(image, "mode",
				    json_text(code_mode_names[image_code_mode(i->image)]));
		json_object_set_new(image, "language",
				    json_text(language_key(image_language(i->image))));
		json_array_append_new(images, image);
	}
	return images;
}

/* What each sample stands for if that is the same for all, else 0. */
static uint64_t common_period(const struct picture_cell *cells, size_t n)
{
	uint64_t each = 0;

	for (size_t i = 0; i < n && !each; i++)
		if (cells[i].weight.samples)
			each = cells[i].weight.period / cells[i].weight.samples;
	for (size_t i = 0; i < n; i++)
		if (cells[i].weight.period != each * cells[i].weight.samples)
			return 0;
	return each;
}

/* As cells, whose numbers are written in the same way. The caller frees them. */
static struct picture_cell *moment_cells(const struct picture_lane *l)
{
	struct picture_cell *cells = xcalloc(l->moments.n + 1, sizeof(*cells));

	for (size_t i = 0; i < l->moments.n; i++)
		cells[i] = (struct picture_cell){ 0, l->moments.data[i].node,
						  l->moments.data[i].weight };
	return cells;
}

/* By node: what it got in all the time. The caller frees them. */
static struct picture_cell *whole_sums(const struct picture_lane *l, size_t n_nodes)
{
	struct picture_cell *sums = xcalloc(n_nodes, sizeof(*sums));

	vec_foreach (&l->cells, c)
		weight_add(&sums[c->node].weight, &c->weight);
	vec_foreach (&l->moments, m)
		weight_add(&sums[m->node].weight, &m->weight);
	return sums;
}

static bool are_single(const struct picture_lane *l)
{
	vec_foreach (&l->moments, m)
		if (m->weight.samples != 1)
			return false;
	return true;
}

/* The step of periods. 1 is exact; a moderate number of cells gets it. */
static uint64_t period_step(const struct picture_cell *cells, size_t n)
{
	uint64_t sum = 0, step = 1;

	if (n <= MAX_EXACT_PERIODS || common_period(cells, n))
		return 1;
	for (size_t i = 0; i < n; i++)
		sum += cells[i].weight.period;
	while (step < sum / n / STEPS_A_CELL)
		step *= 2;
	return step;
}

static size_t count_buckets(const struct picture_cell *cells, size_t n)
{
	size_t n_buckets = 0;

	for (size_t i = 0; i < n; i++)
		n_buckets += !i || cells[i].bucket != cells[i - 1].bucket;
	return n_buckets;
}

static json_t *cells_json(const struct picture_cell *cells, size_t n)
{
	json_t *object = json_object();

	json_object_set_new(object, "cells", json_number(n));
	json_object_set_new(object, "buckets", json_number(count_buckets(cells, n)));
	json_object_set_new(object, "period", json_number(common_period(cells, n)));
	json_object_set_new(object, "step", json_number(period_step(cells, n)));
	return object;
}

/* NULL: the lane is of all counters. */
static const struct counter_info *html_counter(const struct profile *p, uint32_t lane)
{
	uint32_t counter = p->lanes[lane].counter;

	return counter == NO_INDEX ? NULL : &p->session->info.counters[counter];
}

/* Microseconds between two samples of a running thread; 0: not known. */
static uint64_t interval_us(const struct counter_info *c)
{
	return c ? profile_interval_ns(c) / NS_PER_US : 0;
}

/* [thread, its moments], one after the other. */
static json_t *moment_threads_json(const struct picture_lane *l)
{
	json_t *list = json_array();

	for (size_t i = 0, next; i < l->moments.n; i = next) {
		for (next = i; next < l->moments.n &&
			       l->moments.data[next].thread == l->moments.data[i].thread;)
			next++;
		json_array_append_new(list, json_number(l->moments.data[i].thread));
		json_array_append_new(list, json_number(next - i));
	}
	return list;
}

static json_t *reasons_json(void)
{
	json_t *list = json_array();

	for (int i = 0; i < N_WAIT_REASONS; i++)
		json_array_append_new(list, json_string(wait_reason_names[i]));
	return list;
}

static json_t *moments_json(const struct picture_lane *l, const struct counter_info *c)
{
	cleanup(free_at_exit) struct picture_cell *cells = moment_cells(l);
	json_t *object = json_object();

	json_object_set_new(object, "n", json_number(l->moments.n));
	json_object_set_new(object, "threads", moment_threads_json(l));
	json_object_set_new(object, "interval", json_number(interval_us(c)));
	json_object_set_new(object, "single", json_boolean(are_single(l)));
	json_object_set_new(object, "period", json_number(common_period(cells, l->moments.n)));
	json_object_set_new(object, "step", json_number(period_step(cells, l->moments.n)));
	json_object_set_new(object, "waits", json_boolean(c && counter_is_wait(c)));
	return object;
}

static json_t *threads_json(const struct profile *p)
{
	json_t *threads = json_array();

	for (size_t i = 0; p->moments.n && i < p->threads.n; i++) {
		const struct profile_process *t = &p->threads.data[i];

		json_array_append_new(threads,
				      json_pack("[i,i,o]", (int)t->pid, (int)t->tid,
						json_text(strings_get(&p->comms, t->comm))));
	}
	return threads;
}

static json_t *lanes_json(const struct picture *pic)
{
	const struct profile *p = pic->report->profile;
	json_t *lanes = json_array();

	for (uint32_t i = 0; i < p->n_lanes; i++) {
		const struct picture_lane *l = &pic->lanes[i];
		const struct counter_info *c = html_counter(p, i);
		cleanup(free_at_exit) struct picture_cell *sums = whole_sums(l, pic->nodes.n);
		json_t *lane = json_object();

		json_object_set_new(lane, "event", json_text(c ? c->name : "samples"));
		json_object_set_new(lane, "unit",
				    json_text(pic->report->options->by_latency ? "cycles"
					      : c                              ? c->unit
									       : "events"));
		json_object_set_new(lane, "samples", json_number(p->lanes[i].total.samples));
		json_object_set_new(lane, "events", json_number(p->lanes[i].total.period));
		json_object_set_new(lane, "each", json_number(common_period(sums, pic->nodes.n)));
		json_object_set_new(lane, "own", cells_json(l->cells.data, l->cells.n));
		json_object_set_new(lane, "base", cells_json(l->base.data, l->base.n));
		json_object_set_new(lane, "moments", moments_json(l, c));
		json_array_append_new(lanes, lane);
	}
	return lanes;
}

static json_t *timeline_json(const struct picture *pic)
{
	json_t *object = json_object(), *lost = json_array();

	vec_foreach (&pic->lost, l)
		json_array_append_new(lost,
				      json_pack("[I,o]", (json_int_t)l->bucket, json_number(l->n)));
	json_object_set_new(object, "width_seconds", json_number(pic->bucket_s));
	json_object_set_new(object, "lost", lost);
	return object;
}

static json_t *baseline_json(const struct picture *pic)
{
	const struct session *s = pic->baseline->session;
	json_t *object = json_object();

	json_object_set_new(object, "session", json_text(s->path));
	json_object_set_new(object, "command", json_text(s->info.command));
	json_object_set_new(object, "samples", json_number(pic->baseline->n_selected));
	return object;
}

/* The frames of functions of Go, whose language is not that of their image. */
static json_t *go_json(const struct picture *pic)
{
	json_t *frames = json_array();

	vec_foreach (&pic->frames, f)
		if (f->is_go)
			json_array_append_new(frames,
					      json_number((uint64_t)(f - pic->frames.data)));
	return frames;
}

static json_t *description(const struct picture *pic)
{
	json_t *all = json_object(), *hidden = json_object();

	json_object_set_new(all, "header", header_json(pic->report));
	json_object_set_new(all, "names", names_json(pic));
	json_object_set_new(all, "images", html_images_json(pic));
	json_object_set_new(all, "go", go_json(pic));
	json_object_set_new(all, "lanes", lanes_json(pic));
	json_object_set_new(all, "threads", threads_json(pic->report->profile));
	json_object_set_new(all, "reasons", reasons_json());
	json_object_set_new(all, "nodes", json_number(pic->nodes.n));
	json_object_set_new(all, "timeline", timeline_json(pic));
	json_object_set_new(hidden, "nodes", json_number(pic->n_hidden));
	json_object_set_new(hidden, "joined", json_number(pic->n_joined));
	json_object_set_new(hidden, "below_percent", json_real(pic->hidden_below));
	json_object_set_new(hidden, "frame", json_number(pic->other_frame));
	json_object_set_new(all, "hidden", hidden);
	if (pic->baseline)
		json_object_set_new(all, "baseline", baseline_json(pic));
	return all;
}

static int append_bytes(const char *bytes, size_t size, void *to)
{
	buf_bytes(to, bytes, size);
	return 0;
}

static void put_description(const struct picture *pic, struct buf *to)
{
	json_t *all = description(pic);
	struct buf text = { 0 };

	json_dump_callback(all, append_bytes, &text, JSON_COMPACT | JSON_REAL_PRECISION(6));
	buf_uleb(to, text.len);
	buf_bytes(to, text.data, text.len);
	buf_fini(&text);
	json_decref(all);
}

static void put_nodes(const struct picture *pic, struct buf *to)
{
	const struct picture_node *nodes = pic->nodes.data;

	for (size_t i = 1; i < pic->nodes.n; i++)
		buf_uleb(to, 2 * (nodes[i - 1].depth + 1 - nodes[i].depth) + nodes[i].is_light);
	for (size_t i = 1; i < pic->nodes.n; i++)
		buf_uleb(to, nodes[i].frame);
	vec_foreach (&pic->frames, f)
		buf_uleb(to, f->image == PICTURE_GROUP   ? 0
			     : f->image == PICTURE_OTHER ? 1
							 : f->image + 2);
}

static void put_sums(const struct picture_lane *l, size_t n_nodes, struct buf *to)
{
	cleanup(free_at_exit) struct picture_cell *sums = whole_sums(l, n_nodes);
	bool has_common_period = common_period(sums, n_nodes) != 0;

	for (size_t i = 0; i < n_nodes; i++)
		buf_uleb(to, sums[i].weight.samples);
	for (size_t i = 0; i < n_nodes && !has_common_period; i++)
		buf_uleb(to, sums[i].weight.period);
}

static void put_periods(const struct picture_cell *cells, size_t n, size_t n_nodes, struct buf *to)
{
	uint64_t step = period_step(cells, n), *rest = xcalloc(n_nodes, sizeof(*rest));

	for (size_t i = 0; i < n; i++) {
		uint64_t *left = &rest[cells[i].node];

		*left += cells[i].weight.period;
		buf_uleb(to, *left / step);
		*left %= step;
	}
	free(rest);
}

static void put_cells(const struct picture_cell *cells, size_t n, size_t n_nodes, struct buf *to)
{
	for (size_t i = 0, next, before = 0; i < n; i = next) {
		for (next = i; next < n && cells[next].bucket == cells[i].bucket;)
			next++;
		buf_uleb(to, cells[i].bucket - before);
		buf_uleb(to, next - i);
		before = cells[i].bucket;
	}
	for (size_t i = 0; i < n; i++)
		buf_uleb(to, i && cells[i].bucket == cells[i - 1].bucket
				     ? cells[i].node - cells[i - 1].node
				     : cells[i].node);
	for (size_t i = 0; i < n; i++)
		buf_uleb(to, cells[i].weight.samples);
	if (n && !common_period(cells, n))
		put_periods(cells, n, n_nodes, to);
}

static uint64_t html_zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static void put_moment_times(const struct picture_lane *l, uint64_t interval, struct buf *to)
{
	const struct picture_moment *m = l->moments.data;

	for (size_t i = 0; i < l->moments.n; i++)
		if (i && m[i].thread == m[i - 1].thread)
			buf_uleb(to, html_zigzag((int64_t)(m[i].at_us - m[i - 1].at_us) -
						 (int64_t)interval));
		else
			buf_uleb(to, m[i].at_us);
}

static void put_moments(const struct picture_lane *l, const struct counter_info *c, size_t n_nodes,
			struct buf *to)
{
	cleanup(free_at_exit) struct picture_cell *cells = moment_cells(l);

	put_moment_times(l, interval_us(c), to);
	vec_foreach (&l->moments, m)
		buf_uleb(to, m->node);
	if (!are_single(l))
		vec_foreach (&l->moments, m)
			buf_uleb(to, m->weight.samples);
	if (l->moments.n && !common_period(cells, l->moments.n))
		put_periods(cells, l->moments.n, n_nodes, to);
	if (c && counter_is_wait(c))
		vec_foreach (&l->moments, m)
			buf_uleb(to, m->reason);
}

static void put_base64(const uint8_t *bytes, size_t n, FILE *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;
		size_t left = n - i;

		three |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= left > 2 ? bytes[i + 2] : 0;
		putc(digits[three >> 18], out);
		putc(digits[three >> 12 & 63], out);
		putc(left > 1 ? digits[three >> 6 & 63] : '=', out);
		putc(left > 2 ? digits[three & 63] : '=', out);
	}
}

static void print_packed(const struct buf *plain, FILE *out)
{
	uLongf size = compressBound(plain->len);
	struct buf packed = { 0 };

	buf_reserve(&packed, size);
	if (compress2(packed.data, &size, plain->data, plain->len, Z_DEFAULT_COMPRESSION) == Z_OK)
		put_base64(packed.data, size, out);
	buf_fini(&packed);
}

static void print_payload(const struct picture *pic, FILE *out)
{
	struct buf plain = { 0 };

	put_description(pic, &plain);
	put_nodes(pic, &plain);
	for (uint32_t i = 0; i < pic->report->profile->n_lanes; i++) {
		put_sums(&pic->lanes[i], pic->nodes.n, &plain);
		put_cells(pic->lanes[i].base.data, pic->lanes[i].base.n, pic->nodes.n, &plain);
	}
	print_packed(&plain, out);
	buf_fini(&plain);
}

static void print_times(const struct picture *pic, FILE *out)
{
	struct buf plain = { 0 };

	for (uint32_t i = 0; i < pic->report->profile->n_lanes; i++) {
		put_cells(pic->lanes[i].cells.data, pic->lanes[i].cells.n, pic->nodes.n, &plain);
		put_moments(&pic->lanes[i], html_counter(pic->report->profile, i), pic->nodes.n,
			    &plain);
	}
	print_packed(&plain, out);
	buf_fini(&plain);
}

/* A payload of its own: it is read only when somebody looks at code. */
static void print_code(const struct picture *pic, FILE *out)
{
	struct buf plain = { 0 };

	if (!pic->code)
		return;
	buf_str(&plain, pic->code);
	print_packed(&plain, out);
	buf_fini(&plain);
}

static void html_print_title(const struct picture *pic, FILE *out)
{
	const struct session_info *info = &pic->report->profile->session->info;

	markup_print_text(*info->command ? info->command : info->target, out);
}

static void print_style(const struct picture *pic, FILE *out)
{
	(void)pic;
	fputs(html_style, out);
}

static void print_script(const struct picture *pic, FILE *out)
{
	(void)pic;
	fputs(html_script, out);
}

/* What the template names between braces: {{title}}. */
static const struct {
	const char *name;
	void (*print)(const struct picture *pic, FILE *out);
} fields[] = {
	{ "title", html_print_title }, { "style", print_style }, { "script", print_script },
	{ "data", print_payload },     { "times", print_times }, { "code", print_code },
};

void picture_print_html(const struct picture *pic, FILE *out)
{
	const char *at = html_page, *field;

	for (; (field = strstr(at, "{{")); at = strstr(field, "}}") + 2) {
		fwrite(at, 1, (size_t)(field - at), out);
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
			if (!strncmp(field + 2, fields[i].name, strlen(fields[i].name)))
				fields[i].print(pic, out);
	}
	fputs(at, out);
}
