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
	{ VERSION(36), { 0xd0, 0xe0, 0x68, true } },
	{ VERSION(34), { 0xd0, 0xe0, 0x68, false } },
	{ VERSION(32), { 0xe0, 0xf0, 0x68, false } },
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

enum lang_detected perl_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size)
{
	struct elf_symbol loop, debugged, key;
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
	if (elf->machine != EM_X86_64 || !layout)
		return lang_refuse(elf, out, why, why_size);
	if (!elf_symbol_exported(elf, "PL_thr_key", &key))
		return lang_refuse_for(out, "without threads is not known to assay", why, why_size);
	if (!loop_base(elf, loop.link_addr, &base) || !loop_find(elf, &loop, out))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	if (elf_symbol_exported(elf, "Perl_runops_debug", &debugged))
		loop_add(elf, &debugged, out);
	out->perl = *layout;
	out->state = key.link_addr - base;
	out->libc = LIBC_GLIBC;
	return LANG_FOUND;
}
