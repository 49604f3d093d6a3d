/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of a kernel module from its file: what loading does to it, and which bytes are not known. */
#include <elf.h>
#include <string.h>

#include "scratch.h"

#include "elf/elf_file.h"
#include "symbol/kernel/module_code.h"

#define LOADED       0xffffffffc0200000ULL
#define KERNEL       0xffffffff81000000ULL
#define OUTSIDE      (KERNEL + 0x1000)
#define RETURN_THUNK (KERNEL + 0x2000)
#define RAX_THUNK    (KERNEL + 0x3000)
#define FENTRY       (KERNEL + 0x4000)
#define R11_THUNK    (KERNEL + 0x5000)

/* Places in the code of `module_source`. */
enum {
	AT_OUTSIDE = 5,
	AT_UNKNOWN = 10,
	AT_DATA = 15,
	AT_RETURN = 22,
	AT_INDIRECT = 27,
	AT_SMAP = 32,
	AT_FEATURE = 35,
	AT_JUMP = 38,
	AT_END = 43,
};

/* Others, in the code of `branches_source`. */
enum {
	AT_CALL_R11 = 0,
	AT_JUMP_R11 = 6,
	AT_TWO_ENTRIES = 12,
	AT_KEY_OF_KERNEL = 17,
	AT_SHORT_KEY = 22,
	AT_OWN_KEY = 24,
	AT_TRACEPOINT = 29,
	AT_MESSAGE = 34,
	AT_LAST = 39,
};

/* Features: 308 every processor with Intel PT has, 227 is not known. */
static const char module_source[] = ".text\n"
				    ".globl work\n"
				    "work: call __fentry__\n"
				    "call outside\n"
				    "call nobody_knows\n"
				    "mov $variable, %rdi\n"
				    "1: jmp __x86_return_thunk\n"
				    "2: call __x86_indirect_thunk_rax\n"
				    "3: .byte 0x90, 0x90, 0x90\n"
				    "4: .byte 0x90, 0x90, 0x90\n"
				    "5: jmp outside\n"
				    ".section .altinstr_replacement, \"ax\"\n"
				    "6: .byte 0x0f, 0x01, 0xca\n"
				    "7: .byte 0x0f, 0xae, 0xe8\n"
				    "8: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
				    ".section .altinstructions, \"a\"\n"
				    ".long 3b - .\n.long 6b - .\n.word 308, 0\n.byte 3, 3\n"
				    ".long 4b - .\n.long 7b - .\n.word 227, 0\n.byte 3, 3\n"
				    ".long 5b - .\n.long 8b - .\n.word 227, 0\n.byte 5, 5\n"
				    ".section __mcount_loc, \"a\"\n.quad work\n"
				    ".section .return_sites, \"a\"\n.long 1b - .\n"
				    ".section .retpoline_sites, \"a\"\n.long 2b - .\n"
				    ".data\nvariable: .quad 0\n";

/* Of two entries for one place, the first is a call, and the second goes on. */
static const char branches_source[] =
	".macro key place, name\n"
	".pushsection __jump_table, \"aw\"\n"
	".balign 8\n.long \\place - ., last - .\n.quad \\name - .\n.popsection\n"
	".endm\n"
	".text\n"
	".globl work\n"
	"work: .byte 0x2e\ncall __x86_indirect_thunk_r11\n"
	"jump: .byte 0x2e\njmp __x86_indirect_thunk_r11\n"
	"1: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"2: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"3: .byte 0x66, 0x90\n"
	"4: .byte 0xe9\n.long last - . - 4\n"
	"5: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"6: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"last: ret\n"
	"key 2b, key_of_kernel\nkey 3b, key_of_kernel + 1\nkey 4b, own_key + 2\n"
	"key 5b, tracepoint + 8\nkey 6b, message + 40\n"
	".section .altinstr_replacement, \"ax\"\n"
	"7: call outside\n"
	"8: .byte 0x0f, 0x1f, 0x44, 0, 0\n"
	".section .altinstructions, \"a\"\n"
	".long 1b - .\n.long 7b - .\n.word 227, 0\n.byte 5, 5\n"
	".long 1b - .\n.long 8b - .\n.word 228, 0\n.byte 5, 5\n"
	".section .retpoline_sites, \"a\"\n.long work - ., jump - .\n"
	".section __tracepoints, \"aw\"\ntracepoint: .zero 64\n"
	".section __dyndbg, \"aw\"\nmessage: .zero 64\n"
	".data\nown_key: .quad 0, 0\n";

