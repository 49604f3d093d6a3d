/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions whose names tell what they do, for `assay explain`. */
#include "unit.h"

#include "explain/known_code.h"

static void functions_are_known_by_name(void **state)
{
	const char *words = "";

	(void)state;
	assert_int_equal(known_code_of("malloc", false), KNOWN_ALLOCATOR);
	assert_int_equal(known_code_of("operator new(unsigned long)", false), KNOWN_ALLOCATOR);
	assert_int_equal(known_code_of("_int_free.part.0", false), KNOWN_ALLOCATOR);
	assert_int_equal(known_code_of("mallocator", false), KNOWN_NONE);
	assert_int_equal(known_code_of("malloc", true), KNOWN_NONE);
	assert_int_equal(known_code_of("__memmove_avx_unaligned_erms", false), KNOWN_COPY);
	assert_int_equal(known_code_of("asm_exc_page_fault", true), KNOWN_FAULT);
	assert_int_equal(known_code_of("asm_exc_page_fault", false), KNOWN_NONE);
	assert_int_equal(known_code_of("__x64_sys_read", true), KNOWN_SYSCALL);
	assert_string_equal(known_syscall("__x64_sys_read"), "read");
	assert_null(known_syscall("do_exit"));
	assert_int_equal(known_wait_of("pthread_cond_wait@@GLIBC_2.3.2", &words), WAIT_CONDITION);
	assert_string_equal(words, "a condition");
	assert_int_equal(known_wait_of("XactLockTableWait", &words), WAIT_LOCK);
	assert_string_equal(words, "row locks");
	assert_int_equal(known_wait_of("main", &words), WAIT_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(functions_are_known_by_name) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
