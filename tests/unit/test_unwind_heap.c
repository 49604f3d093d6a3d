/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables as the BPF program reads them: collect/bpf/tables.h is compiled
 * here a second time, with memory for maps.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <ucontext.h>

#include <errno.h>
#include <string.h>

#include "unit.h"

#include "collect/missed.h"
#include "collect/sampler_limits.h"
#include "collect/unwind_heap.h"
#include "unwind_world.h"

static void *find_in_map(void *map, const void *key);
static long read_user(void *value, uint32_t size, const void *addr);

#define bpf_map_lookup_elem(map, key)          find_in_map(map, key)
#define bpf_probe_read_user(value, size, addr) read_user(value, size, addr)
#define BPF_CORE_READ(task, field)             0 /* the thread pointer, which no rule here needs */
#if defined(__x86_64__)
#define __TARGET_ARCH_x86
#else
#define __TARGET_ARCH_arm64
#endif
#include "collect/bpf/tables.h"

#define MAX_CHUNKS 64

static struct {
	struct chunk *chunks[MAX_CHUNKS];
	uint32_t n, limit, n_held;
	uint64_t stack_start, stack_end;
	uint8_t *stack; /* a copy, as sanitizers guard the original */
} world;

static void *find_in_map(void *map, const void *key)
{
	uint32_t number = *(const uint32_t *)key;

	if (map != &chunks) /* a chunk, which has one element */
		return map;
	return number < world.n ? world.chunks[number] : NULL;
}

static long read_user(void *value, uint32_t size, const void *addr)
{
	uint64_t at = (uint64_t)(uintptr_t)addr;

	if (at < world.stack_start || at + size > world.stack_end)
		return -EFAULT;
	memcpy(value, world.stack + (at - world.stack_start), size);
	return 0;
}

static uint32_t *new_chunk(void *ctx, uint32_t number)
{
	(void)ctx;
	assert_true(number <= world.n); /* below: after a clear, anew */
	if (number == world.limit)
		return NULL;
	free(number < world.n ? world.chunks[number] : NULL);
	world.chunks[number] = xcalloc(1, sizeof(struct chunk));
	world.n = MAX(world.n, number + 1);
	world.n_held++;
	return world.chunks[number]->words;
}

static void release_chunk(void *ctx, uint32_t *words)
{
	(void)ctx, (void)words;
	world.n_held--;
}

static struct unwind_heap heap_of(uint32_t limit)
{
	world.limit = limit;
	return (struct unwind_heap){ .chunk = new_chunk, .release = release_chunk };
}

static void heap_end(struct unwind_heap *h)
{
	unwind_heap_fini(h);
	assert_int_equal(world.n_held, 0);
	while (world.n)
		free(world.chunks[--world.n]);
}

static void same_rules(uint32_t place, const struct unwind_table *t)
{
	uint64_t first = (uint64_t)t->first_page << UNWIND_PAGE_BITS;
	uint64_t end = first + ((uint64_t)t->n_pages << UNWIND_PAGE_BITS) + UNWIND_PAGE_SIZE;

	for (uint64_t off = first < 16 ? 0 : first - 16; off < end; off += 5) {
		struct unwind_rule here = unwind_table_find(t, off), there = heap_rule(place, off);

		if (memcmp(&here, &there, sizeof(here)) != 0)
			fail_msg("another rule at %#llx", (unsigned long long)off);
	}
}

static void every_rule_is_found_in_the_heap(void **state)
{
	struct unwind_heap heap = heap_of(MAX_CHUNKS);
	struct world own = { 0 };
	uint32_t places[64] = { 0 };

	(void)state;
	assert_true(world_look(&own, getpid()));
	/* Twice, so that tables begin anywhere in a chunk, and some straddle two. */
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < own.images.n && i < ARRAY_SIZE(places); i++) {
			if (!own.images.data[i].block)
				continue;
			places[i] = unwind_heap_put(&heap, &own.images.data[i].table);
			assert_true(places[i] >= TABLE_FIRST);
		}
		for (size_t i = 0; i < own.images.n && i < ARRAY_SIZE(places); i++)
			if (places[i])
				same_rules(places[i], &own.images.data[i].table);
	}
	heap_end(&heap);
	world_fini(&own);
}

