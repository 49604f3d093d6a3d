/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

/* No tag of a filter begins with '/' or '.', and most paths have no colon. */
static bool is_path(const char *operand)
{
	if (input_is_clickhouse(operand))
		return true;
	return (strchr("/.", *operand) || !strchr(operand, ':')) && access(operand, F_OK) == 0;
}

/* An operand that is there as a file or directory is the session; all else is a filter. */
static int take_operand(struct diff_source *side, const char *operand, struct error *err)
{
	if (is_path(operand)) {
		if (side->path)
			return error_set(err, -EINVAL, "%s and %s: give one session for each side",
					 side->path, operand);
		side->path = operand;
		return 0;
	}
	return query_add(&side->query, operand, err);
}

/* -i DIR FILTER…: both sides are of one session, and differ in their windows. */
static int take_one(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	int r = 0;

	if (!s->args.against)
		return error_set(
			err, -EINVAL,
			"-i %s is one session: give --against TIME, to compare with the time of "
			"--since, --until or --at",
			s->args.input);
	for (int side = 0; side < 2; side++) {
		s->sides[side].path = s->args.input;
		for (size_t i = 0; i < operands->n && r >= 0; i++)
			r = query_add(&s->sides[side].query, operands->data[i], err);
	}
	return r;
}

/* The sessions of `dir` are those of a side. */
static int take_folder(struct diff_setup *s, enum diff_side side, const char *dir,
		       const char *except, uint64_t most, struct error *err)
{
	struct diff_baseline *b = &s->baselines[side];
	int r = diff_baseline_find(dir, except, most, b, err);

	if (r < 0)
		return r;
	s->n_earlier[side] = b->sessions.n - 1;
	s->earlier[side] = xcalloc(b->sessions.n, sizeof(*s->earlier[side]));
	s->sides[side].path = b->sessions.data[0].path;
	for (size_t i = 0; i < s->n_earlier[side]; i++)
		s->earlier[side][i].path = b->sessions.data[i + 1].path;
	return 0;
}

/* The operands from `first` on, to all sessions. */
static int add_filters(struct diff_setup *s, const struct option_list *operands, size_t first,
		       struct error *err)
{
	int r = 0;

	for (size_t i = first; i < operands->n && r >= 0; i++)
		for (int side = 0; side < 2 && r >= 0; side++) {
			r = query_add(&s->sides[side].query, operands->data[i], err);
			for (size_t k = 0; k < s->n_earlier[side] && r >= 0; k++)
				r = query_add(&s->earlier[side][k].query, operands->data[i], err);
		}
	return r;
}

/* --against-history DIR NEW FILTER…: the old sides are sessions of DIR. */
static int take_history(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	int r;

	if (s->args.input || s->args.against || !operands->n)
		return error_set(err, -EINVAL,
				 "--against-history takes one operand, the new session, and "
				 "filters; no -i and no --against");
	s->sides[DIFF_NEW].path = operands->data[0];
	r = take_folder(s, DIFF_OLD, s->args.history, operands->data[0], s->args.n_sessions, err);
	return r < 0 ? r : add_filters(s, operands, 1, err);
}

/* Of all sessions of both folders, in the order of their starts, each two are one of each folder.
 */
static bool are_in_turn(const struct diff_baseline baselines[2])
{
	const struct dated_session *old = baselines[DIFF_OLD].sessions.data;
	const struct dated_session *new = baselines[DIFF_NEW].sessions.data;

	for (size_t i = 1; i < baselines[DIFF_OLD].sessions.n; i++)
		if (MIN(old[i - 1].start_ns, new[i - 1].start_ns) <
		    MAX(old[i].start_ns, new[i].start_ns))
			return false;
	return true;
}

/* --in-turn OLD NEW FILTER…: both are folders; the n-th session of one belongs to the n-th of the
 * other. */
