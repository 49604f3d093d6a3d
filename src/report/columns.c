/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "report/report.h"
#include "store/session.h"

static const struct row *row_at(const struct report *r, uint32_t row)
{
	return &r->rows.list.data[row];
}

static void set_count(struct value *out, uint64_t number)
{
	out->kind = VALUE_COUNT;
	out->number = number;
}

static void set_text(struct value *out, const char *text)
{
	out->kind = VALUE_TEXT;
	out->text = text;
}

/* ---- weights ---- */

enum { OF_SELF, OF_TOTAL };

/* The weight of a row, or NULL where it has none of that sort. */
static const struct weight *weight_of(const struct report *r, uint32_t row, uint32_t lane, int of)
{
	const struct row *at = row_at(r, row);
	const struct cell *cell = &rows_cells(&r->rows, row)[lane];
	bool is_arc = at->role == ROLE_CALLER || at->role == ROLE_CALLEE;

	if (of == OF_TOTAL)
		return at->has_total ? &cell->total : NULL;
	return is_arc ? NULL : &cell->self;
}

static void get_samples(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
			struct value *out)
{
	const struct weight *w = weight_of(r, row, lane, c->arg);

	if (w)
		set_count(out, w->samples);
}

static void get_events(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		       struct value *out)
{
	const struct weight *w = weight_of(r, row, lane, c->arg);

	if (!w)
		return;
	out->kind = VALUE_PERIOD;
	out->number = w->period;
}

static void get_percent(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
			struct value *out)
{
	const struct weight *w = weight_of(r, row, lane, c->arg);
	uint64_t whole = report_whole(r, row, lane);

	if (!w)
		return;
	out->kind = VALUE_PERCENT;
	out->number = weight_value(w, r->options->by_period);
	out->percent = whole ? 100.0 * (double)out->number / (double)whole : 0;
}

static void get_accumulated(const struct report *r, const struct column *c, uint32_t row,
			    uint32_t lane, struct value *out)
{
	(void)c;
	if (r->accumulated)
		set_count(out, r->accumulated[(size_t)row * r->rows.n_lanes + lane].samples);
}

static void get_accumulated_percent(const struct report *r, const struct column *c, uint32_t row,
				    uint32_t lane, struct value *out)
{
	uint64_t whole = report_whole(r, row, lane);

	(void)c;
	if (!r->accumulated)
		return;
	out->kind = VALUE_PERCENT;
	out->number = weight_value(&r->accumulated[(size_t)row * r->rows.n_lanes + lane],
				   r->options->by_period);
	out->percent = whole ? 100.0 * (double)out->number / (double)whole : 0;
}

/* ---- keys ---- */

static const char *image_text(const struct report *r, uint32_t image)
{
	const struct profile_image *i = &r->profile->images.data[image];

	return r->options->long_names || r->options->for_program ? i->image->path : i->name;
}

static void get_key(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		    struct value *out)
{
	enum profile_key key = (enum profile_key)c->arg;
	uint32_t value = row_at(r, row)->value[key];

	if (value == NO_INDEX)
		value = key == PROFILE_ADDRESS ? row_at(r, row)->value[PROFILE_SYMBOL]
					       : profile_lane_value(&r->profile->lanes[lane], key);
	if (value == NO_INDEX)
		return;
	if (key == PROFILE_IMAGE || key == PROFILE_APP)
		set_text(out, image_text(r, value));
	else if (key == PROFILE_CPU && value != PROFILE_CPU_ALL)
		set_count(out, value);
	else if (key == PROFILE_LINE && (r->options->long_names || r->options->for_program))
		set_text(out, r->profile->lines.data[value].path);
	else
		set_text(out, profile_key_text(r->profile, key, value, out->scratch));
}

enum { ID_PID, ID_TID };

