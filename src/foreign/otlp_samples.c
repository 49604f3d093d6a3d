/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/otlp_samples.h"

#include <string.h>

#include "foreign/wire.h"

bool otlp_next_number(struct reader *packed, uint64_t *out)
{
	if (!reader_left(packed))
		return false;
	*out = reader_uleb(packed);
	return !packed->bad;
}

bool otlp_next_sample(struct reader *profile, struct reader *out)
{
	struct wire_field f;

	while (wire_next(profile, &f))
		if (f.number == 2 && f.type == WIRE_BYTES) {
			*out = f.inside;
			return true;
		}
	return false;
}

bool otlp_only_value(struct reader message, struct otlp_sample *out, uint64_t *value)
{
	struct wire_field f;

	*out = (struct otlp_sample){ 0 };
	while (wire_next(&message, &f)) {
		if (f.number == SAMPLE_STACK)
			out->stack = f.value;
		else if (f.number == SAMPLE_ATTRIBUTES)
			out->attributes = f.inside;
		else if (f.number == SAMPLE_VALUES)
			out->values = f.inside;
		else if (f.number == SAMPLE_TIMES)
			return false;
	}
	return !message.bad && otlp_next_number(&out->values, value) && !reader_left(&out->values);
}

static bool same_bytes(const struct reader *a, const struct reader *b)
{
	size_t n = reader_left(a);

	return n == reader_left(b) && (!n || !memcmp(a->at, b->at, n));
}

bool otlp_are_pairs(struct reader counts, struct reader profile)
{
	struct reader number, sample;
	struct otlp_sample a, b;
	uint64_t n, value;

	while (otlp_next_sample(&counts, &number))
		if (!otlp_next_sample(&profile, &sample) || !otlp_only_value(number, &a, &n) ||
		    !otlp_only_value(sample, &b, &value) || a.stack != b.stack ||
		    !same_bytes(&a.attributes, &b.attributes) || !n || n > INT64_MAX)
			return false;
	return !otlp_next_sample(&profile, &sample);
}