static int take_turns(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	const struct diff_baseline *b = s->baselines;
	int r = 0;

	if (s->args.input || s->args.against || s->args.history || operands->n < 2)
		return error_set(
			err, -EINVAL,
			"--in-turn takes two folders of sessions, the old ones and the new "
			"ones, and filters; no -i, --against or --against-history");
	for (int side = 0; side < 2 && r >= 0; side++)
		r = take_folder(s, side, operands->data[side], NULL, SIZE_MAX, err);
	if (r >= 0 && b[DIFF_OLD].sessions.n != b[DIFF_NEW].sessions.n)
		return error_set(
			err, -EINVAL,
			"--in-turn: %s has %zu sessions, and %s has %zu; record one of each "
			"in each turn",
			operands->data[DIFF_OLD], b[DIFF_OLD].sessions.n, operands->data[DIFF_NEW],
			b[DIFF_NEW].sessions.n);
	if (r >= 0 && !are_in_turn(b))
		log_warning(
			"diff: the sessions of %s and %s were not recorded in turn: what changed "
			"on the machine meanwhile counts as a change of the build",
			operands->data[DIFF_OLD], operands->data[DIFF_NEW]);
	return r < 0 ? r : add_filters(s, operands, 2, err);
}

/* A B FILTER…: the first two are sessions, the filters are for both. */
static int take_plain(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	if (s->args.in_turn)
		return take_turns(s, operands, err);
	if (s->args.history)
		return take_history(s, operands, err);
	if (s->args.input)
		return take_one(s, operands, err);
	if (operands->n < 2)
		return error_set(
			err, -EINVAL,
			"name two sessions: 'assay diff OLD NEW', or { OLD FILTER… } { NEW "
			"FILTER… }");
	for (int side = 0; side < 2; side++)
		s->sides[side].path = operands->data[side];
	return add_filters(s, operands, 2, err);
}

/* Without a path, a saved session is one of the default store. */
static bool side_has_source(const struct diff_source *side)
{
	return side->path || query_has(&side->query, FILTER_SESSION) ||
	       query_has(&side->query, FILTER_SESSION_EXCLUDE) ||
	       query_has(&side->query, FILTER_ARCHIVE);
}

/* Its path, or its saved session. */
static const char *side_place(const struct diff_source *side)
{
	if (query_has(&side->query, FILTER_SESSION))
		return side->query.filters[FILTER_SESSION].data[0].glob;
	return input_place(side->path ? side->path : DEFAULT_SESSION, &side->query);
}

/* What to call a side. */
static void name_side(struct diff_source *side)
{
	struct buf text = { 0 };

	buf_str(&text, side_place(side));
	if (side->query.has_window) {
		buf_str(&text, ", ");
		time_window_print(&text, &side->query.window);
	}
	side->label = xstrdup(buf_cstr(&text));
	buf_fini(&text);
}

const char *diff_source_name(const struct diff_source *side)
{
	return side->label;
}

/* COMMON… { OLD… } { NEW… }: OProfile's way to write it. */
static int take_braces(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	int side = -1, n_closed = 0, r = 0;

	for (size_t i = 0; i < operands->n && r >= 0; i++) {
		const char *operand = operands->data[i];

		if (!strcmp(operand, "{") && side < 0 && n_closed < 2) {
			side = n_closed;
		} else if (!strcmp(operand, "}") && side >= 0) {
			side = -1;
			n_closed++;
		} else if (!strcmp(operand, "{") || !strcmp(operand, "}") ||
			   (side < 0 && n_closed)) {
			r = error_set(err, -EINVAL,
				      "'%s': write COMMON… { OLD… } { NEW… }, with braces as "
				      "separate words",
				      operand);
		} else {
			for (int to = 0; to < 2 && r >= 0; to++)
				if (side < 0 || side == to)
					r = take_operand(&s->sides[to], operand, err);
		}
	}
	if (r >= 0 && (n_closed != 2 || side >= 0))
		r = error_set(err, -EINVAL, "two specifications in braces are needed");
	for (int to = 0; to < 2 && r >= 0; to++)
		if (!side_has_source(&s->sides[to]))
			r = error_set(err, -EINVAL, "the %s side names no session",
				      to ? "new" : "old");
	return r;
}

