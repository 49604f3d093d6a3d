/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/folded.h"

#include <math.h>

struct folded {
	struct foreign_sink *sink;
	struct foreign_facts *facts;
	double owed; /* of fractions, in (-0.5, 0.5] */
	struct foreign_frame frames[FOREIGN_MAX_FRAMES];
};

/* "12" or "12.5": a whole part, and a fraction of 0 where there is none. */
static bool parse_count(struct slice word, uint64_t *whole, double *fraction)
{
	const char *point = word.len ? memchr(word.at, '.', word.len) : NULL;
	size_t at = point ? (size_t)(point - word.at) : word.len;
	double place = 0.1;

	*fraction = 0;
	if (!slice_number(slice_head(word, at), 10, whole) || *whole > INT64_MAX)
		return false;
	for (size_t i = at + 1; i < word.len; i++, place /= 10) {
		if (word.at[i] < '0' || word.at[i] > '9')
			return false;
		*fraction += place * (word.at[i] - '0');
	}
	return true;
}

/* Cuts the count off: what is behind the last blank. */
static bool folded_split(struct slice line, struct slice *stack, uint64_t *whole, double *fraction)
{
	struct slice text = slice_trim(line);
	size_t at = text.len;

	while (at && !slice_is_space(text.at[at - 1]))
		at--;
	if (!at || !parse_count(slice_from(text, at), whole, fraction))
		return false;
	*stack = slice_trim(slice_head(text, at));
	return stack->len > 0;
}

bool folded_is_stack(struct slice line)
{
	struct slice stack;
	uint64_t whole;
	double fraction;

	return line.len && line.at[0] != '#' && folded_split(line, &stack, &whole, &fraction);
}

static void cut_suffix(struct slice *symbol, bool *is_kernel)
{
	size_t n = symbol->len;

	if (n < 4 || symbol->at[n - 4] != '_' || symbol->at[n - 3] != '[' ||
	    symbol->at[n - 1] != ']' || !strchr("kijw", symbol->at[n - 2]))
		return;
	*is_kernel = symbol->at[n - 2] == 'k';
	symbol->len -= 4;
}

static struct foreign_frame folded_parse_frame(struct slice text)
{
	struct foreign_frame f = { .symbol = slice_trim(text) };
	const char *tick;

	cut_suffix(&f.symbol, &f.is_kernel);
	tick = f.symbol.len ? memchr(f.symbol.at, '`', f.symbol.len) : NULL;
	if (tick && tick > f.symbol.at && tick + 1 < f.symbol.at + f.symbol.len) {
		f.image = slice_head(f.symbol, (size_t)(tick - f.symbol.at));
		f.symbol = slice_from(f.symbol, f.image.len + 1);
	} else if (slice_equal(f.symbol, SLICE("[unknown]"))) {
		f.symbol.len = 0;
	} else if (f.symbol.len > 2 && f.symbol.at[0] == '[' &&
		   f.symbol.at[f.symbol.len - 1] == ']') {
		f.image = slice_from(slice_head(f.symbol, f.symbol.len - 1), 1);
		f.symbol.len = 0;
	}
	if (f.is_kernel && !f.image.len)
		f.image = SLICE("[kernel.kallsyms]");
	return f;
}

/* "comm-12" or "comm-12/13" as the first frame. */
static bool take_process(struct slice text, struct foreign_sample *s)
{
	size_t dash = text.len;
	struct slice ids;
	const char *slash;
	uint64_t pid, tid;

	while (dash && text.at[dash - 1] != '-')
		dash--;
	if (dash < 2)
		return false;
	ids = slice_from(text, dash);
	slash = ids.len ? memchr(ids.at, '/', ids.len) : NULL;
	if (!slice_number(slice_head(ids, slash ? (size_t)(slash - ids.at) : ids.len), 10, &pid) ||
	    pid > INT32_MAX)
		return false;
	tid = pid;
	if (slash && (!slice_number(slice_from(ids, (size_t)(slash - ids.at) + 1), 10, &tid) ||
		      tid > INT32_MAX))
		return false;
	s->comm = slice_head(text, dash - 1);
	s->pid = (int32_t)pid;
	s->tid = (int32_t)tid;
	return true;
}

/* Innermost first, as samples have them: the line is read from its end. */
static bool parse_stack(struct folded *f, struct slice stack, struct foreign_sample *s)
{
	while (stack.len) {
		size_t at = stack.len;
		struct slice frame;

		while (at && stack.at[at - 1] != ';')
			at--;
		frame = slice_trim(slice_from(stack, at));
		stack.len = at ? at - 1 : 0;
		if (!frame.len || (!at && take_process(frame, s)))
			continue;
		if (s->n_frames == FOREIGN_MAX_FRAMES)
			return false;
		f->frames[s->n_frames++] = folded_parse_frame(frame);
	}
	return true;
}

static uint64_t round_count(struct folded *f, uint64_t whole, double fraction)
{
	double extra;

	if (fraction == 0)
		return whole;
	f->facts->n_rounded++;
	f->owed += fraction;
	extra = floor(f->owed + 0.5);
	f->owed -= extra;
	return whole + (extra > 0);
}

static int folded_take_line(struct folded *f, struct slice line, uint64_t number)
{
	struct foreign_sample s = {
		.event = SLICE("samples"), .pid = -1, .tid = -1, .frames = f->frames
	};
	struct slice stack;
	double fraction;

	if (!slice_trim(line).len || line.at[0] == '#')
		return 0;
	if (!folded_split(line, &stack, &s.samples, &fraction)) {
		foreign_facts_bad_line(f->facts, number, line);
		return 0;
	}
	f->facts->n_cut += !parse_stack(f, stack, &s);
	s.samples = s.period = round_count(f, s.samples, fraction);
	return s.samples ? f->sink->sample(f->sink, &s) : 0;
}

int folded_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts)
{
	cleanup(free_at_exit) struct folded *f = xcalloc(1, sizeof(*f));
	struct slice line;
	int r = 0;

	f->sink = sink;
	f->facts = facts;
	for (uint64_t number = 1; !r && slice_line(&text, &line); number++)
		r = folded_take_line(f, line, number);
	return r;
}