/* A table of `n_pages` pages, each of which has `n_rows` rows of rule 1. */
static struct unwind_header *table_of(struct unwind_table *t, uint32_t n_pages, uint32_t n_rows)
{
	size_t size = sizeof(struct unwind_header) + 16 + 4 * (size_t)n_pages + 4 +
		      4 * (size_t)n_pages * n_rows;
	struct unwind_header *h = xcalloc(1, size);
	struct unwind_rule *rules = (struct unwind_rule *)(h + 1);
	uint32_t *pages = (uint32_t *)(rules + 2), *rows = pages + n_pages + 1;

	*h = (struct unwind_header){ .version = UNWIND_VERSION,
				     .size = size,
				     .n_pages = n_pages,
				     .n_rows = n_pages * n_rows,
				     .n_rules = 2 };
	memcpy(h->magic, UNWIND_MAGIC, sizeof(h->magic));
	rules[1].cfa = UNWIND_CFA_END;
	for (uint32_t i = 0; i <= n_pages; i++)
		pages[i] = i * n_rows;
	for (uint32_t i = 0; i < n_pages * n_rows; i++)
		rows[i] = unwind_row(i % n_rows, 1);
	assert_true(unwind_table_open(t, h, size));
	return h;
}

static void a_page_s_rows_stay_in_one_chunk(void **state)
{
	struct unwind_heap heap = heap_of(4);
	struct unwind_table t;
	struct unwind_header *block = table_of(&t, 40, 4096); /* 160 of 256 Ki words */
	uint32_t place = unwind_heap_put(&heap, &t);

	(void)state;
	assert_true(place >= TABLE_FIRST);
	assert_int_equal(world.n, 3);
	assert_int_equal(world.n_held, 1); /* the one that is not full */
	for (uint32_t i = 0; i < t.n_pages; i++) {
		uint64_t rows = heap_pair(place + 4 + i * 2);

		assert_int_equal(rows >> 32, 4096);
		assert_int_equal((uint32_t)rows >> CHUNK_BITS,
				 ((uint32_t)rows + 4095) >> CHUNK_BITS);
	}
	same_rules(place, &t);
	free(block);
	heap_end(&heap);
}

static void a_table_without_room_takes_none(void **state)
{
	struct unwind_heap heap = heap_of(1);
	struct unwind_table large, small;
	struct unwind_header *large_block = table_of(&large, 20, 4096);
	struct unwind_header *small_block = table_of(&small, 3, 100);
	uint32_t first = unwind_heap_put(&heap, &small), second;

	(void)state;
	assert_true(first >= TABLE_FIRST);
	assert_int_equal(unwind_heap_put(&heap, &large), 0);
	second = unwind_heap_put(&heap, &small);
	assert_true(second > first);
	same_rules(first, &small);
	same_rules(second, &small);
	assert_int_equal(world.n, 1);
	unwind_heap_clear(&heap);
	assert_int_equal(unwind_heap_put(&heap, &small), first);
	assert_int_equal(world.n, 1);
	free(large_block);
	free(small_block);
	heap_end(&heap);
}

/* Of a room for 12 tables, one user has 6, all users 9, and root all that is left. */
static void a_user_s_tables_leave_room_for_others(void **state)
{
	struct unwind_heap heap = heap_of(4);
	uint32_t has[4] = { 0 };
	struct unwind_table t;
	struct unwind_header *block = table_of(&t, 4, 1000);

	(void)state;
	heap.max_words = 12 * (4 + 2 * (4 + 2) + 4 * 1000);
	for (uint16_t owner = 4; owner-- > 0;) {
		block->owner = owner;
		for (int i = 0; i < 12; i++)
			has[owner] += unwind_heap_put(&heap, &t) != 0;
	}
	assert_int_equal(has[3], 6);
	assert_int_equal(has[2], 3);
	assert_int_equal(has[1], 0);
	assert_int_equal(has[0], 12);
	unwind_heap_clear(&heap);
	block->owner = 1;
	assert_int_not_equal(unwind_heap_put(&heap, &t), 0);
	free(block);
	heap_end(&heap);
}

static void a_place_beyond_the_heap_has_no_rule(void **state)
{
	struct unwind_heap heap = heap_of(1);
	struct unwind_table t;
	struct unwind_header *block = table_of(&t, 3, 100);
	struct unwind_rule none = { 0 }, rule;

	(void)state;
	assert_true(unwind_heap_put(&heap, &t) != 0);
	rule = heap_rule(CHUNK_WORDS * 5, 0x1000);
	assert_memory_equal(&rule, &none, sizeof(rule));
	free(block);
	heap_end(&heap);
}