/* Sets the old side's window: the new side's window moved, or a separate one. */
static int take_windows(struct diff_setup *s, struct error *err)
{
	struct query *old = &s->sides[DIFF_OLD].query, *new = &s->sides[DIFF_NEW].query;
	int r = input_window(&s->args.window, new, err);

	old->window = new->window;
	old->has_window = new->has_window;
	old->overview_ns = new->overview_ns = UINT64_MAX;
	if (r >= 0 && new->has_window && s->n_earlier[DIFF_OLD])
		return error_set(
			err, -EINVAL,
			"--since, --until and --at are moments of one session, and the old "
			"side has %zu: choose seconds of each by a filter, time:FROM-TO",
			s->n_earlier[DIFF_OLD] + 1);
	return r < 0 || !s->args.against
		       ? r
		       : input_window_against(s->args.against, s->args.window.at, new, old, err);
}

static int finish_query(const struct diff_setup *s, struct diff_source *side, struct error *err)
{
	side->query.with_idle = s->args.idle;
	side->query.frames = shown_frames_find(s->args.frames);
	side->query.containers = input_containers(s->in);
	return query_check(&side->query, err);
}

bool diff_has_braces(const struct option_list *operands)
{
	for (size_t i = 0; i < operands->n; i++)
		if (!strcmp(operands->data[i], "{"))
			return true;
	return false;
}

int diff_setup_parse(struct diff_setup *s, const struct option_list *operands, struct error *err)
{
	bool in_braces = diff_has_braces(operands);
	int r;

	if (in_braces && s->args.input)
		return error_set(err, -EINVAL, "-i %s and sessions in braces exclude each other",
				 s->args.input);
	r = in_braces ? take_braces(s, operands, err) : take_plain(s, operands, err);
	r = r < 0 ? r : take_windows(s, err);
	for (int side = 0; side < 2; side++)
		name_side(&s->sides[side]);
	s->rules = xcalloc(s->args.fail_if.n + 1, sizeof(*s->rules));
	for (size_t i = 0; i < s->args.fail_if.n && r >= 0; i++) {
		r = gate_rule_parse(s->args.fail_if.data[i], &s->rules[i], err);
		s->n_rules += r >= 0;
	}
	for (int side = 0; side < 2; side++) {
		r = r < 0 ? r : finish_query(s, &s->sides[side], err);
		for (size_t i = 0; i < s->n_earlier[side]; i++) {
			name_side(&s->earlier[side][i]);
			r = r < 0 ? r : finish_query(s, &s->earlier[side][i], err);
		}
	}
	if (r >= 0 && s->n_rules && s->args.tree)
		r = error_set(err, -EINVAL,
			      "--fail-if is for functions, and does not go with "
			      "--tree");
	return r;
}

static void side_fini(struct diff_source *side)
{
	profile_free(side->profile);
	symbolizer_free(side->symbols);
	session_close(side->session);
	query_fini(&side->query);
	free(side->label);
}

void diff_setup_fini(struct diff_setup *s)
{
	for (int side = 0; side < 2; side++) {
		side_fini(&s->sides[side]);
		for (size_t i = 0; i < s->n_earlier[side]; i++)
			side_fini(&s->earlier[side][i]);
		free(s->earlier[side]);
		diff_baseline_fini(&s->baselines[side]);
	}
	for (size_t i = 0; i < s->n_rules; i++) {
		if (s->results)
			gate_result_fini(&s->results[i]);
		gate_rule_fini(&s->rules[i]);
	}
	free(s->results);
	free(s->rules);
	input_free(s->in);
	option_list_fini(&s->args.fail_if);
	option_list_fini(&s->args.code.image_path);
}