static uint64_t symbol_of_kernel(void *context, const char *name)
{
	static const struct {
		const char *name;
		uint64_t addr;
	} symbols[] = {
		{ "outside", OUTSIDE },
		{ "__x86_return_thunk", RETURN_THUNK },
		{ "__x86_indirect_thunk_rax", RAX_THUNK },
		{ "__x86_indirect_thunk_r11", R11_THUNK },
		{ "__fentry__", FENTRY },
	};

	(void)context;
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].addr;
	return 0;
}

static void open_module_file(const char *source, struct module_file *out)
{
	char *text;

	write_file("module.s", source);
	need_command("as --64 -o module.o module.s");
	*out = (struct module_file){ 0 };
	assert_int_equal(file_read_all("module.o", 1 << 20, &text, &out->size), 0);
	out->bytes = (uint8_t *)text;
	assert_int_equal(elf_file_open(&out->elf, out->bytes, out->size, NULL), 0);
	module_file_link(out, NULL);
}

static struct module_code *load(const char *source, const uint8_t *memory, size_t size)
{
	struct module_kernel kernel = {
		.symbol = symbol_of_kernel,
		.memory = reader_over(memory, size),
		.memory_addr = KERNEL,
	};
	struct module_file file;
	struct module_code *code;

	open_module_file(source, &file);
	module_kernel_learn(&kernel);
	code = module_code_new(&file, LOADED, &kernel);
	module_file_close(&file);
	assert_non_null(code);
	return code;
}

/* A kernel whose returns and indirect calls are plain instructions. */
static struct module_code *load_beside_patched_kernel(const char *source)
{
	uint8_t memory[48];

	for (size_t i = 0; i < sizeof(memory); i += 3)
		memcpy(memory + i, (uint8_t[]){ 0xc3, 0xff, 0xd0 }, 3);
	return load(source, memory, sizeof(memory));
}

static void put_site(uint8_t *out, uint8_t opcode, uint64_t addr, uint64_t target)
{
	uint32_t distance = (uint32_t)(target - (addr + 5));

	*out = opcode;
	memcpy(out + 1, &distance, sizeof(distance));
}

static void check_bytes(const struct module_code *c, uint64_t off, enum module_byte least,
			const void *bytes, size_t size)
{
	uint8_t found[16] = { 0 };

	assert_int_equal(module_code_read(c, LOADED + off, least, found, size), size);
	assert_memory_equal(found, bytes, size);
}

static size_t n_known(const struct module_code *c, uint64_t off)
{
	uint8_t bytes[64];

	return module_code_read(c, LOADED + off, MODULE_KNOWN, bytes, sizeof(bytes));
}

static void check_undecided(const struct module_code *c, uint64_t same_way, uint64_t unknown)
{
	uint64_t n_same_way, n_unknown;

	module_code_undecided(c, &n_same_way, &n_unknown);
	assert_int_equal(n_same_way, same_way);
	assert_int_equal(n_unknown, unknown);
}

static void calls_lead_to_the_kernel_and_ftrace_is_off(void **state)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	struct module_code *c = load_beside_patched_kernel(module_source);
	uint8_t call[5];

	(void)state;
	check_bytes(c, 0, MODULE_KNOWN, nop, sizeof(nop));
	put_site(call, 0xe8, LOADED + AT_OUTSIDE, OUTSIDE);
	check_bytes(c, AT_OUTSIDE, MODULE_KNOWN, call, sizeof(call));
	module_code_free(c);
}