static const struct world_map *map_of(const struct world *own, uint64_t pc)
{
	vec_foreach (&own->maps, m)
		if (pc >= m->start && pc < m->end)
			return m;
	return NULL;
}

struct walkers {
	struct world own;
	uint32_t places[64];
	uint64_t in_kernel[64], in_user[64];
	size_t n_in_kernel;
	struct unwind_chain chain;
	enum unwind_stop stop;
};

static enum unwind_where find_own(void *ctx, uint64_t pc, struct unwind_place *place)
{
	struct walkers *w = ctx;
	const struct world_map *m = map_of(&w->own, pc);

	if (!m)
		return UNWIND_AT_NOTHING;
	if (m->image < 0 || !w->own.images.data[m->image].block)
		return UNWIND_AT_CODE;
	place->table = &w->own.images.data[m->image].table;
	place->file_off = pc - m->start + m->file_off;
	return UNWIND_AT_TABLE;
}

/* The loop around the step, as in collect/bpf/stack.h. */
static void walk_as_the_kernel(struct walkers *w, const __u64 *words)
{
	struct unwind_regs regs = first_registers(words);
	struct unwind_ctx c = { .registers = words };

	while (w->n_in_kernel < ARRAY_SIZE(w->in_kernel)) {
		uint64_t pc = unwind_lookup_pc(&regs);
		const struct world_map *m = map_of(&w->own, pc);
		struct unwind_rule rule = { 0 };

		w->in_kernel[w->n_in_kernel++] = regs.pc;
		if (!m) {
			w->stop = UNWIND_UNMAPPED;
			return;
		}
		if (m->image >= 0 && w->places[m->image])
			rule = heap_rule(w->places[m->image], pc - m->start + m->file_off);
		w->stop = unwind_step(rule, &regs, &c);
		if (w->stop)
			return;
	}
}

/* struct pt_regs of asm/ptrace.h. Returns the stack pointer. */
static uint64_t words_of_context(const ucontext_t *u, __u64 words[REGISTER_SLOTS])
{
#if defined(__x86_64__)
	static const int regs[] = { REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP, REG_RBX,
				    REG_R11, REG_R10, REG_R9,  REG_R8,  REG_RAX, REG_RCX,
				    REG_RDX, REG_RSI, REG_RDI, REG_RAX, REG_RIP };

	for (size_t i = 0; i < ARRAY_SIZE(regs); i++)
		words[i] = (uint64_t)u->uc_mcontext.gregs[regs[i]];
	words[17] = 0x33;
	words[19] = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
	return words[19];
#else
	for (size_t i = 0; i < ARRAY_SIZE(u->uc_mcontext.regs); i++)
		words[i] = u->uc_mcontext.regs[i];
	words[31] = u->uc_mcontext.sp;
	words[32] = u->uc_mcontext.pc;
	return words[31];
#endif
}

static __attribute__((noinline)) void walk_both(struct walkers *w)
{
	struct unwinder *u = unwinder_new();
	__u64 words[REGISTER_SLOTS] = { 0 };
	struct unwind_input in = { .find = find_own, .ctx = w };
	ucontext_t context;

	getcontext(&context);
	world.stack_start = words_of_context(&context, words);
	world.stack = xmalloc(world.stack_end - world.stack_start);
	assert_int_equal(world_read(getpid(), world.stack_start, world.stack,
				    world.stack_end - world.stack_start),
			 world.stack_end - world.stack_start);
	assert_true(is_user_mode(words) && is_64_bit(words));
	walk_as_the_kernel(w, words);
	in.regs = first_registers(words);
	in.stack = world.stack;
	in.stack_size = world.stack_end - in.regs.sp;
	w->chain = (struct unwind_chain){ .pcs = w->in_user, .max = ARRAY_SIZE(w->in_user) };
	unwind_walk(u, &in, &w->chain);
	unwinder_free(u);
	free(world.stack);
}

static int compare_under_qsort(const void *w, const void *unused)
{
	if (w && !((struct walkers *)(uintptr_t) * (const uint64_t *)w)->n_in_kernel)
		walk_both((struct walkers *)(uintptr_t) * (const uint64_t *)w);
	(void)unused;
	return 0;
}

