/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/perl.h"

#include <elf.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"
#include "lang/loop.h"

#define VERSION(minor) (5 << 8 | (minor))

/*
 * Offsets by version: curcop and curstackinfo of the interpreter (intrpvar.h), and the size of a
 * context (cop.h). A hash has its names in its body since 5.36 (hv.h).
 */
static const struct perl_version {
	uint32_t first;
	struct perl_layout layout;
} perl_versions[] = {
	{ VERSION(36), { 0xd0, 0xe0, 0x68, true, false, 0 } },
	{ VERSION(34), { 0xd0, 0xe0, 0x68, false, false, 0 } },
	{ VERSION(32), { 0xe0, 0xf0, 0x68, false, false, 0 } },
};

#define NEWEST VERSION(42)

static bool read_version_part(const struct elf_file *elf, const char *name, uint8_t *out)
{
	struct elf_symbol symbol;
	struct reader r;

	if (!elf_symbol_exported(elf, name, &symbol))
		return false;
	r = elf_bytes_at(elf, symbol.link_addr);
	*out = reader_u8(&r);
	return !r.bad;
}

/* Odd versions are for development. */
static const struct perl_layout *perl_layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(perl_versions); i++)
		if (version >= perl_versions[i].first)
			return version <= NEWEST && version % 2 == 0 ? &perl_versions[i].layout
								     : NULL;
	return NULL;
}

#define GROUP_SIZE 4096 /* of the variables of the interpreter, about (collect/bpf/perl.h) */

/* Without threads, variables of the program are the interpreter. */
static bool find_variables(const struct elf_file *elf, uint64_t base, struct lang_runtime *out)
{
	static const char *const names[] = { "PL_op", "PL_curcop", "PL_curstackinfo",
					     "PL_compiling" };
	uint64_t at[ARRAY_SIZE(names)], first = UINT64_MAX;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct elf_symbol variable;

		if (!elf_symbol_exported(elf, names[i], &variable))
			return false;
		at[i] = variable.link_addr;
		first = MIN(first, at[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (at[i] - first >= GROUP_SIZE)
			return false;
	out->perl.is_global = true;
	out->perl.operation = (uint16_t)(at[0] - first);
	out->perl.statement = (uint16_t)(at[1] - first);
	out->perl.stack = (uint16_t)(at[2] - first);
	out->state = first - base;
	return true;
}

enum lang_detected perl_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size)
{
	struct elf_symbol loop, debugged, key;
	bool has_threads;
	const struct perl_layout *layout;
	uint8_t major, minor;
	uint64_t base;

	if (!elf_symbol_exported(elf, "Perl_runops_standard", &loop) ||
	    !read_version_part(elf, "PL_revision", &major) ||
	    !read_version_part(elf, "PL_version", &minor))
		return LANG_NONE;
	out->language = LANGUAGE_PERL;
	out->version = (uint32_t)major << 8 | minor;
	layout = perl_layout_of(out->version);
	if (!lang_find_libc(elf, out) || !layout)
		return lang_refuse(elf, out, why, why_size);
	has_threads = elf_symbol_exported(elf, "PL_thr_key", &key);
	out->perl = *layout;
	if (!loop_base(elf, loop.link_addr, &base) || !loop_find(elf, &loop, out) ||
	    (!has_threads && !find_variables(elf, base, out)))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	if (elf_symbol_exported(elf, "Perl_runops_debug", &debugged))
		loop_add(elf, &debugged, out);
	if (has_threads) {
		out->state = key.link_addr - base;
		lang_find_variable(elf, &key, base, &out->state_variable);
	}
	return LANG_FOUND;
}
