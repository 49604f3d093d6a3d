/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AutoFDO's text profile, for `create_llvm_prof --profiler=text` and `create_gcov --profiler=text`
 * (google/autofdo, sample_reader.cc). It has three lists, each after its length. Places are
 * hexadecimal offsets in the binary's file:
 *
 *   n  FROM-TO:COUNT …     ranges that ran without a branch taken
 *   n  ADDRESS:COUNT …     samples
 *   n  FROM->TO:COUNT …    branches within the binary
 *
 * A session has samples alone: the readers then need --use_lbr=false.
 */
#include <inttypes.h>

#include "export/branches.h"
#include "export/export.h"
#include "export/leaves.h"

static size_t n_inside(const struct branch_list *list)
{
	size_t n = 0;

	vec_foreach (list, b)
		n += b->from != NOT_HERE && b->to != NOT_HERE;
	return n;
}

static void put_pairs(struct sink *out, const struct branch_list *list, const char *between)
{
	buf_printf(&out->buf, "%zu\n", n_inside(list));
	vec_foreach (list, b) {
		if (b->from == NOT_HERE || b->to == NOT_HERE)
			continue;
		buf_printf(&out->buf, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n", b->from, between,
			   b->to, b->count);
		sink_step(out);
	}
}

static int write_autofdo(const struct export *x, struct sink *out, struct error *err)
{
	struct branches b = { 0 };
	int r = branches_of_export(x, &b, err);

	if (r < 0)
		return r;
	put_pairs(out, &b.ranges, "-");
	buf_printf(&out->buf, "%zu\n", b.addresses.n);
	vec_foreach (&b.addresses, a) {
		buf_printf(&out->buf, "%" PRIx64 ":%" PRIu64 "\n", a->from, a->count);
		sink_step(out);
	}
	put_pairs(out, &b.branches, "->");
	branches_fini(&b);
	return 0;
}

const struct export_ops export_autofdo = {
	.target = EXPORT_STREAM,
	.from_recording = true,
	.from_session = true,
	.with_places = true,
	.of_samples = true,
	.itrace = "i100usle",
	.write = write_autofdo,
};