static void find_own_stack(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end;

		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
			world.stack_end = end;
	}
	fclose(f);
}

static void the_kernel_s_walk_is_that_of_user_space(void **state)
{
	struct unwind_heap heap;
	struct walkers w = { 0 };
	uint64_t items[2];

	(void)state;
	if (world_read(getpid(), (uint64_t)(uintptr_t)&w, items, sizeof(items)) != sizeof(items))
		skip_because("process_vm_readv(2) is refused here");
	heap = heap_of(MAX_CHUNKS);
	items[0] = items[1] = (uint64_t)(uintptr_t)&w;
	find_own_stack();
	assert_true(world_look(&w.own, getpid()));
	for (size_t i = 0; i < w.own.images.n && i < ARRAY_SIZE(w.places); i++)
		if (w.own.images.data[i].block)
			w.places[i] = unwind_heap_put(&heap, &w.own.images.data[i].table);
	/* Through a library that has no frame pointers. */
	qsort(items, 2, sizeof(items[0]), compare_under_qsort);
	assert_int_equal(w.stop, w.chain.stop);
	assert_int_equal(w.stop, UNWIND_END);
	assert_true(w.n_in_kernel > 5);
	assert_int_equal(w.n_in_kernel, w.chain.n);
	assert_memory_equal(w.in_kernel, w.in_user, w.chain.n * sizeof(uint64_t));
	heap_end(&heap);
	world_fini(&w.own);
}

static void map_sizes_follow_the_machine(void **state)
{
	struct sampler_limits small = sampler_limits_for(512ULL << 20, 1, NULL);
	struct sampler_limits large = sampler_limits_for(512ULL << 30, 128, NULL);

	(void)state;
	assert_true(small.chunks * sizeof(struct chunk) <= 8ULL << 20);
	assert_int_equal(small.messages, 8 << 20);
	assert_true(large.chunks > small.chunks && large.seen > small.seen);
	assert_int_equal(large.messages, 64 << 20);
	assert_int_equal(sampler_limits_for(24ULL << 30, 3, NULL).messages, 32 << 20);
}

static void tests_set_the_sizes_of_maps(void **state)
{
	struct sampler_limits l =
		sampler_limits_for(1ULL << 30, 1, "counts=64,nonsense,chunks=2,other=3,loop=0,");

	(void)state;
	assert_int_equal(l.counts, 64);
	assert_int_equal(l.chunks, 2);
	assert_int_equal(l.loop, 0);
	assert_int_equal(sampler_limits_for(1ULL << 30, 1, "").loop, 1);
	assert_int_equal(l.languages, 1);
	assert_int_equal(sampler_limits_for(1ULL << 30, 1, "languages=0").languages, 0);
}

static void what_a_counter_counted_beyond_its_samples_was_missed(void **state)
{
	(void)state;
	/* Two CPUs, each in the middle of a period. */
	assert_int_equal(missed_samples(2000, 20, 2000, 100, 2), 0);
	assert_int_equal(missed_samples(2200, 20, 2000, 100, 2), 0);
	assert_int_equal(missed_samples(3000, 20, 2000, 100, 2), 8);
	/* A counter whose period the kernel chose; one that gave no sample at all. */
	assert_int_equal(missed_samples(3000, 10, 1500, 0, 1), 9);
	assert_int_equal(missed_samples(1000, 0, 0, 100, 1), 9);
	assert_int_equal(missed_samples(1000, 0, 0, 0, 1), 0);
	/* The last period may be counted after the counter is read. */
	assert_int_equal(missed_samples(1900, 20, 2000, 100, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rule_is_found_in_the_heap),
		cmocka_unit_test(a_page_s_rows_stay_in_one_chunk),
		cmocka_unit_test(a_table_without_room_takes_none),
		cmocka_unit_test(a_user_s_tables_leave_room_for_others),
		cmocka_unit_test(a_place_beyond_the_heap_has_no_rule),
		cmocka_unit_test(the_kernel_s_walk_is_that_of_user_space),
		cmocka_unit_test(what_a_counter_counted_beyond_its_samples_was_missed),
		cmocka_unit_test(map_sizes_follow_the_machine),
		cmocka_unit_test(tests_set_the_sizes_of_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
