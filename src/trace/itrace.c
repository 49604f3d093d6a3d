/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/itrace.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "trace/branch_filter.h"

enum argument { NOTHING, PERIOD, ERROR_FLAGS, LOG_FLAGS, SIZE, BRANCHES, COUNT, REPEAT };

static const struct {
	char letter;
	uint8_t argument;
	size_t field;
} letters[] = {
#define X(letter, field, argument, help) { letter, argument, offsetof(struct itrace, field) },
	ITRACE_LETTERS(X)
#undef X
};

enum { DEFAULT_CHAIN = 16, DEFAULT_BRANCHES = 64, DEFAULT_PERIOD_NS = 100000 };

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " ,");
}

static int refuse_letter(const char *at, struct error *err)
{
	char all[3 * ARRAY_SIZE(letters) + 1] = "";
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		all[n++] = letters[i].letter;
		all[n++] = ' ';
	}
	all[n - 1] = '\0';
	return error_set(err, -EINVAL, "'%c' is no letter of --itrace; there are %s", *at, all);
}

static bool take_number(const char **at, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*out = strtoull(*at, &end, 10);
	*at = end;
	return true;
}

static int take_period(const char **at, struct itrace *o, struct error *err)
{
	static const struct {
		const char *name;
		enum itrace_unit unit;
		uint64_t scale;
	} units[] = {
		{ "ns", ITRACE_NS, 1 },       { "us", ITRACE_NS, 1000 },
		{ "ms", ITRACE_NS, 1000000 }, { "i", ITRACE_INSTRUCTIONS, 1 },
		{ "t", ITRACE_TICKS, 1 },
	};
	const char *from = *at = skip_blanks(*at);

	if (!take_number(at, &o->period))
		return 0;
	if (errno)
		return error_set(err, -EINVAL, "the period %.*s of 'i' is too large",
				 (int)(*at - from), from);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);

		if (strncmp(*at, units[i].name, n) != 0)
			continue;
		o->unit = units[i].unit;
		if (o->period > UINT64_MAX / units[i].scale)
			return error_set(err, -EINVAL, "the period %.*s%s of 'i' is too large",
					 (int)(*at - from), from, units[i].name);
		o->period *= units[i].scale;
		*at += n;
		return 0;
	}
	if (!**at) {
		o->unit = ITRACE_NS;
		return 0;
	}
	return error_set(err, -EINVAL,
			 "the period of 'i' is followed by '%c', which is no unit; there are i "
			 "(instructions), t (ticks), ns, us and ms",
			 **at);
}

static int take_size(const char **at, char letter, uint32_t *size, struct error *err)
{
	const char *next = skip_blanks(*at);
	uint64_t n;

	if (!take_number(&next, &n))
		return 0;
	if (errno || !n || n > ITRACE_MAX_CHAIN)
		return error_set(err, -EINVAL, "the size of '%c' is from 1 to %d, not %.*s", letter,
				 ITRACE_MAX_CHAIN, (int)(next - skip_blanks(*at)),
				 skip_blanks(*at));
	*size = (uint32_t)n;
	*at = next;
	return 0;
}

/* Flags behind 'e' and 'd', each after a '+' or '-'. */
static int take_flags(const char **at, char letter, struct itrace *o, struct error *err)
{
	while (**at == '+' || **at == '-') {
		bool is_minus = **at == '-';
		char flag = (*at)[1];

		if (letter == 'e' && flag == 'o')
			o->hides_overflows = is_minus;
		else if (letter == 'e' && flag == 'l')
			o->hides_losses = is_minus;
		else if (letter == 'd' && flag == 'a')
			*(is_minus ? &o->logs_no_events : &o->logs_all) = true;
		else if (letter == 'e')
			return error_set(
				err, -EINVAL,
				"'e%c%.1s' is no flag of 'e'; there are o (overflows) and l "
				"(lost data)",
				**at, *at + 1);
		else
			return error_set(err, -EINVAL,
					 "'d%c%.1s' is no flag of 'd'; there is a (all events)",
					 **at, *at + 1);
		*at += 2;
	}
	return 0;
}

static int take_argument(const char **at, enum argument argument, char letter, struct itrace *o,
			 struct error *err)
{
	switch (argument) {
	case PERIOD:
		return take_period(at, o, err);
	case ERROR_FLAGS:
	case LOG_FLAGS:
		return take_flags(at, letter, o, err);
	case SIZE:
		o->has_chain_size |= isdigit((unsigned char)*skip_blanks(*at));
		return take_size(at, letter, &o->chain_size, err);
	case BRANCHES:
		return take_size(at, letter, &o->branch_size, err);
	case COUNT:
		if (!take_number(at, &o->skip) || errno)
			return error_set(err, -EINVAL,
					 "'s' needs a number behind it: how many events are left "
					 "out at the beginning");
		return 0;
	case NOTHING:
	case REPEAT:
		break;
	}
	return 0;
}

static int take_letter(const char **at, struct itrace *o, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		uint8_t *field = (uint8_t *)o + letters[i].field;

		if (letters[i].letter != **at)
			continue;
		*field = letters[i].argument == REPEAT ? (uint8_t)MIN(*field + 1, 2) : 1;
		++*at;
		return take_argument(at, letters[i].argument, letters[i].letter, o, err);
	}
	return refuse_letter(*at, err);
}

int itrace_parse(const char *text, struct itrace *out, struct error *err)
{
	struct itrace o = { .unit = ITRACE_NS,
			    .period = DEFAULT_PERIOD_NS,
			    .chain_size = DEFAULT_CHAIN,
			    .branch_size = DEFAULT_BRANCHES };
	int r = 0;

	for (const char *at = skip_blanks(text); *at && !r; at = skip_blanks(at))
		r = take_letter(&at, &o, err);
	if (r < 0)
		return r;
	/* As often as can be. */
	if (!o.period) {
		o.period = 1;
		o.unit = ITRACE_INSTRUCTIONS;
	}
	o.branches |= o.calls | o.returns;
	assert(o.chain_size && o.chain_size <= ITRACE_MAX_CHAIN);
	assert(o.branch_size && o.branch_size <= ITRACE_MAX_CHAIN);
	*out = o;
	return 0;
}

int itrace_check_filter(const struct itrace *o, struct error *err)
{
	if (!o->filter || o->branches)
		return 0;
	return error_set(err, -EINVAL,
			 "--filter chooses among branches, but none are made: add b, c or r to "
			 "--itrace");
}

int itrace_refuse_filter(const struct itrace *o, struct error *err)
{
	if (!o || !o->filter)
		return 0;
	return error_set(err, -EINVAL,
			 "it has no Intel PT, so --filter has no branches to choose among");
}

int itrace_take_filter(struct itrace *o, const char *text, struct branch_filter *room,
		       struct error *err)
{
	int r = text ? branch_filter_parse(text, room, err) : 0;

	if (!text || r < 0)
		return r < 0 ? error_wrap(err, r, "--filter") : 0;
	o->filter = room;
	return itrace_check_filter(o, err);
}
