/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The in-kernel sampler's walk of frames of Java (collect/bpf/java.h), compiled here a second time.
 * It walks the frozen stacks (frozen_stacks.h) after the reader, by the frames that the reader
 * gives it (record/java_frames.h). Both must find the same.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "frozen_stacks.h"
#include "guard/memory_reads.h"
#include "pipeline/java_process.h"
#include "pipeline/java_ways.h"
#include "record/java_frames.h"
#include "unwind/user_ctx.h"

#include "unwind/step.h"

/* The process, as java.h reads it. */
static struct task_struct *frozen_group_leader;
static const uint64_t frozen_start_time = 12345;
static const uint32_t frozen_self_exec_id = 7;
static struct {
	uint64_t fsbase;
	struct {
		uint64_t tp_value;
	} uw;
} frozen_thread;

static void *find_in_map(void *map, const void *key);
static long read_user(void *value, size_t size, const void *addr);

#define bpf_map_lookup_elem(map, key)             find_in_map(map, key)
#define bpf_map_update_elem(map, key, value, how) ((void)(map), (void)(key), (void)(value))
#define bpf_probe_read_user(value, size, addr)    read_user(value, size, addr)
#define BPF_CORE_READ(task, field)                ((void)sizeof(task), frozen_##field)
#if defined(__x86_64__)
#define __TARGET_ARCH_x86
#else
#define __TARGET_ARCH_arm64
#endif
#define MAPLE_PIVOTS 15
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* BPF's functions are no statics */
#include "collect/bpf/work.h"

#include "collect/bpf/java.h"
#pragma GCC diagnostic pop

struct set_frame {
	struct java_key key;
	struct java_frame frame;
};

static struct {
	struct work work;
	VEC(struct set_frame) map;
	VEC(struct lang_frame) placed;
	uint64_t n_losses;
	uint32_t n_left_out; /* the first frames of the stack */
} sampler;

static void *find_in_map(void *map, const void *key)
{
	if (map == &works)
		return &sampler.work;
	if (map == &losses)
		return &sampler.n_losses;
	assert_ptr_equal(map, &java_frames);
	vec_foreach (&sampler.map, f)
		if (!memcmp(&f->key, key, sizeof(f->key)))
			return &f->frame;
	return NULL;
}

/* The stack goes first: of its page, the memory may have some bytes, too. */
static long read_user(void *value, size_t size, const void *addr)
{
	uint64_t at = (uint64_t)(uintptr_t)addr, off = at - frozen.registers[REGISTER_SP];

	if (off < frozen.stack.size && size <= frozen.stack.size - off)
		memcpy(value, frozen.stack.bytes + off, size);
	else if (!read_frozen(NULL, at, value, size))
		return -14;
	return 0;
}

/* ---- the reader's side ---- */

static bool set_frame(void *context, const struct java_key *key, const struct java_frame *frame)
{
	struct set_frame new = { *key, *frame };

	(void)context;
	vec_push(&sampler.map, new);
	return true;
}

static void drop_frame(void *context, const struct java_key *key)
{
	(void)context, (void)key;
}

static bool place_frame(void *context, const struct lang_frame *frame, struct code_addr *code)
{
	(void)context;
	*code = (struct code_addr){ { 1 }, sampler.placed.n };
	vec_push(&sampler.placed, *frame);
	return true;
}

static struct java_frames *new_frames(void)
{
	const struct java_frames_config config = { set_frame, drop_frame, place_frame, NULL };

	return java_frames_new(&config);
}

static void learn_frame(void *context, const struct java_known *known)
{
	const struct work w = { .s.pid = FROZEN_PID };

	const struct java_life life = { FROZEN_PID, java_process_key(&w), 2 };

	java_frames_learn(context, &life, known, 0);
}

/* ---- the sampler's side ---- */

static enum unwind_stop leave_frame(struct unwind_rule rule)
{
	struct unwind_ctx c = { .stack = frozen.stack.bytes,
				.start = frozen.registers[REGISTER_SP],
				.size = frozen.stack.size };

	return unwind_step(rule, &sampler.work.regs, &c);
}

/* The reader alone walks an innermost frame that is interpreted. So the walk begins behind it. */
static bool is_left_out(uint32_t i)
{
	return i < sampler.n_left_out;
}

/* Returns how many frames the sampler knows. It walks as walk_by_rules() does, to Java's last
 * frame. */
