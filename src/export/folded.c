/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, as flamegraph.pl and its successors read them: "comm;outermost;…;innermost N".
 *
 * The format has one weight a line and no escapes. With several events, the event is the outermost
 * frame. ';' in a name becomes ':' and control characters '?'.
 */
#include "export/folded.h"

#include "base/utf8.h"
#include "export/names.h"
#include "export/text.h"
#include "store/session.h"

/* Control characters of a name become '?', and ';' becomes ':'. */
static void folded_name(struct buf *out, const char *name)
{
	size_t first = out->len;

	utf8_append_visible(out, name);
	for (size_t i = first; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
}

void folded_chain(struct buf *out, const struct export *x, uint32_t node)
{
	const struct profile *p = x->profile;
	uint32_t chain[PROFILE_MAX_DEPTH], n = 0;

	for (; node && n < PROFILE_MAX_DEPTH; node = p->nodes.data[node].parent)
		chain[n++] = p->nodes.data[node].function;
	while (n) {
		folded_name(out, frame_name(x->frames, chain[--n]));
		if (n)
			buf_u8(out, ';');
	}
}

static void folded_put_entry(const struct export *x, struct buf *out, size_t entry, uint32_t lane)
{
	const struct profile *p = x->profile;
	uint64_t weight = weight_value(&profile_weights(p, entry)[lane], x->options->by_period);
	uint32_t comm = profile_class_value(p, PROFILE_COMM, p->entries.data[entry].group);

	if (!weight)
		return;
	if (p->n_lanes > 1) {
		folded_name(out, p->session->info.counters[p->lanes[lane].counter].name);
		buf_u8(out, ';');
	}
	folded_name(out, strings_get(&p->comms, (string_id){ comm }));
	buf_u8(out, ';');
	folded_chain(out, x, p->entries.data[entry].node);
	buf_u8(out, ' ');
	text_u64(out, weight);
	buf_u8(out, '\n');
}

static int write_folded(const struct export *x, struct sink *out, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < x->profile->entries.n && !sink_failed(out); i++) {
		for (uint32_t lane = 0; lane < x->profile->n_lanes; lane++)
			folded_put_entry(x, &out->buf, i, lane);
		sink_step(out);
	}
	return 0;
}

const struct export_ops export_folded = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_COMM }, .n = 1 },
	.with_chains = true,
	.write = write_folded,
};
