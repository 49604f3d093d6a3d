/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of perf script: its samples, and the branches in it. */
#include "foreign/perf_script.h"
#include "foreign/script_branches.h"
#include "foreign_sink.h"

struct touching_branches {
	struct script_branches_sink sink;
	uint64_t sum;
};

static void touch_mapping(struct script_branches_sink *sink, const struct script_mapping *m)
{
	struct touching_branches *t = (struct touching_branches *)sink;

	if (!m->size || m->start + m->size < m->start)
		abort();
	for (size_t i = 0; i < m->path.len; i++)
		t->sum += (uint8_t)m->path.at[i];
}

static void touch_branches(struct script_branches_sink *sink, const struct script_sample *s)
{
	struct touching_branches *t = (struct touching_branches *)sink;

	if (!s->n_branches || s->n_branches > SCRIPT_MAX_BRANCHES)
		abort();
	for (uint32_t i = 0; i < s->n_branches; i++)
		t->sum += s->branches[i].from ^ s->branches[i].to;
}

static int read_branches(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts)
{
	struct touching_branches branches = { { touch_mapping, touch_branches }, 0 };

	(void)sink;
	(void)facts;
	script_branches_read(text, &branches.sink);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_text(data, size, perf_script_read);
	fuzz_text(data, size, read_branches);
	return 0;
}
