/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/pattern.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/*
 * A pattern is a program, and matching runs all of its paths at once, a byte at a time (Thompson,
 * "Regular Expression Search Algorithm", 1968). Jumps are relative, so a piece of a program can be
 * copied and moved.
 */
enum step_kind { STEP_SET, STEP_SPLIT, STEP_JUMP, STEP_BEGIN, STEP_END };

struct step {
	enum step_kind kind;
	int32_t to;      /* SPLIT: also there; JUMP: only there; relative */
	uint64_t set[4]; /* SET: the bytes */
};

struct pattern {
	VEC(struct step) steps;
	/* Of a run: the steps that are reached, in two lists, and the mark of each. */
	uint32_t *now, *next, *marks, *stack, mark;
	size_t n_now, n_next;
};

#define MAX_DEPTH  64
#define MAX_REPEAT 1000
#define NO_MAXIMUM UINT32_MAX

struct parser {
	const char *at;
	struct pattern *pattern;
	unsigned int depth; /* of groups */
	bool ignores_case;
	const char *problem;
};

/* ---- sets of bytes ---- */

static void set_add(uint64_t set[4], unsigned int from, unsigned int to)
{
	for (unsigned int c = from; c <= to; c++)
		set[c / 64] |= UINT64_C(1) << c % 64;
}

static bool set_has(const uint64_t set[4], uint8_t c)
{
	return set[c / 64] >> c % 64 & 1;
}

static void set_invert(uint64_t set[4])
{
	for (int i = 0; i < 4; i++)
		set[i] = ~set[i];
}

/* \d, \w, \s and their capitals. */
static bool set_add_class(uint64_t set[4], char letter)
{
	uint64_t class[4] = { 0 };

	switch (letter | 0x20) {
	case 'd':
		set_add(class, '0', '9');
		break;
	case 'w':
		set_add(class, '0', '9');
		set_add(class, 'A', 'Z');
		set_add(class, 'a', 'z');
		set_add(class, '_', '_');
		break;
	case 's':
		set_add(class, '\t', '\r');
		set_add(class, ' ', ' ');
		break;
	default:
		return false;
	}
	if (!(letter & 0x20))
		set_invert(class);
	for (int i = 0; i < 4; i++)
		set[i] |= class[i];
	return true;
}

static void set_ignore_case(uint64_t set[4])
{
	for (uint8_t c = 'a'; c <= 'z'; c++) {
		uint8_t capital = (uint8_t)(c - 0x20);

		if (set_has(set, c) || set_has(set, capital)) {
			set_add(set, c, c);
			set_add(set, capital, capital);
		}
	}
}

/* ---- the parser ---- */

static void parser_fail(struct parser *p, const char *problem)
{
	if (!p->problem)
		p->problem = problem;
}

static size_t parser_steps(const struct parser *p)
{
	return p->pattern->steps.n;
}

static void emit(struct parser *p, struct step step)
{
	if (parser_steps(p) >= PATTERN_MAX_STEPS)
		parser_fail(p, "it has too many parts");
	else
		vec_push(&p->pattern->steps, step);
}

/* Moves what begins at `at`, and puts a step there. */
static void emit_before(struct parser *p, size_t at, struct step step)
{
	emit(p, step);
	if (p->problem)
		return;
	memmove(&p->pattern->steps.data[at + 1], &p->pattern->steps.data[at],
		(parser_steps(p) - 1 - at) * sizeof(step));
	p->pattern->steps.data[at] = step;
}

static void emit_jump(struct parser *p, enum step_kind kind, ssize_t to)
{
	emit(p, (struct step){ .kind = kind, .to = (int32_t)to });
}

static void emit_set(struct parser *p, const uint64_t set[4])
{
	struct step step = { .kind = STEP_SET };

	memcpy(step.set, set, sizeof(step.set));
	emit(p, step);
}

static void emit_byte(struct parser *p, char c)
{
	uint64_t set[4] = { 0 };

	set_add(set, (uint8_t)c, (uint8_t)c);
	if (p->ignores_case)
		set_ignore_case(set);
	emit_set(p, set);
}

/* Any character of UTF-8 but those of a set. */
static void emit_others(struct parser *p, const uint64_t but[4])
{
	uint64_t first[4] = { 0 }, set[4] = { 0 };

	set_add(set, 0x80, 0xbf);
	for (int i = 0; i < 4; i++)
		first[i] = ~(but[i] | set[i]);
	emit_set(p, first);
	emit_jump(p, STEP_SPLIT, 3);
	emit_set(p, set);
	emit_jump(p, STEP_JUMP, -2);
}

/* The character behind a backslash that stands for itself, or for a control character. */
static char escaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
}

