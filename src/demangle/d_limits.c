/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/d_limits.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define MAX_LENGTH     1024
#define TEXT_OF_LETTER 16 /* "immutable(", ")" and ", " are the most text for a letter */
#define MAX_SIZE       4000000
#define MAX_WORK       64000000

/* A name is read only up to `end`. */
struct d_reader {
	const char *name;
	size_t end;
};

static bool d_limits_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char letter_at(const struct d_reader *d, size_t at)
{
	return at < d->end ? d->name[at] : '\0';
}

static size_t read_number(const struct d_reader *d, size_t *at)
{
	size_t number = 0;

	for (; d_limits_is_digit(letter_at(d, *at)); ++*at)
		number = MIN(number * 10 + (size_t)(d->name[*at] - '0'), MAX_LENGTH);
	return number;
}

/* Behind "Q": upper case letters, then a lower case one, are a number of base 26. */
static size_t read_distance(const struct d_reader *d, size_t *at)
{
	size_t distance = 0;

	for (; letter_at(d, *at) >= 'A' && letter_at(d, *at) <= 'Z'; ++*at)
		distance = MIN(distance * 26 + (size_t)(d->name[*at] - 'A'), MAX_LENGTH);
	if (letter_at(d, *at) < 'a' || letter_at(d, *at) > 'z')
		return 0;
	return distance * 26 + (size_t)(d->name[(*at)++] - 'a');
}

/* "3std5array": the end; d->end if parameters of functions or templates are part of the name. */
static size_t end_of_qualified_name(const struct d_reader *d, size_t at)
{
	for (;;) {
		char c = letter_at(d, at);

		if (d_limits_is_digit(c)) {
			size_t len = read_number(d, &at);

			at = MIN(at + len, d->end);
		} else if (c == 'Q') {
			at++;
			read_distance(d, &at);
		} else {
			return c && strchr("_MFUWVRY", c) ? d->end : at;
		}
	}
}

/* The end of the type that starts at `at`, or a place behind it. */
static size_t end_of_type(const struct d_reader *d, size_t at)
{
	size_t missing = 1;

	while (missing) {
		char c = letter_at(d, at), next = letter_at(d, at + 1);

		if (c && strchr("xyOAP", c)) {
			at++;
		} else if (c == 'N' && (next == 'g' || next == 'h')) {
			at += 2;
		} else if (c == 'G') {
			at++;
			read_number(d, &at);
		} else if (c == 'H') { /* of a key and a value */
			at++;
			missing++;
		} else if (c == 'Q') {
			at++;
			read_distance(d, &at);
			missing--;
		} else if (c && strchr("CSETI", c)) {
			at = end_of_qualified_name(d, at + 1);
			missing--;
		} else if (c >= 'a' && c <= 'z') {
			at += c == 'z' ? 2 : 1;
			missing--;
		} else {
			return d->end;
		}
	}
	return MIN(at, d->end);
}

static size_t end_of_repeated(const struct d_reader *d, size_t at)
{
	size_t len;

	if (!d_limits_is_digit(d->name[at]))
		return end_of_type(d, at);
	len = read_number(d, &at);
	return MIN(at + len, d->end);
}

/* sizes[i]: of the text for the first i letters. */
static uint64_t repeated_size(const char *name, size_t len, size_t q, const uint64_t *sizes)
{
	struct d_reader whole = { name, len }, earlier = { name, q };
	size_t at = q + 1, distance = read_distance(&whole, &at), start;

	if (!distance || distance > q)
		return 0;
	start = q - distance;
	return sizes[end_of_repeated(&earlier, start)] - sizes[start];
}

/* The end of the identifier that starts at `at`, if one may start there; 0 otherwise. */
static size_t end_of_identifier(const struct d_reader *d, size_t at)
{
	size_t len;

	if (d_limits_is_digit(d->name[at])) {
		len = read_number(d, &at);
		return at + len;
	}
	if (d->name[at] != 'Q')
		return 0;
	at++;
	return read_distance(d, &at) ? at : 0;
}

/* The number of functions around the name, and of all parts that can be read as one. */
static unsigned count_functions(const char *name, size_t len)
{
	struct d_reader whole = { name, len };
	bool is_counted[MAX_LENGTH + 1] = { false };
	unsigned n = 0;

	for (size_t i = 0; i < len; i++) {
		size_t end = end_of_identifier(&whole, i);

		if (end && end < len && strchr("MFUWVRY", name[end]) && !is_counted[end]) {
			is_counted[end] = true;
			n++;
		}
	}
	return n;
}

/* Whether text and time stay in the limits even if each letter that can double them does. */
static bool is_surely_harmless(const char *name, size_t len)
{
	static const bool can_double[256] = {
		['Q'] = true, ['M'] = true, ['F'] = true, ['U'] = true,
		['W'] = true, ['V'] = true, ['R'] = true, ['Y'] = true,
	};
	unsigned n = 0;

	for (size_t i = 0; i < len; i++)
		n += can_double[(uint8_t)name[i]];
	return n < 32 && (uint64_t)TEXT_OF_LETTER * len << n <= MAX_SIZE;
}

bool d_name_is_harmless(const char *name, size_t len)
{
	uint64_t sizes[MAX_LENGTH + 1];
	unsigned n_functions;

	if (len > MAX_LENGTH || is_surely_harmless(name, len))
		return len <= MAX_LENGTH;
	sizes[0] = 0;
	for (size_t i = 0; i < len; i++) {
		uint64_t size = TEXT_OF_LETTER;

		if (name[i] == 'Q')
			size += repeated_size(name, len, i, sizes);
		sizes[i + 1] = sizes[i] + size;
		if (sizes[i + 1] > MAX_SIZE)
			return false;
	}
	n_functions = count_functions(name, len);
	return n_functions < 32 && sizes[len] << n_functions <= MAX_WORK;
}