static void operands_without_a_known_address_are_not_known(void **state)
{
	static const uint8_t move[] = { 0x48, 0xc7, 0xc7 };
	struct module_code *c = load_beside_patched_kernel(module_source);
	uint8_t bytes[16];

	(void)state;
	/* The target of a call, which ends the way, and the address of a variable. */
	assert_int_equal(n_known(c, 0), AT_UNKNOWN + 1);
	assert_int_equal(module_code_read(c, LOADED + AT_UNKNOWN, MODULE_SAME_WAY, bytes, 5), 1);
	check_bytes(c, AT_DATA, MODULE_KNOWN, move, sizeof(move));
	assert_int_equal(n_known(c, AT_DATA), sizeof(move));
	assert_int_equal(module_code_read(c, LOADED + AT_DATA, MODULE_SAME_WAY, bytes, 7), 7);
	/* Outside of it there is nothing. */
	assert_int_equal(module_code_read(c, LOADED - 1, MODULE_UNKNOWN, bytes, 1), 0);
	assert_int_equal(module_code_read(c, LOADED + 4096, MODULE_UNKNOWN, bytes, 1), 0);
	module_code_free(c);
}

static void thunks_become_what_they_are_in_the_kernel(void **state)
{
	static const uint8_t plain[] = { 0xc3, 0xcc, 0xcc, 0xcc, 0xcc, 0xff, 0xd0, 0x0f, 0x1f, 0 };
	struct module_code *c = load_beside_patched_kernel(module_source);
	uint8_t memory[160], site[5];

	(void)state;
	check_bytes(c, AT_RETURN, MODULE_KNOWN, plain, sizeof(plain));
	check_undecided(c, 1, 2);
	module_code_free(c);

	for (size_t i = 0; i < sizeof(memory); i += 10) {
		put_site(memory + i, 0xe9, KERNEL + i, RETURN_THUNK);
		put_site(memory + i + 5, 0xe8, KERNEL + i + 5, RAX_THUNK);
	}
	c = load(module_source, memory, sizeof(memory));
	put_site(site, 0xe9, LOADED + AT_RETURN, RETURN_THUNK);
	check_bytes(c, AT_RETURN, MODULE_KNOWN, site, sizeof(site));
	put_site(site, 0xe8, LOADED + AT_INDIRECT, RAX_THUNK);
	check_bytes(c, AT_INDIRECT, MODULE_KNOWN, site, sizeof(site));
	check_undecided(c, 1, 2);
	module_code_free(c);

	/* No memory: both ways lead to the same place. */
	c = load(module_source, NULL, 0);
	check_bytes(c, AT_RETURN, MODULE_SAME_WAY, plain, sizeof(plain));
	assert_int_equal(n_known(c, AT_RETURN), 0);
	check_undecided(c, 3, 2);
	module_code_free(c);
}

static void alternatives_follow_features_as_far_as_they_are_known(void **state)
{
	static const uint8_t clac[] = { 0x0f, 0x01, 0xca };
	struct module_code *c = load_beside_patched_kernel(module_source);
	uint8_t bytes[8];

	(void)state;
	check_bytes(c, AT_SMAP, MODULE_KNOWN, clac, sizeof(clac));
	/* Either code goes on: its bytes are not known, its way is. */
	assert_int_equal(n_known(c, AT_FEATURE), 0);
	assert_int_equal(module_code_read(c, LOADED + AT_FEATURE, MODULE_SAME_WAY, bytes, 8),
			 AT_JUMP - AT_FEATURE);
	/* A jump, or none. */
	assert_int_equal(module_code_read(c, LOADED + AT_JUMP, MODULE_SAME_WAY, bytes, 5), 0);
	assert_int_equal(module_code_read(c, LOADED + AT_JUMP, MODULE_UNKNOWN, bytes, 5),
			 AT_END - AT_JUMP);
	module_code_free(c);
}