static void parse_escape(struct parser *p)
{
	char c = *p->at;
	uint64_t set[4] = { 0 };

	if (!c) {
		parser_fail(p, "a backslash stands at its end");
		return;
	}
	p->at++;
	if (set_add_class(set, c))
		emit_set(p, set);
	else if (c >= '0' && c <= '9')
		parser_fail(p, "a reference to a group is not possible");
	else if (((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && escaped(c) == c)
		parser_fail(p, "a letter behind a backslash is not known");
	else
		emit_byte(p, escaped(c));
}

/* A character of a set. Returns false for a class, which is added. */
static bool parse_set_character(struct parser *p, uint64_t set[4], uint8_t *out)
{
	char c = *p->at++;

	if (c == '\\' && *p->at) {
		c = *p->at++;
		if (set_add_class(set, c))
			return false;
		c = escaped(c);
	}
	/* A set has bytes, and such a character has several. */
	if ((uint8_t)c >= 0x80)
		parser_fail(p, "in brackets, there are only characters of ASCII: use (ä|ö)");
	*out = (uint8_t)c;
	return true;
}

/* "[a-z_]", behind the bracket. */
static void parse_set(struct parser *p)
{
	bool is_negative = *p->at == '^', is_first = true;
	uint64_t set[4] = { 0 };

	p->at += is_negative;
	for (; *p->at && (*p->at != ']' || is_first); is_first = false) {
		uint8_t from, to;

		if (!parse_set_character(p, set, &from))
			continue;
		to = from;
		if (p->at[0] == '-' && p->at[1] && p->at[1] != ']') {
			p->at++;
			if (!parse_set_character(p, set, &to) || to < from)
				parser_fail(p, "a range in brackets has no order");
		}
		if (to >= from)
			set_add(set, from, to);
	}
	if (*p->at != ']') {
		parser_fail(p, "a bracket is not closed");
		return;
	}
	p->at++;
	if (p->ignores_case)
		set_ignore_case(set);
	if (is_negative)
		emit_others(p, set);
	else
		emit_set(p, set);
}

static void parse_dot(struct parser *p)
{
	uint64_t set[4] = { 0 };

	set_add(set, '\n', '\n');
	emit_others(p, set);
}

static void parse_alternatives(struct parser *p);

/* "(…)", behind the parenthesis. */
static void parse_group(struct parser *p)
{
	if (!strncmp(p->at, "?:", 2))
		p->at += 2;
	else if (*p->at == '?')
		parser_fail(p, "of groups with (?, there is only (?:");
	if (++p->depth > MAX_DEPTH)
		parser_fail(p, "its groups are too deep");
	else
		parse_alternatives(p);
	p->depth--;
	if (*p->at != ')')
		parser_fail(p, "a parenthesis is not closed");
	else
		p->at++;
}

static void parse_atom(struct parser *p)
{
	char c = *p->at++;

	switch (c) {
	case '(':
		parse_group(p);
		break;
	case '[':
		parse_set(p);
		break;
	case '.':
		parse_dot(p);
		break;
	case '\\':
		parse_escape(p);
		break;
	case '^':
		emit_jump(p, STEP_BEGIN, 0);
		break;
	case '$':
		emit_jump(p, STEP_END, 0);
		break;
	case '*':
	case '+':
	case '?':
	case '{':
		parser_fail(p, "there is nothing to repeat");
		break;
	default:
		emit_byte(p, c);
	}
}

/* A number from p->at on, to its end. False: none is there, or it is above MAX_REPEAT. */
static bool parse_count(struct parser *p, uint32_t *out)
{
	const char *begin = p->at;

	for (*out = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
		*out = *out * 10 + (uint32_t)(*p->at - '0');
		if (*out > MAX_REPEAT)
			return false;
	}
	return p->at > begin;
}

/* "{2}", "{2,}", "{2,5}", behind the brace. */
static bool parse_counts(struct parser *p, uint32_t *least, uint32_t *most)
{
	if (!parse_count(p, least))
		return false;
	*most = *least;
	if (*p->at == ',') {
		p->at++;
		if (*p->at == '}')
			*most = NO_MAXIMUM;
		else if (!parse_count(p, most))
			return false;
	}
	if (*p->at != '}')
		return false;
	p->at++;
	return *most >= *least;
}

/* Emits the piece so often as it may come. The steps from `start` on are its first copy. */
static void repeat(struct parser *p, size_t start, uint32_t least, uint32_t most)
{
	size_t n = parser_steps(p) - start;
	cleanup(free_at_exit) struct step *piece = xmalloc((n + 1) * sizeof(*piece));
	uint32_t n_copies = most == NO_MAXIMUM ? least : most;

	if (n)
		memcpy(piece, &p->pattern->steps.data[start], n * sizeof(*piece));
	p->pattern->steps.n = start;
	for (uint32_t i = 0; i < n_copies && !p->problem; i++) {
		if (i >= least)
			emit_jump(p, STEP_SPLIT, (ssize_t)n + 1);
		for (size_t k = 0; k < n; k++)
			emit(p, piece[k]);
	}
	if (most != NO_MAXIMUM)
		return;
	emit_jump(p, STEP_SPLIT, (ssize_t)n + 2);
	for (size_t k = 0; k < n; k++)
		emit(p, piece[k]);
	emit_jump(p, STEP_JUMP, -(ssize_t)n - 1);
}

static void parse_repeated(struct parser *p)
{
	size_t start = parser_steps(p);

	parse_atom(p);
	while (!p->problem && *p->at && strchr("*+?{", *p->at)) {
		char c = *p->at++;
		uint32_t least = c == '+', most = c == '?' ? 1 : NO_MAXIMUM;

		if (c == '{' && !parse_counts(p, &least, &most))
			parser_fail(p, "numbers in braces are {2}, {2,} or {2,5}, up to 1000");
		else
			repeat(p, start, least, most);
		if (*p->at == '?') /* the shorter match first: the same texts match */
			p->at++;
	}
}

static void parse_alternatives(struct parser *p)
{
	size_t start = parser_steps(p);

	while (!p->problem && *p->at && *p->at != ')') {
		size_t n = parser_steps(p) - start;

		if (*p->at != '|') {
			parse_repeated(p);
			continue;
		}
		/* The rest is the other alternative. */
		p->at++;
		emit_before(p, start, (struct step){ .kind = STEP_SPLIT, .to = (int32_t)n + 2 });
		emit_jump(p, STEP_JUMP, 0);
		start = parser_steps(p);
		if (p->problem)
			break;
		parse_alternatives(p); /* as deep as there are steps */
		if (!p->problem)
			p->pattern->steps.data[start - 1].to =
				(int32_t)(parser_steps(p) - start + 1);
	}
}

int pattern_new(const char *text, struct pattern **out, struct error *err)
{
	cleanup(pattern_free_at_exit) struct pattern *made = xcalloc(1, sizeof(*made));
	struct parser p = { .at = text, .pattern = made };
	size_t n;

	if (!strncmp(p.at, "(?i)", 4)) {
		p.ignores_case = true;
		p.at += 4;
	}
	parse_alternatives(&p);
	if (!p.problem && *p.at)
		parser_fail(&p, "a parenthesis was not opened");
	if (p.problem)
		return error_set(err, -EINVAL, "'%s' is no regular expression: %s", text,
				 p.problem);
	n = made->steps.n + 1;
	made->now = xcalloc(n, sizeof(*made->now));
	made->next = xcalloc(n, sizeof(*made->next));
	made->marks = xcalloc(n, sizeof(*made->marks));
	made->stack = xcalloc(2 * n, sizeof(*made->stack));
	*out = take_ptr(made);
	return 0;
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	vec_fini(&p->steps);
	free(p->now);
	free(p->next);
	free(p->marks);
	free(p->stack);
	free(p);
}

/* ---- matching ---- */

/* Adds a step to the next list, or the steps that it leads to. Each comes once. */
static void reach(struct pattern *p, size_t first, bool is_begin, bool is_end)
{
	size_t n_stack = 0;

	p->stack[n_stack++] = (uint32_t)first;
	while (n_stack) {
		uint32_t at = p->stack[--n_stack];
		const struct step *step = &p->steps.data[at];

		if (p->marks[at] == p->mark)
			continue;
		p->marks[at] = p->mark;
		if (at == p->steps.n || step->kind == STEP_SET) {
			p->next[p->n_next++] = at;
			continue;
		}
		if (step->kind != STEP_JUMP &&
		    (step->kind == STEP_SPLIT || (step->kind == STEP_BEGIN && is_begin) ||
		     (step->kind == STEP_END && is_end)))
			p->stack[n_stack++] = at + 1;
		if (step->kind == STEP_JUMP || step->kind == STEP_SPLIT)
			p->stack[n_stack++] = (uint32_t)((ssize_t)at + step->to);
	}
}

static void next_round(struct pattern *p)
{
	uint32_t *reached = p->next;

	p->next = p->now;
	p->now = reached;
	p->n_now = p->n_next;
	p->n_next = 0;
	p->mark++;
}

bool pattern_matches(struct pattern *p, const char *text)
{
	memset(p->marks, 0, (p->steps.n + 1) * sizeof(*p->marks));
	p->mark = 1;
	p->n_next = 0;
	reach(p, 0, true, !*text);
	for (; *text && p->n_next; text++) {
		next_round(p);
		for (size_t i = 0; i < p->n_now; i++) {
			uint32_t at = p->now[i];

			if (at < p->steps.n && set_has(p->steps.data[at].set, (uint8_t)*text))
				reach(p, at + 1, false, !text[1]);
		}
	}
	for (size_t i = 0; i < p->n_next && !*text; i++)
		if (p->next[i] == p->steps.n)
			return true;
	return false;
}
