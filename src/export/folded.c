/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flamegraph.pl and its successors read them: "comm;outermost;…;innermost N".
 *
 * The format has one weight a line and no escapes: where several events were counted, the event is
 * the outermost frame; ';' in a name becomes ':' and control characters '?'.
 */
#include <inttypes.h>

#include "base/utf8.h"
#include "export/export.h"
#include "export/names.h"
#include "store/session.h"

struct folder {
	const struct export *x;
	struct sink *out;
	VEC(uint32_t) chain;
};

static void put_name(struct buf *line, const char *name)
{
	size_t first = line->len;

	utf8_append(line, name, true);
	for (size_t i = first; i < line->len; i++)
		if (line->data[i] == ';')
			line->data[i] = ':';
}

static void put_chain(struct folder *f, uint32_t node)
{
	const struct profile *p = f->x->profile;

	f->chain.n = 0;
	for (; node; node = p->nodes.data[node].parent)
		vec_push(&f->chain, p->nodes.data[node].function);
	while (f->chain.n) {
		buf_u8(&f->out->buf, ';');
		put_name(&f->out->buf, frame_name(f->x->frames, f->chain.data[--f->chain.n]));
	}
}

static void put_entry(struct folder *f, size_t entry, uint32_t lane)
{
	const struct profile *p = f->x->profile;
	uint64_t weight = weight_value(&profile_weights(p, entry)[lane], f->x->options->by_period);
	uint32_t comm = profile_class_value(p, PROFILE_COMM, p->entries.data[entry].group);

	if (!weight)
		return;
	if (p->n_lanes > 1) {
		put_name(&f->out->buf, p->session->info.counters[p->lanes[lane].counter].name);
		buf_u8(&f->out->buf, ';');
	}
	put_name(&f->out->buf, strings_get(&p->comms, (string_id){ comm }));
	put_chain(f, p->entries.data[entry].node);
	buf_printf(&f->out->buf, " %" PRIu64 "\n", weight);
	sink_step(f->out);
}

static int write_folded(const struct export *x, struct sink *out, struct error *err)
{
	struct folder f = { .x = x, .out = out };

	(void)err;
	for (size_t i = 0; i < x->profile->entries.n && !sink_failed(out); i++)
		for (uint32_t lane = 0; lane < x->profile->n_lanes; lane++)
			put_entry(&f, i, lane);
	vec_fini(&f.chain);
	return 0;
}

const struct export_ops export_folded = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_COMM }, .n = 1 },
	.with_chains = true,
	.write = write_folded,
};
