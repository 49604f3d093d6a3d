/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data file. If the first byte is not perf's 'P' or '2', the input is also read with a magic
 * number in front, so the fuzzer need not find one.
 */
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "event/text.h"
#include "perfdata/perfdata.h"

struct printing_sink {
	struct event_sink sink;
	struct buf text;
	uint64_t sum;
};

static uint64_t sum_bytes(const void *bytes, uint64_t n)
{
	const uint8_t *at = bytes;
	uint64_t sum = 0;

	for (uint64_t i = 0; at && i < n; i++)
		sum += at[i];
	return sum;
}

/* Touches all that an event points at. */
static int print(struct event_sink *sink, const struct event *e)
{
	struct printing_sink *p = (struct printing_sink *)sink;
	const struct sample_extra *x = e->type == EVENT_SAMPLE ? e->sample.extra : NULL;

	p->text.len = 0;
	event_format(&p->text, e);
	if (!x)
		return 0;
	p->sum += sum_bytes(x->raw, x->raw_size) + sum_bytes(x->stack, x->stack_size) +
		  sum_bytes(x->aux, x->aux_size) +
		  sum_bytes(x->branches, x->n_branches * sizeof(*x->branches)) +
		  sum_bytes(x->values, x->n_values * sizeof(*x->values)) +
		  sum_bytes(x->user.values, 8 * (uint64_t)x->user.n_values) +
		  sum_bytes(x->interrupted.values, 8 * (uint64_t)x->interrupted.n_values);
	return 0;
}

static int print_record(void *context, const struct perfdata_record *r)
{
	struct printing_sink *p = context;

	p->sum += sum_bytes(r->bytes, r->size) + sum_bytes(r->payload, MIN(r->payload_size, 64));
	return r->has_event ? print(&p->sink, &r->event) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool has_magic = size && (data[0] == 'P' || data[0] == '2');
	size_t before = has_magic ? 0 : 8;
	uint8_t *copy = xmalloc(size + before + 1); /* so that a read beyond it is seen */
	struct perfdata_bytes file = { copy, size + before, "fuzz" };
	struct printing_sink sink = { { print }, { 0 }, 0 };
	struct perfdata *p;

	if (before)
		memcpy(copy, "PERFILE2", 8);
	if (size)
		memcpy(copy + before, data, size);
	if (perfdata_open(&file, 1, &p, NULL) == 0) {
		perfdata_find_aux(p);
		perfdata_read(p, &sink.sink, NULL);
		perfdata_free(p);
	}
	if (perfdata_open(&file, 1, &p, NULL) == 0) {
		perfdata_each_record(p, print_record, &sink, NULL);
		perfdata_free(p);
	}
	buf_fini(&sink.text);
	free(copy);
	return 0;
}