static size_t n_same_way(const struct module_code *c, uint64_t off, size_t size)
{
	uint8_t bytes[64];

	return module_code_read(c, LOADED + off, MODULE_SAME_WAY, bytes, size);
}

static void a_prefix_before_a_branch_to_a_thunk_is_patched_with_it(void **state)
{
	static const uint8_t call[] = { 0x41, 0xff, 0xd3, 0x0f, 0x1f, 0x00 };
	static const uint8_t jump[] = { 0x41, 0xff, 0xe3, 0xcc, 0x66, 0x90 };
	struct module_code *c = load_beside_patched_kernel(branches_source);
	uint8_t memory[160], site[6] = { 0x2e };

	(void)state;
	check_bytes(c, AT_CALL_R11, MODULE_KNOWN, call, sizeof(call));
	/* Older kernels have no INT3 behind the jump. */
	assert_int_equal(n_known(c, AT_JUMP_R11), 3);
	check_bytes(c, AT_JUMP_R11, MODULE_SAME_WAY, jump, sizeof(jump));
	module_code_free(c);

	/* Nothing tells how the kernel patches. */
	c = load(branches_source, NULL, 0);
	assert_int_equal(n_known(c, AT_CALL_R11), 0);
	check_bytes(c, AT_CALL_R11, MODULE_SAME_WAY, call, sizeof(call));
	check_bytes(c, AT_JUMP_R11, MODULE_SAME_WAY, jump, sizeof(jump));
	module_code_free(c);

	for (size_t i = 0; i < sizeof(memory); i += 5)
		put_site(memory + i, 0xe8, KERNEL + i, R11_THUNK);
	c = load(branches_source, memory, sizeof(memory));
	put_site(site + 1, 0xe8, LOADED + AT_CALL_R11 + 1, R11_THUNK);
	check_bytes(c, AT_CALL_R11, MODULE_KNOWN, site, sizeof(site));
	module_code_free(c);
}

static void each_of_two_alternatives_for_one_place_may_apply(void **state)
{
	struct module_code *c = load_beside_patched_kernel(branches_source);

	(void)state;
	assert_int_equal(n_same_way(c, AT_TWO_ENTRIES, 5), 0);
	module_code_free(c);
}

static void branches_of_static_keys_are_not_known_but_those_of_tracing_are_off(void **state)
{
	static const uint8_t nop[] = { 0x0f, 0x1f, 0x44, 0, 0 };
	struct module_code *c = load_beside_patched_kernel(branches_source);

	(void)state;
	for (uint64_t off = AT_KEY_OF_KERNEL; off < AT_TRACEPOINT; off++)
		assert_int_equal(n_same_way(c, off, 1), 0);
	check_bytes(c, AT_TRACEPOINT, MODULE_KNOWN, nop, sizeof(nop));
	check_bytes(c, AT_MESSAGE, MODULE_KNOWN, nop, sizeof(nop));
	assert_true(n_known(c, AT_LAST) > 0);
	/* Three keys, and the two entries for one place, which counts once. */
	check_undecided(c, 0, 4);
	module_code_free(c);
}

static void a_module_of_another_processor_is_refused(void **state)
{
	struct module_kernel kernel = { .symbol = symbol_of_kernel };
	struct module_file file;

	(void)state;
	open_module_file(module_source, &file);
	file.elf.machine = EM_AARCH64;
	assert_null(module_code_new(&file, LOADED, &kernel));
	module_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_lead_to_the_kernel_and_ftrace_is_off),
		cmocka_unit_test(operands_without_a_known_address_are_not_known),
		cmocka_unit_test(thunks_become_what_they_are_in_the_kernel),
		cmocka_unit_test(alternatives_follow_features_as_far_as_they_are_known),
		cmocka_unit_test(a_prefix_before_a_branch_to_a_thunk_is_patched_with_it),
		cmocka_unit_test(each_of_two_alternatives_for_one_place_may_apply),
		cmocka_unit_test(
			branches_of_static_keys_are_not_known_but_those_of_tracing_are_off),
		cmocka_unit_test(a_module_of_another_processor_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
