/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/branch_stack.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

/* perf's words (perf-record(1), --branch-filter). */
static const struct {
	const char *word;
	uint64_t bit;
} kinds_of_branches[] = {
	{ "any", PERF_SAMPLE_BRANCH_ANY },
	{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
	{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "call", PERF_SAMPLE_BRANCH_CALL },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
	{ "call_stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "in_tx", PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "u", PERF_SAMPLE_BRANCH_USER },
	{ "k", PERF_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERF_SAMPLE_BRANCH_HV },
	{ "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
};

#define NO_KINDS ((uint64_t)(PERF_SAMPLE_BRANCH_PLM_ALL | PERF_SAMPLE_BRANCH_TYPE_SAVE))

int branch_kinds_parse(const char *text, uint64_t *kinds, struct error *err)
{
	cleanup(free_at_exit) char *words = xstrdup(text);
	char *rest = words, *word;

	*kinds = 0;
	while ((word = strsep(&rest, ","))) {
		uint64_t bit = 0;

		for (size_t i = 0; i < ARRAY_SIZE(kinds_of_branches); i++)
			if (!strcmp(kinds_of_branches[i].word, word))
				bit = kinds_of_branches[i].bit;
		if (!bit)
			return error_set(err, -EINVAL, "'%s' is no kind of branches; there are: %s",
					 word, BRANCH_KINDS);
		*kinds |= bit;
	}
	if (!(*kinds & ~NO_KINDS))
		*kinds |= PERF_SAMPLE_BRANCH_ANY;
	return 0;
}

int branch_stack_request(struct counters *counters, uint64_t kinds, struct error *err)
{
	vec_foreach (counters, c) {
		if (!counter_is_hardware(c) || c->ext)
			return error_set(err, -ENOTSUP,
					 "event '%s' has no branch stacks: they come with the "
					 "processor's counters, such as -e cycles",
					 c->name);
		c->attr.branch_sample_type = kinds;
	}
	return 0;
}
