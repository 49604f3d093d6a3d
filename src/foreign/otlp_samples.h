/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside foreign/: samples of OpenTelemetry's profiles (foreign/otlp.h), and two profiles that have
 * the same samples.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/reader.h"

/* Sample */
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_LINK, SAMPLE_VALUES, SAMPLE_TIMES };

struct otlp_sample {
	uint64_t stack;
	struct reader attributes, values, times;
};

/* The numbers of a repeated field, which is packed. */
bool otlp_next_number(struct reader *packed, uint64_t *out);

/* The next sample of a profile. */
bool otlp_next_sample(struct reader *profile, struct reader *out);

/* The one value of a sample without times, and the sample. False: it has others. */
bool otlp_only_value(struct reader message, struct otlp_sample *out, uint64_t *value);

/* Whether each sample of one profile has its number of samples at the same place of the other. */
bool otlp_are_pairs(struct reader counts, struct reader profile);
