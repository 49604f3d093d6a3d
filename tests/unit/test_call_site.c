/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that may be returned to: behind a call, or a trampoline. */
#include <elf.h>
#include <string.h>

#include "unit.h"

#include "base/mem.h"
#include "elf/elf_trampoline.h"
#include "unwind/call_site.h"

/* The last bytes before an address. */
static bool is_behind(const uint8_t *code, size_t n, bool is_aarch64)
{
	uint64_t before = 0;

	memcpy((uint8_t *)&before + UNWIND_CALL_BYTES - n, code, n);
	return unwind_may_return_to(before, 0, is_aarch64);
}

static void a_call_may_be_returned_from(void **state)
{
	static const struct {
		bool is_aarch64, is_call;
		uint8_t n, code[8];
	} rows[] = {
		{ false, true, 5, { 0xe8, 1, 2, 3, 4 } },
		{ false, true, 2, { 0xff, 0xd0 } },                         /* call *%rax */
		{ false, true, 3, { 0x41, 0xff, 0xd4 } },                   /* call *%r12 */
		{ false, true, 3, { 0xff, 0x53, 0x10 } },                   /* call *16(%rbx) */
		{ false, true, 4, { 0xff, 0x54, 0x24, 0x10 } },             /* call *16(%rsp) */
		{ false, true, 6, { 0xff, 0x15, 1, 2, 3, 4 } },             /* call *(%rip) */
		{ false, true, 7, { 0xff, 0x94, 0x24, 0, 1, 0, 0 } },       /* call *256(%rsp) */
		{ false, true, 8, { 0x41, 0xff, 0x94, 0x24, 0, 1, 0, 0 } }, /* call *256(%r12) */
		{ false, false, 5, { 0xe9, 1, 2, 3, 4 } },
		{ false, false, 4, { 0xe8, 1, 2, 3 } },
		{ false, false, 6, { 0xe8, 1, 2, 3, 4, 0x90 } },
		{ false, false, 2, { 0xff, 0xe0 } },             /* jmp *%rax */
		{ false, false, 4, { 0xff, 0x64, 0x24, 0x10 } }, /* jmp *16(%rsp) */
		{ false, false, 6, { 0xff, 0x35, 1, 2, 3, 4 } }, /* push (%rip) */
		{ false, false, 5, { 0xff, 0x15, 1, 2, 3 } },
		{ false, false, 8, { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 } },
		{ true, true, 4, { 0x04, 0x00, 0x00, 0x94 } },  /* bl */
		{ true, true, 4, { 0x60, 0x00, 0x3f, 0xd6 } },  /* blr x3 */
		{ true, true, 4, { 0x61, 0x08, 0x3f, 0xd7 } },  /* blraa x3, x1 */
		{ true, true, 4, { 0x7f, 0x08, 0x3f, 0xd6 } },  /* blraaz x3 */
		{ true, false, 4, { 0x04, 0x00, 0x00, 0x14 } }, /* b */
		{ true, false, 4, { 0x60, 0x00, 0x1f, 0xd6 } }, /* br x3 */
		{ true, false, 4, { 0xc0, 0x03, 0x5f, 0xd6 } }, /* ret */
		{ true, false, 8, { 0x04, 0x00, 0x00, 0x94, 0x1f, 0x20, 0x03, 0xd5 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (is_behind(rows[i].code, rows[i].n, rows[i].is_aarch64) != rows[i].is_call)
			fail_msg("row %zu", i);
}

/* The kernel's own list has each form of the list for files. */
static void each_trampoline_may_be_returned_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELF_TRAMPOLINE_FORMS; i++) {
		const struct elf_trampoline_form *form = &elf_trampoline_forms[i];
		bool is_aarch64 = form->machine == EM_AARCH64;
		uint64_t code = 0;

		memcpy(&code, form->bytes, MIN((size_t)form->n, sizeof(code)));
		if (!unwind_may_return_to(0, code, is_aarch64))
			fail_msg("form %zu", i);
		assert_false(unwind_may_return_to(0, code ^ 1, is_aarch64));
		assert_false(unwind_may_return_to(0, code, !is_aarch64));
	}
}

/* glibc's __restore of i386: pop %eax; mov $119, %eax; int $0x80. */
static void the_older_trampoline_of_i386_may_be_returned_to(void **state)
{
	(void)state;
	assert_true(unwind_may_return_to(0, 0x80cd00000077b858, false));
	assert_false(unwind_may_return_to(0, 0x80cd00000078b858, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_may_be_returned_from),
		cmocka_unit_test(each_trampoline_may_be_returned_to),
		cmocka_unit_test(the_older_trampoline_of_i386_may_be_returned_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
