/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk over a stack, registers and rules that may all be anything: it ends,
 * for a reason, within the frames that it may have. Input: a byte of flags, five
 * registers, 16 rules, the stack.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"
#include "unwind/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define N_RULES    16
#define MAX_FRAMES 300

/* One page of 16 rows of 256 bytes each. */
struct made_table {
	struct unwind_header header;
	struct unwind_rule rules[N_RULES];
	uint32_t pages[2];
	uint32_t rows[N_RULES];
};

static enum unwind_where find(void *ctx, uint64_t pc, struct unwind_place *place)
{
	if (pc >> 56 == 0xff)
		return UNWIND_AT_NOTHING;
	if (pc & 0x80000)
		return UNWIND_AT_CODE;
	place->table = ctx;
	place->file_off = pc & 0xfff;
	return UNWIND_AT_TABLE;
}

static void make_table(struct made_table *t, struct reader *r)
{
	const void *rules = reader_bytes(r, sizeof(t->rules));

	*t = (struct made_table){
		.header = {
			.version = UNWIND_VERSION,
			.size = sizeof(*t),
			.n_pages = 1,
			.n_rows = N_RULES,
			.n_rules = N_RULES,
		},
		.pages = { 0, N_RULES },
	};
	memcpy(t->header.magic, UNWIND_MAGIC, sizeof(t->header.magic));
	if (rules)
		memcpy(t->rules, rules, sizeof(t->rules));
	for (uint32_t i = 0; i < N_RULES; i++)
		t->rows[i] = unwind_row(i << 8, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint64_t pcs[MAX_FRAMES], pc, sp, fp, lr, other[17];
	struct reader r = reader_over(bytes, size);
	struct unwind_chain chain = { .pcs = pcs, .max = MAX_FRAMES };
	struct unwinder *u;
	struct made_table made;
	struct unwind_table table;
	struct unwind_input in = { .find = find, .ctx = &table };
	uint8_t flags = reader_u8(&r);

	pc = reader_u64(&r);
	sp = reader_u64(&r);
	fp = reader_u64(&r);
	lr = reader_u64(&r);
	for (int i = 0; i < 17; i++)
		other[i] = sp + (uint64_t)i * 40;
	make_table(&made, &r);
	if (!unwind_table_open(&table, &made, sizeof(made)))
		abort();
	in.regs = unwind_regs_sampled(pc, sp, fp, lr, flags & 1);
	in.is_whole = flags & 2;
	in.space = flags & 4;
	in.other = flags & 8 ? other : NULL;
	in.n_other = flags & 8 ? 17 : 0;
	in.stack_size = reader_left(&r);
	in.stack = reader_bytes(&r, in.stack_size);
	u = unwinder_new();
	unwind_walk(u, &in, &chain);
	if (chain.n == 0 || chain.n > MAX_FRAMES || chain.stop == UNWIND_GOES_ON ||
	    chain.stop >= N_UNWIND_STOPS || chain.n_by_fp >= chain.n || pcs[0] != pc)
		abort();
	unwinder_free(u);
	return 0;
}