/* Of the row, or of the columns. */
static uint32_t class_value(const struct report *r, enum profile_key key, uint32_t row,
			    uint32_t lane)
{
	uint32_t value = row_at(r, row)->value[key];

	return value == NO_INDEX ? profile_lane_value(&r->profile->lanes[lane], key) : value;
}

static void get_id(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		   struct value *out)
{
	const struct profile_process *process = NULL;
	uint32_t at = class_value(r, PROFILE_THREAD, row, lane);
	int32_t id;

	if (at != NO_INDEX) {
		process = &r->profile->threads.data[at];
	} else if (c->arg == ID_PID) {
		at = class_value(r, PROFILE_PROCESS, row, lane);
		process = at == NO_INDEX ? NULL : &r->profile->processes.data[at];
	}
	id = process ? c->arg == ID_PID ? process->pid : process->tid : CLASS_ALL;
	if (id != CLASS_ALL)
		set_count(out, (uint32_t)id);
}

static void get_build_id(const struct report *r, const struct column *c, uint32_t row,
			 uint32_t lane, struct value *out)
{
	uint32_t image = row_at(r, row)->value[PROFILE_IMAGE];

	(void)c;
	(void)lane;
	_Static_assert(sizeof(out->scratch) >= BUILD_ID_HEX_SIZE, "a build id fits");
	if (image == NO_INDEX)
		return;
	build_id_hex(&r->profile->images.data[image].image->build_id, out->scratch);
	if (*out->scratch)
		set_text(out, out->scratch);
}

/* ---- place in the report ---- */

static const char *other_text(const struct report *r, const struct row *row, char *text,
			      size_t size)
{
	if (r->options->max_rows || !r->min_percent)
		snprintf(text, size, "other (%" PRIu32 " more)", row->n_hidden);
	else
		snprintf(text, size, "other (%" PRIu32 " below %.4g %%)", row->n_hidden,
			 r->min_percent);
	return text;
}

static void set_key_text(const struct report *r, enum profile_key key, uint32_t value,
			 struct value *out)
{
	if (key == PROFILE_IMAGE || key == PROFILE_APP) {
		set_text(out, image_text(r, value));
	} else if (key == PROFILE_CPU) { /* "0" alone would say nothing */
		char text[KEY_TEXT_SIZE];

		snprintf(out->scratch, sizeof(out->scratch), "cpu %s",
			 profile_key_text(r->profile, key, value, text));
		set_text(out, out->scratch);
	} else {
		set_text(out, profile_key_text(r->profile, key, value, out->scratch));
	}
}

/* The heading of a group's tree: all its keys. */
static void set_group_text(const struct report *r, const struct row *row, struct value *out)
{
	size_t used = 0;

	for (size_t i = 0; i < r->profile->class_keys.n && used < sizeof(out->scratch); i++) {
		enum profile_key key = r->profile->class_keys.key[i];
		struct value part;

		set_key_text(r, key, row->value[key], &part);
		used += (size_t)snprintf(out->scratch + used, sizeof(out->scratch) - used, "%s%s",
					 i ? ", " : "", part.text);
	}
	set_text(out, out->scratch);
}

/* Nests: the text of the key that the row stands for. Trees and blocks: the function. */
static void get_name(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		     struct value *out)
{
	const struct row *at = row_at(r, row);
	bool is_nest = r->view->layout == LAYOUT_NEST;
	enum profile_key key = is_nest ? r->keys.key[at->depth] : PROFILE_SYMBOL;

	(void)c;
	(void)lane;
	if (at->kind == ROW_OTHER)
		set_text(out, other_text(r, at, out->scratch, sizeof(out->scratch)));
	else if (at->kind == ROW_GROUP && !is_nest)
		set_group_text(r, at, out);
	else if (at->value[key] == NO_INDEX)
		set_text(out, "(no caller)");
	else
		set_key_text(r, key, at->value[key], out);
}

enum { PLACE_ID, PLACE_PARENT, PLACE_DEPTH, PLACE_BLOCK, PLACE_OTHER };