static uint32_t walk_known(void)
{
	struct work *w = &sampler.work;
	uint32_t n = 0;

	memset(w, 0, sizeof(*w));
	w->s.pid = FROZEN_PID;
	w->java.is_met = 1;
	w->regs = unwind_regs_sampled(frozen.registers[REGISTER_IP], frozen.registers[REGISTER_SP],
				      frozen.registers[REGISTER_BP], 0, false);
	for (uint32_t i = 0; i < frozen.n; i++) {
		struct unwind_rule rule =
			java_rule_of(&(struct hotspot_leave){ .way = HOTSPOT_BY_SENDER });

		assert_int_equal(w->regs.pc, frozen.pcs[i]);
		if (!is_left_out(i)) {
			if (!java_frame(0))
				break;
			rule = w->java.rule;
			n++;
		}
		w->stop = leave_frame(rule);
		if (w->stop != UNWIND_GOES_ON)
			break;
	}
	java_end_walk(w);
	return n;
}

/* The names of the frames that the walk has found. */
static void append_walked(struct java_frames *frames, struct buf *out)
{
	const struct work *w = &sampler.work;

	for (uint32_t i = 0; i + 1 < w->s.n_user; i += 2) {
		uint64_t first = w->s.frames[i], number = w->s.frames[i + 1];
		struct java_codes codes;

		assert_int_equal(first >> FRAME_OFF_BITS, FILE_LANGUAGE + LANGUAGE_JAVA);
		assert_true(java_frames_find(frames, FROZEN_PID, first & FRAME_OFF_MASK, number, 0,
					     &codes));
		for (uint32_t k = 0; k < codes.n; k++)
			append_frame(out, &sampler.placed.data[codes.data[k].offset]);
	}
}

static const char *line_after(const char *text, uint32_t n)
{
	for (; n && *text; n--)
		text = strchr(text, '\n') + 1;
	return text;
}

static void flip(uint64_t at, uint64_t bits)
{
	for (int i = 0; i < 8; i++)
		vec_foreach (&frozen.memory, p)
			if (at + (uint64_t)i - p->addr < p->size)
				p->bytes[at + (uint64_t)i - p->addr] ^= (uint8_t)(bits >> i * 8);
}

/* Words that are other ones stop the walk; the number of a symbol's users does not. */
static void check_proof(const struct java_frame *f, uint32_t n_known)
{
	for (uint32_t i = 0; i < f->n_proof; i++) {
		const struct known_word *word = &f->proof[i];
		uint64_t mask = known_word_mask(word->bytes);

		flip(word->at, mask & -mask);
		assert_true(walk_known() < n_known);
		flip(word->at, mask & -mask);
		if (f->rule.cfa) /* bytes beside a word of code can be those of another one */
			continue;
		flip(word->at, ~mask);
		assert_int_equal(walk_known(), n_known);
		flip(word->at, ~mask);
	}
}

static void check_proofs(uint32_t n_known)
{
	uint64_t frames[FRAME_SLOTS];
	uint32_t n = sampler.work.s.n_user;

	memcpy(frames, sampler.work.s.frames, sizeof(frames));
	for (uint32_t i = 1; i < n; i += 2)
		vec_foreach (&sampler.map, f)
			if (f->frame.number == frames[i])
				check_proof(&f->frame, n_known);
}

/* Whether the sampler asks for a copy behind `n` frames, if a word of the stack is 0. */
static bool wants_copy_at(uint8_t *word, uint32_t n)
{
	uint8_t kept[8];
	bool wants;

	memcpy(kept, word, sizeof(kept));
	memset(word, 0, sizeof(kept));
	wants = walk_known() == n && sampler.work.stop == UNWIND_NO_RULE && sampler.work.wants_copy;
	memcpy(word, kept, sizeof(kept));
	return wants;
}

/* A return address of 0 ends the walk as if that frame were the outermost one: none of Java is. */
static void check_ends(uint32_t n_known)
{
	uint32_t first = sampler.n_left_out, n_ends = 0;

	for (uint32_t i = first; i < first + n_known && i + 1 < frozen.n; i++)
		for (size_t off = 0; off + 8 <= frozen.stack.size; off += 8) {
			uint8_t *word = frozen.stack.bytes + off;

			if (memcmp(word, &frozen.pcs[i + 1], 8) != 0 ||
			    !wants_copy_at(word, i + 1 - first))
				continue;
			n_ends++;
			break;
		}
	assert_int_equal(n_ends, MIN(n_known, frozen.n - 1 - first));
	assert_int_equal(walk_known(), n_known);
}

