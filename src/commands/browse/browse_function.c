/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One function: its callers and callees, its source and assembly. And the comparison of sessions.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/source_files.h"
#include "commands/browse/browse.h"
#include "commands/diff_events.h"
#include "open/input.h"
#include "profile/diff.h"
#include "report/diff_print.h"
#include "store/session.h"

/* Callers and callees below this share of the whole are left out. */
#define LEAST_PERCENT 0.01
#define LEAST_POINTS  0.1 /* of a change */

/* ---- callers and callees ---- */

static bool is_of(const struct live_line *line, const struct profile *p, uint32_t function)
{
	return line->is_row && line->role == ROLE_SELF &&
	       (line->function == function ||
		(p->functions.data[function].symbol == NO_SYMBOL &&
		 line->image == p->functions.data[function].image && line->function != NO_INDEX &&
		 p->functions.data[line->function].symbol == NO_SYMBOL));
}

/* Takes the titles, and the rows of one block; the others are freed. */
static void keep_block(const struct live_text *all, uint32_t block, struct live_text *out)
{
	for (size_t i = 0; i < all->lines.n; i++) {
		struct live_line *line = &all->lines.data[i];

		if (!i || (line->is_row && line->block == block))
			vec_push(&out->lines, *line);
		else
			free(line->text);
	}
}

static void add_neighbours(struct browse *b, uint32_t function, struct live_text *out)
{
	struct live_request request = { .session = b->session,
					.symbols = b->symbols,
					.query = &b->query,
					.style = browse_style(b) };
	struct report_options options = b->options;
	struct live_text all = { 0 };
	uint32_t block = NO_INDEX;

	options.min_percent = LEAST_PERCENT;
	live_add_report(&request, &callgraph_view, &options, b->profile, &all);
	vec_foreach (&all.lines, line)
		if (is_of(line, b->profile, function))
			block = line->block;
	keep_block(&all, block, out);
	vec_fini(&all.lines);
}

/* ---- source and assembly ---- */

static void load_places(struct browse *b)
{
	if (b->annotation)
		return;
	b->places_request = (struct profile_request){ .session = b->session,
						      .symbols = b->symbols,
						      .query = &b->query,
						      .is_unwanted = &b->is_unwanted,
						      .with_functions = true,
						      .with_places = true };
	b->places = profile_load(&b->places_request);
	b->sources = source_files_new(&b->search);
	b->annotation = annotation_new(b->places, b->symbols, b->sources);
	b->annotation->with_assembly = true;
	b->annotation->by_period = b->options.by_period;
}

/* Code of several processes has an image without a process, and there one for each. */
static bool is_same_image(const struct image *image, const struct image *other)
{
	if (image->kind == IMAGE_JIT && !image->pid)
		return other->kind == IMAGE_JIT;
	return !strcmp(image->path, other->path) &&
	       build_id_equal(&image->build_id, &other->build_id);
}

/* The same function of the profile with places; NO_INDEX: no sample is in its own code. */
static uint32_t same_function(const struct browse *b, uint32_t function)
{
	const struct profile *p = b->profile, *q = b->places;
	const struct profile_function *f = &p->functions.data[function];
	const struct image *image = p->images.data[f->image].image;
	char here[KEY_TEXT_SIZE], there[KEY_TEXT_SIZE];
	const char *name = profile_key_text(p, PROFILE_SYMBOL, function, here);

	for (uint32_t i = 0; i < q->functions.n; i++) {
		const struct image *other = q->images.data[q->functions.data[i].image].image;

		if (is_same_image(image, other) &&
		    !strcmp(name, profile_key_text(q, PROFILE_SYMBOL, i, there)))
			return i;
	}
	return NO_INDEX;
}

static void add_code(struct browse *b, uint32_t function, struct live_text *out)
{
	const struct text_style style = browse_style(b);
	cleanup(free_at_exit) char *text = NULL;
	uint32_t same;
	size_t size = 0;
	FILE *memory;

	load_places(b);
	same = same_function(b, function);
	live_add_text(out, "\n");
	if (same == NO_INDEX || b->places->functions.data[same].symbol == NO_SYMBOL) {
		live_add_text(out, same == NO_INDEX ? "no samples in its own code"
						    : "no source and assembly: the function has "
						      "no name");
		return;
	}
	memory = open_memstream(&text, &size);
	if (!memory)
		return;
	b->annotation->with_source = !b->without_source;
	annotation_print_function(b->annotation, same, &style, memory);
	fclose(memory);
	live_add_text(out, text);
}

void browse_make_function(struct browse *b, struct browse_page *page)
{
	add_neighbours(b, page->function, &page->text);
	page->code = (uint32_t)page->text.lines.n;
	add_code(b, page->function, &page->text);
}

/* ---- another session ---- */

static int print_comparison(struct browse *b, struct browse_page *page, struct profile *old,
			    struct error *err)
{
	struct profile *const profiles[2] = { old, b->profile };
	const char *const names[2] = { page->path, b->session->path };
	const struct profile *const sides[2] = { old, b->profile };
	const struct text_style style = browse_style(b);
	cleanup(free_at_exit) char *text = NULL;
	struct diff diff = { 0 };
	uint32_t lanes[2];
	size_t size = 0;
	bool is_same;
	FILE *out;
	int r = diff_events_match(sides, names, lanes, &is_same, err);

	if (r < 0)
		return r;
	out = open_memstream(&text, &size);
	if (!out)
		return error_set(err, -ENOMEM, "no memory for the comparison");
	diff_functions(sides, lanes, b->options.by_period, &diff);
	diff_print_text(&(struct diff_page){ .diff = &diff,
					     .profiles = { profiles[0], profiles[1] },
					     .paths = { names[0], names[1] },
					     .event = diff_event_name(sides[0], lanes[0]),
					     .min_points = LEAST_POINTS,
					     .counts_time =
						     diff_event_counts_time(sides[0], lanes[0]) &&
						     diff_event_counts_time(sides[1], lanes[1]),
					     .n_old = 1 },
			&style, out);
	fclose(out);
	diff_fini(&diff);
	live_add_text(&page->text, text);
	return 0;
}

int browse_make_compare(struct browse *b, struct browse_page *page, struct error *err)
{
	const struct symbolizer_config config = { .cache_dir = b->cache_dir };
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(profile_free_at_exit) struct profile *old = NULL;
	struct profile_request request;
	bool is_damaged;
	int r = input_open(b->in, page->path, &session, &is_damaged, err);

	if (r < 0)
		return r;
	symbols = input_symbolizer_with(b->in, page->path, &config);
	request = browse_request(b, session, symbols);
	r = input_profile(&request, is_damaged, &old, err);
	return r < 0 ? r : print_comparison(b, page, old, err);
}