static void get_place(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		      struct value *out)
{
	const struct row *at = row_at(r, row);
	const uint32_t numbers[] = {
		[PLACE_ID] = row,          [PLACE_PARENT] = at->parent,  [PLACE_DEPTH] = at->depth,
		[PLACE_BLOCK] = at->block, [PLACE_OTHER] = at->n_hidden,
	};
	uint32_t number = numbers[c->arg];

	(void)lane;
	if (number != NO_INDEX && (c->arg != PLACE_OTHER || number))
		set_count(out, number);
}

static void get_role(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		     struct value *out)
{
	static const char *const roles[] = { "", "caller", "self", "callee" };

	(void)c;
	(void)lane;
	set_text(out, roles[row_at(r, row)->role]);
}

const char *report_lane_text(const struct report *r, uint32_t lane, enum profile_key key,
			     char scratch[static KEY_TEXT_SIZE])
{
	uint32_t value = profile_lane_value(&r->profile->lanes[lane], key);
	char text[KEY_TEXT_SIZE];

	if (value == NO_INDEX)
		return "";
	if (key != PROFILE_CPU)
		return profile_key_text(r->profile, key, value, scratch);
	snprintf(scratch, KEY_TEXT_SIZE, "cpu %s", profile_key_text(r->profile, key, value, text));
	return scratch;
}

static const struct column report_columns[] = {
#define COLUMN(key, title, kind, is_per_lane, arg, get, help) \
	{ key, title, help, VALUE_##kind, is_per_lane, arg, get },
#include "report/columns.def"
#define X(id, key, kind, help) COLUMN(key, key, TEXT, false, PROFILE_##id, get_key, help)
	PROFILE_KEYS(X)
#undef X
#undef COLUMN
};

const struct column *column_find(const char *key, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(report_columns); i++)
		if (strlen(report_columns[i].key) == len &&
		    !strncmp(report_columns[i].key, key, len))
			return &report_columns[i];
	return NULL;
}

static int unknown_column(const char *key, size_t len, struct error *err)
{
	struct buf known = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(report_columns); i++)
		buf_printf(&known, "%s%s", i ? ", " : "", report_columns[i].key);
	error_set(err, -EINVAL, "no column '%.*s'; there are %s%s", (int)len, key, buf_cstr(&known),
		  profile_key_find(key, len) < 0 ? "" : "; --by takes perf's keys");
	buf_fini(&known);
	return -EINVAL;
}

int column_list_parse(struct column_list *list, const char *text, struct error *err)
{
	for (;; text++) {
		bool is_reversed = *text == '-';
		size_t len = strcspn(text += is_reversed, ",");
		const struct column *c = column_find(text, len);

		if (!c)
			return unknown_column(text, len, err);
		if (list->n == MAX_COLUMNS)
			return error_set(err, -E2BIG, "more than %d columns", MAX_COLUMNS);
		list->is_reversed[list->n] = is_reversed;
		list->column[list->n++] = c;
		text += len;
		if (!*text)
			return 0;
	}
}

void column_value(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		  struct value *out)
{
	assert(row < r->rows.list.n && lane < r->rows.n_lanes);
	out->kind = VALUE_NONE; /* no more: the scratch is large */
	c->get(r, c, row, lane, out);
	assert(out->kind == VALUE_NONE || out->kind == c->kind ||
	       (c->kind == VALUE_TEXT && out->kind == VALUE_COUNT));
}

int column_compare(const struct report *r, const struct column *c, uint32_t row_a, uint32_t row_b)
{
	struct value a, b;

	column_value(r, c, row_a, 0, &a);
	column_value(r, c, row_b, 0, &b);
	if (a.kind == VALUE_TEXT && b.kind == VALUE_TEXT)
		return strcmp(a.text, b.text);
	if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
		return (a.kind == VALUE_NONE) - (b.kind == VALUE_NONE);
	return (a.number < b.number) - (a.number > b.number);
}