static void check_walk(const char *path, const struct buf *expected)
{
	struct java_frames *frames = new_frames();
	struct walker w = walker_new(NULL);
	struct buf got = { 0 }, walked = { 0 };
	const char *rest;
	uint32_t n;

	if (!frozen.runtime.is_aarch64) {
		walk_copy(&w, 1, &got);
		walk_copy(&w, 2, &got);
		java_stacks_each_known(user_stacks_java(w.stacks), frames, learn_frame);
		sampler.n_left_out = strstr(path, "-xint") != NULL;
		n = walk_known();
		append_walked(frames, &walked);
		rest = line_after((const char *)expected->data, sampler.n_left_out);
		if (!n || strncmp(rest, buf_cstr(&walked), walked.len) != 0)
			print_message("%s: %u frames\n%s", path, n, buf_cstr(&walked));
		assert_true(n >= 3);
		assert_memory_equal(rest, buf_cstr(&walked), walked.len);
		check_proofs(n);
		check_ends(walk_known());
	}
	sampler.map.n = sampler.placed.n = 0;
	java_frames_free(frames);
	walker_free(&w);
	buf_fini(&got);
	buf_fini(&walked);
}

/* As unwind_walk() decides it: stubs alone are called by code of files, and only these are. */
static void code_of_files_calls_some_frames_alone(void **state)
{
	struct work w = { 0 };
	const struct mapping file = { .file = 1 }, none = { .file = FILE_NONE };

	(void)state;
	assert_true(java_is_entered_from(&w, &file) && java_is_entered_from(&w, &none));
	w.java.callee = JAVA_IS_FRAME;
	assert_false(java_is_entered_from(&w, &file) || java_is_entered_from(&w, &none));
	w.java.callee |= JAVA_IS_ENTERED;
	assert_true(java_is_entered_from(&w, &file));
	assert_false(java_is_entered_from(&w, &none));
}

/* A recursion: one of the method's places in the bytecode is known from a class before. */
static void a_method_of_a_former_class_is_not_taken_for_its_successor(void **state)
{
	const struct java_frame own = { 0 };
	const struct java_frame former = { .n_proof = 1, .proof = { { 0x1000, KNOWN_ALL, 1 } } };
	struct work w = { 0 };

	(void)state;
	assert_true(java_is_same_method(&w, &own, 0x2000));
	assert_true(java_is_same_method(&w, &own, 0x2000));
	assert_int_equal(w.java.n_methods, 1);
	assert_false(java_is_same_method(&w, &former, 0x2000));
	assert_true(java_is_same_method(&w, &own, 0x2000));
}

static void the_words_of_a_proof_are_those_of_its_bytes(void **state)
{
	(void)state;
	assert_int_equal(known_word_mask(0), 0);
	assert_int_equal(known_word_mask(KNOWN_ALL), UINT64_MAX);
	assert_int_equal(known_word_mask(0x0f), UINT32_MAX);
	assert_int_equal(known_word_mask(0xf3), 0xffffffff0000ffff);
	for (int i = 0; i < 8; i++)
		assert_int_equal(known_word_mask(1u << i), (uint64_t)UINT8_MAX << i * 8);
}

static void the_sampler_walks_as_the_reader(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_walk);
	vec_fini(&sampler.map);
	vec_fini(&sampler.placed);
}

/* The frames that the in-kernel sampler gets, in their order. */
struct told {
	struct buf frames;
	struct java_frame last;
	uint64_t last_pc;
};

static bool are_neighbours(uint64_t callee, uint64_t caller)
{
	for (uint32_t i = 0; i + 1 < frozen.n; i++)
		if (frozen.pcs[i] == callee && frozen.pcs[i + 1] == caller)
			return true;
	return false;
}

static void tell_known(void *context, const struct java_known *known)
{
	struct told *told = context;
	uint32_t takes = told->last.flags & JAVA_IS_CALLED ? JAVA_TAKES_JAVA : JAVA_TAKES_OTHER;

	for (uint32_t i = 0; i < known->n_methods; i++)
		append_frame(&told->frames, &known->methods[i]);
	if (!known->frame.rule.cfa) /* the method of the interpreter's code before it */
		return;
	assert_true(known->frame.flags & JAVA_IS_FRAME);
	if (are_neighbours(told->last_pc, known->key.pc))
		assert_true(known->frame.flags & takes);
	told->last = known->frame;
	told->last_pc = known->key.pc;
}

