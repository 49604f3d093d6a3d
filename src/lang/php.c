/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/php.h"

#include <ctype.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/aarch64.h"
#include "lang/language.h"
#include "lang/loop.h"

#define PROLOGUE_MAX 8 /* bytes before the load in a small function */
#define LOAD_SIZE    7 /* bytes of a load into %rax */

#define VERSION(major, minor) ((major) << 8 | (minor))

/* Offsets in zend_op_array (Zend/zend_compile.h) of opcodes and filename. */
static const struct php_version {
	uint32_t version;
	struct php_layout layout;
} php_versions[] = {
	{ VERSION(7, 4), { 64, 136, 0, 0, 0 } }, { VERSION(8, 0), { 72, 144, 0, 0, 0 } },
	{ VERSION(8, 1), { 72, 144, 0, 0, 0 } }, { VERSION(8, 2), { 88, 152, 0, 0, 0 } },
	{ VERSION(8, 3), { 80, 144, 0, 0, 0 } }, { VERSION(8, 4), { 104, 168, 0, 0, 0 } },
};

/* The program's own text of its version: it sends it with web pages. */
static uint32_t find_php_version(const struct elf_file *elf)
{
	static const char text[] = "X-Powered-By: PHP/";
	struct elf_section data;
	struct reader r;
	const char *at, *end;
	unsigned int major = 0, minor = 0;

	if (!elf_section_named(elf, ".rodata", &data))
		return 0;
	r = elf_section_bytes(elf, &data);
	end = (const char *)r.at + reader_left(&r);
	at = memmem(r.at, reader_left(&r), text, strlen(text));
	if (!at)
		return 0;
	for (at += strlen(text); at < end && isdigit((unsigned char)*at) && major < 100; at++)
		major = 10 * major + (unsigned int)(*at - '0');
	if (at == end || *at++ != '.')
		return 0;
	for (; at < end && isdigit((unsigned char)*at) && minor < 100; at++)
		minor = 10 * minor + (unsigned int)(*at - '0');
	return VERSION(major, minor);
}

/*
 * Where the loop jumps to the code of an instruction, by `jmp *(%r15)`. Its prologue is over there,
 * so this place has the unwind rule of code that the JIT compiler made.
 */
static uint32_t find_dispatch(const struct elf_file *elf, const struct elf_symbol *loop)
{
	static const uint8_t jump[] = { 0x41, 0xff, 0x27 };
	struct reader r = elf_bytes_at(elf, loop->link_addr);
	const uint8_t *at =
		memmem(r.at, MIN(reader_left(&r), (size_t)loop->size), jump, sizeof(jump));
	uint64_t file_off;

	if (!at || !elf_file_off(elf, loop->link_addr + (uint64_t)(at - r.at), &file_off) ||
	    file_off > UINT32_MAX)
		return 0;
	return (uint32_t)file_off;
}

/* The same on AArch64: a load of the address through x28, and the jump. */
static uint32_t find_dispatch_of_aarch64(const struct elf_file *elf, const struct elf_symbol *loop)
{
	struct aarch64_code code = aarch64_code_at(elf, loop->link_addr, loop->size);
	uint64_t file_off;

	for (size_t i = 0; i + 1 < code.n; i++) {
		uint32_t load = aarch64_insn(&code, i), jump = aarch64_insn(&code, i + 1);

		if ((load & 0xffffffe0) != 0xf9400380 || !aarch64_is_jump(jump) || /* ldr, [x28] */
		    (load & 31) != (jump >> 5 & 31))
			continue;
		return elf_file_off(elf, loop->link_addr + 4 * i, &file_off) &&
				       file_off <= UINT32_MAX
			       ? (uint32_t)file_off
			       : 0;
	}
	return 0;
}

/*
 * With threads, the globals are in memory of the thread, and tsrm_get_ls_cache_tcb_offset()
 * (TSRM/TSRM.c) gives the place of the thread's pointer to it. In a program, the linker has put the
 * number into its code; in a library, it is in a word that the dynamic linker fills.
 */
static bool find_thread_globals(const struct elf_file *elf, uint64_t base, struct lang_runtime *out)
{
	struct elf_symbol off, function;
	struct reader r;

	if (out->is_aarch64 || !elf_symbol_exported(elf, "executor_globals_offset", &off) ||
	    !elf_symbol_exported(elf, "tsrm_get_ls_cache_tcb_offset", &function))
		return false;
	out->state = off.link_addr - base;
	lang_find_variable(elf, &off, base, &out->state_variable);
	r = elf_bytes_at(elf, function.link_addr);
	for (size_t i = 0; i < PROLOGUE_MAX && i + LOAD_SIZE <= (size_t)reader_left(&r); i++) {
		int64_t number = loop_displacement(r.at + i + 3);

		if (!memcmp(r.at + i, "\x48\xc7\xc0", 3)) { /* mov $number,%rax */
			out->php.globals = PHP_GLOBALS_THREAD;
			out->php.cache = (uint64_t)number;
			return true;
		}
		if (!memcmp(r.at + i, "\x48\x8b\x05", 3)) { /* mov number(%rip),%rax */
			out->php.globals = PHP_GLOBALS_SLOT;
			out->php.cache =
				function.link_addr + i + LOAD_SIZE + (uint64_t)number - base;
			return true;
		}
	}
	return false;
}

enum lang_detected php_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			      size_t why_size)
{
	const struct php_layout *layout = NULL;
	struct elf_symbol loop, globals;
	bool has_globals;
	uint64_t base;

	if (!elf_symbol_exported(elf, "execute_ex", &loop) ||
	    !elf_symbol_exported(elf, "zend_execute_internal", &globals))
		return LANG_NONE;
	has_globals = elf_symbol_exported(elf, "executor_globals", &globals);
	out->language = LANGUAGE_PHP;
	out->version = find_php_version(elf);
	for (size_t i = 0; i < ARRAY_SIZE(php_versions); i++)
		if (php_versions[i].version == out->version)
			layout = &php_versions[i].layout;
	if (!lang_find_libc(elf, out) || !layout)
		return lang_refuse(elf, out, why, why_size);
	if (!loop_base(elf, loop.link_addr, &base) || !loop_find(elf, &loop, out))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	out->php = *layout;
	out->php.dispatch =
		out->is_aarch64 ? find_dispatch_of_aarch64(elf, &loop) : find_dispatch(elf, &loop);
	if (has_globals) {
		out->state = globals.link_addr + PHP_INNERMOST_FRAME - base;
		lang_find_variable(elf, &globals, base, &out->state_variable);
	} else if (!find_thread_globals(elf, base, out)) {
		return lang_refuse_for(
			out, "with threads (ZTS) was built in a way that assay does not know", why,
			why_size);
	}
	return LANG_FOUND;
}
