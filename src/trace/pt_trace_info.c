/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_trace_info.h"

#include <string.h>

#include "base/mem.h"
#include "pt/errata.h"

/* The words of AUXTRACE_INFO, in perf's order (tools/perf/util/intel-pt.h). */
enum {
	WORD_PMU_TYPE,
	WORD_TIME_SHIFT,
	WORD_TIME_MULT,
	WORD_TIME_ZERO,
	WORD_HAS_TIME_ZERO,
	WORD_TSC_BIT,
	WORD_NO_RETCOMP_BIT,
	WORD_HAS_SWITCHES,
	WORD_SNAPSHOT,
	WORD_PER_CPU,
	WORD_MTC_BIT,
	WORD_MTC_FREQ_BITS,
	WORD_CTC_NUMERATOR,
	WORD_CTC_DENOMINATOR,
	WORD_CYC_BIT,
	WORD_MAX_RATIO,
	N_WORDS,
	WORD_FILTER_SIZE = N_WORDS, /* of a text behind it, then: */
	N_WORDS_MIN = WORD_MTC_BIT,
	BRANCH_BIT = 1 << 13, /* of the PMU's config … */
	PASS_THROUGH_BIT = 1, /* … and only with this does it count */
};

#define NO_TNT_BIT (1ULL << 55) /* of the config, too */

static void info_read_words(const struct perfdata_info *info, uint64_t words[static N_WORDS])
{
	memset(words, 0, N_WORDS * sizeof(*words));
	memcpy(words, info->aux_private, MIN(info->aux_private_size, N_WORDS * sizeof(*words)));
}

static struct pt_clock info_read_clock(const struct perfdata_info *info, const uint64_t *words)
{
	struct pt_clock clock = {
		.ctc_numerator = (uint32_t)words[WORD_CTC_NUMERATOR],
		.ctc_denominator = (uint32_t)words[WORD_CTC_DENOMINATOR],
		.max_ratio = (uint32_t)words[WORD_MAX_RATIO],
		.time_shift = (uint16_t)MIN(words[WORD_TIME_SHIFT], 63),
		.time_mult = (uint32_t)words[WORD_TIME_MULT],
		.time_zero = words[WORD_TIME_ZERO],
	};

	if (!clock.time_mult && info->has_time_conversion) {
		clock.time_shift = (uint16_t)MIN(info->time_shift, 63);
		clock.time_mult = (uint32_t)info->time_mult;
		clock.time_zero = info->time_zero;
	}
	return clock;
}

const char *pt_trace_info_filter(const struct perfdata_info *info, uint64_t *size)
{
	uint64_t at = (WORD_FILTER_SIZE + 1) * 8;

	if (info->aux_private_size < at)
		return NULL;
	memcpy(size, info->aux_private + at - 8, sizeof(*size));
	return *size <= info->aux_private_size - at ? (const char *)info->aux_private + at : NULL;
}

/* Behind the text of the address filter, with its end and in whole words. */
static bool info_read_event_trace(const struct perfdata_info *info)
{
	uint64_t at = (WORD_FILTER_SIZE + 1) * 8, size, value = 0;

	if (!pt_trace_info_filter(info, &size))
		return false;
	at += size ? (size + 8) & ~7ULL : 0;
	if (at + 8 <= info->aux_private_size)
		memcpy(&value, info->aux_private + at, sizeof(value));
	return value;
}

static void info_read_config(struct pt_trace_info *out, const uint64_t *words, uint64_t config)
{
	uint64_t freq = words[WORD_MTC_FREQ_BITS];

	out->config = config;
	out->has_mtc = config & words[WORD_MTC_BIT];
	out->has_cyc = config & words[WORD_CYC_BIT];
	out->lacks_tnt = config & NO_TNT_BIT;
	out->compresses_returns = !(config & words[WORD_NO_RETCOMP_BIT]);
	out->traces_branches = !(config & PASS_THROUGH_BIT) || config & BRANCH_BIT;
	if (freq)
		out->clock.mtc_shift = (uint32_t)((config & freq) >> __builtin_ctzll(freq)) & 31;
}

bool pt_trace_read_info(const struct perfdata *data, struct pt_trace_info *out)
{
	const struct perfdata_info *info = perfdata_info(data);
	uint64_t words[N_WORDS];
	bool has_event = false, has_time = false;

	if (info->aux_type != AUX_INTEL_PT || info->aux_private_size < N_WORDS_MIN * 8)
		return false;
	info_read_words(info, words);
	*out = (struct pt_trace_info){
		.clock = info_read_clock(info, words),
		.pmu_type = (uint32_t)words[WORD_PMU_TYPE],
		.is_per_cpu = words[WORD_PER_CPU],
		.is_snapshot = words[WORD_SNAPSHOT],
		.has_event_trace = info_read_event_trace(info),
		.errata = pt_errata_of(info->cpu_id),
	};
	vec_foreach (&info->counters, c) {
		if (c->attr.type != out->pmu_type)
			continue;
		if (!has_event)
			info_read_config(out, words, c->attr.config);
		has_event = true;
		out->has_kernel |= !c->attr.exclude_kernel;
		out->has_user |= !c->attr.exclude_user;
		has_time |= c->attr.sample_type & PERF_SAMPLE_TIME &&
			    c->attr.config & words[WORD_TSC_BIT];
	}
	out->is_timeless = !has_time || !words[WORD_HAS_TIME_ZERO] || !out->clock.time_mult;
	return true;
}