static bool is_compiled(const char *path)
{
	return !strstr(path, "-aarch64") && !strstr(path, "-xint") &&
	       !strstr(path, "-deoptimised") && !strstr(path, "-virtual");
}

/* The methods of interpreted frames come with the second stack that has them, whatever the first.
 */
static void check_first_stack(struct walker *w, const char *path, struct buf *got)
{
	struct told first = { 0 }, same = { 0 }, second = { 0 };
	walk_copy(w, 1, got);
	java_stacks_each_known(user_stacks_java(w->stacks), &first, tell_known);
	walk_copy(w, 1, got);
	java_stacks_each_known(user_stacks_java(w->stacks), &same, tell_known);
	assert_int_equal(same.frames.len, first.frames.len);
	walk_copy(w, 2, got);
	java_stacks_each_known(user_stacks_java(w->stacks), &second, tell_known);
	if (strstr(path, "-xint") && !strstr(path, "-aarch64"))
		assert_true(second.frames.len > first.frames.len);
	assert_true(second.frames.len >= first.frames.len);
	buf_fini(&first.frames);
	buf_fini(&same.frames);
	buf_fini(&second.frames);
}

/*
 * The reader alone walks some frames: an innermost one that is interpreted, deoptimised ones, and
 * those in front of frames in the heap. The sampler gets all others.
 */
static void check_known(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct told told = { 0 };
	struct buf got = { 0 };
	bool is_aarch64 = strstr(path, "-aarch64");

	(void)expected;
	walk_thread(w.machine, w.stacks, &got);
	java_stacks_each_known(user_stacks_java(w.stacks), &told, tell_known);
	assert_int_equal(told.frames.len, 0); /* perf's samples are not for the sampler */
	check_first_stack(&w, path, &got);
	walk_copy(&w, 3, &got);
	java_stacks_each_known(user_stacks_java(w.stacks), &told, tell_known);
	assert_true(told.frames.len <= got.len && !told.frames.len == is_aarch64);
	if (is_compiled(path))
		assert_string_equal(buf_cstr(&told.frames), buf_cstr(&got));
	user_stacks_charge(w.stacks, 0, UINT64_MAX / 2);
	told.frames.len = 0;
	walk_copy(&w, UINT64_MAX, &got);
	java_stacks_each_known(user_stacks_java(w.stacks), &told, tell_known);
	assert_int_equal(told.frames.len, 0); /* the stack was cut */
	buf_fini(&told.frames);
	buf_fini(&got);
	walker_free(&w);
}

static void the_sampler_gets_the_frames_of_whole_stacks(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_known);
}

#define HEAP 0x100000

/* At HEAP + 16: a direct call to `callee`, and an indirect one. */
static uint64_t called;

static bool read_calls(void *context, uint64_t addr, void *out, size_t size)
{
	uint8_t bytes[64] = { [16] = 0xe8, [29] = 0xff, [30] = 0xd0 };
	int32_t far = (int32_t)(called - (HEAP + 21));

	(void)context;
	memcpy(bytes + 17, &far, sizeof(far));
	if (addr < HEAP || addr - HEAP > sizeof(bytes) - size)
		return false;
	memcpy(out, bytes + (addr - HEAP), size);
	return true;
}

static void put_code(struct java_process *p, enum hotspot_kind kind, uint64_t start, uint64_t end)
{
	const struct hotspot_blob blob = {
		.kind = kind, .start = start, .end = end, .code = start, .code_end = end
	};

	vec_push(&p->order, (uint32_t)p->blobs.n);
	vec_push(&p->blobs, ((struct java_blob){ .blob = blob, .valid_ns = UINT64_MAX }));
}

static enum hotspot_answer calls_method(struct java_process *p, uint64_t callee, uint64_t pc)
{
	called = callee;
	return java_process_calls_method(p, pc, 1);
}

static void a_direct_call_tells_whether_it_leads_to_a_method(void **state)
{
	const struct lang_memory memory = { .read = read_calls };
	struct java_process *p = java_process_new(1, &memory);
	const uint64_t method = HEAP + 0x1000, stub = HEAP + 0x2000;

	(void)state;
	p->vm.memory = java_process_memory(p);
	p->vm.heaps[0] = (struct hotspot_heap){ .start = HEAP, .end = HEAP + 0x10000, .shift = 7 };
	p->vm.n_heaps = 1;
	put_code(p, HOTSPOT_COMPILED, method, method + 0x1000);
	put_code(p, HOTSPOT_STUBS, stub, stub + 0x1000);
	java_process_begin_walk(p, 100, UINT64_MAX);
	assert_int_equal(calls_method(p, method + 0x20, HEAP + 21), HOTSPOT_YES);
	assert_int_equal(calls_method(p, stub + 0x20, HEAP + 21), HOTSPOT_NO);
	assert_int_equal(calls_method(p, HEAP + 0x20000, HEAP + 21), HOTSPOT_NO); /* a file */
	assert_int_equal(calls_method(p, method, HEAP + 31), HOTSPOT_NO);
	/* What can't be read is no caller of a stub; without reads left, a later walk asks. */
	assert_int_equal(calls_method(p, method, HEAP + 80), HOTSPOT_YES);
	java_process_begin_walk(p, 0, UINT64_MAX);
	assert_int_equal(calls_method(p, method, HEAP + 21), HOTSPOT_NOT_ASKED);
	java_process_free(p);
}

/* The process whose memory is read is this test. */
static _Alignas(JAVA_BLOCK_SIZE) uint64_t page[JAVA_BLOCK_SIZE / 8];

static uint64_t word_of_walk(struct java_process *p, uint32_t n_reads, uint64_t time_ns)
{
	uint64_t word = 0;

	java_process_begin_walk(p, n_reads, time_ns);
	return lang_read_word(&p->vm.memory, (uint64_t)(uintptr_t)&page[1], &word) ? word : 0;
}

/* The second of two walks has the word of the first one's block, within a moment. */
static bool shares_block(struct java_process *p)
{
	page[1] = 1;
	word_of_walk(p, 9, UINT64_MAX);
	page[1] = 2;
	return word_of_walk(p, 9, 1) == 1;
}

/* On the thread that reads; the test looks at the results. */
struct block_results {
	struct java_process *process;
	bool are_shared, are_read;  /* by a walk with reads */
	bool are_taken, are_silent; /* by one without, though a read lacks */
	uint64_t later;
};

static void try_blocks(void *context)
{
	struct block_results *r = context;
	struct java_process *p = r->process;

	for (int i = 0; i < 10000 && !r->are_shared; i++)
		r->are_shared = shares_block(p);
	r->are_read = p->has_read && !p->lacks_reads;
	for (int i = 0; i < 100; i++) {
		shares_block(p);
		r->are_taken |= word_of_walk(p, 0, 1) != 0;
		r->are_silent |= !p->lacks_reads || p->has_read;
	}
	r->later = word_of_walk(p, 9, UINT64_MAX);
}

static void walks_of_a_turn_share_blocks_but_for_those_without_reads(void **state)
{
	struct java_process *p = java_process_new(getpid(), NULL);
	struct memory_reads *reads = memory_reads_new(MEMORY_READ_NS);
	struct block_results r = { .process = p };

	(void)state;
	p->fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	assert_true(p->fd >= 0);
	p->vm.memory = java_process_memory(p);
	assert_int_equal(memory_reads_run(reads, getpid(), try_blocks, &r), 0);
	assert_true(r.are_shared && r.are_read);
	assert_false(r.are_taken || r.are_silent);
	assert_int_equal(r.later, 2); /* a later sample reads anew */
	memory_reads_free(reads);
	java_process_free(p);
}

static void a_stub_has_no_caller_that_called_a_method(void **state)
{
	const uint32_t stub = JAVA_IS_FRAME | JAVA_IS_STUB, method = JAVA_IS_FRAME | JAVA_IS_CALLED;
	struct java_frame f = { .flags = JAVA_TAKES_OTHER | JAVA_TAKES_JAVA };

	(void)state;
	assert_true(java_takes(&f, stub));
	assert_true(java_takes(&f, method));
	f.flags |= JAVA_CALLS_METHOD;
	assert_false(java_takes(&f, stub));
	assert_true(java_takes(&f, method));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_direct_call_tells_whether_it_leads_to_a_method),
		cmocka_unit_test(walks_of_a_turn_share_blocks_but_for_those_without_reads),
		cmocka_unit_test(a_stub_has_no_caller_that_called_a_method),
		cmocka_unit_test(the_sampler_gets_the_frames_of_whole_stacks),
		cmocka_unit_test(the_sampler_walks_as_the_reader),
		cmocka_unit_test(code_of_files_calls_some_frames_alone),
		cmocka_unit_test(the_words_of_a_proof_are_those_of_its_bytes),
		cmocka_unit_test(a_method_of_a_former_class_is_not_taken_for_its_successor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
