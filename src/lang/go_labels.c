/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/go_labels.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_go.h"

#define GO(minor) (1u << 8 | (minor))

/* From the debug information of programs of each version, and the runtime's runtime2.go. */
static const struct {
	uint32_t first; /* this version and newer ones */
	struct label_places places;
} go_versions[] = {
	{ GO(16), { 0, 48, 192, 344, LABELS_GO_MAP, 0, 0 } },
	{ GO(17), { 0, 48, 192, 360, LABELS_GO_MAP, 0, 0 } },
	{ GO(21), { 0, 48, 192, 344, LABELS_GO_MAP, 0, 0 } },
	{ GO(23), { 0, 48, 192, 352, LABELS_GO_MAP, 0, 0 } },
	{ GO(24), { 0, 48, 192, 352, LABELS_GO_LIST, 0, 0 } },
	{ GO(25), { 0, 48, 184, 344, LABELS_GO_LIST, 0, 0 } },
	{ GO(26), { 0, 48, 184, 352, LABELS_GO_LIST, 0, 0 } },
	{ GO(28), { 0 } },
};

/* ---- the version ---- */

/* The header of .go.buildinfo (debug/buildinfo of Go's library). */
#define BUILDINFO_MAGIC  "\xff Go buildinf:"
#define BUILDINFO_FLAGS  15 /* place of the flags */
#define BUILDINFO_INLINE 2  /* texts follow the header; else it has their addresses */
#define BUILDINFO_TEXTS  32
#define BUILDINFO_PLACE  16
#define VERSION_MAX      32

static struct reader version_text(const struct elf_file *elf, struct reader info, uint8_t flags)
{
	struct reader r = info, text = { 0 };
	uint64_t at, size;

	if (flags & BUILDINFO_INLINE) {
		reader_bytes(&r, BUILDINFO_TEXTS);
		size = reader_uleb(&r);
		text = r;
	} else {
		reader_bytes(&r, BUILDINFO_PLACE);
		r = elf_bytes_at(elf, reader_u64(&r));
		at = reader_u64(&r);
		size = reader_u64(&r);
		text = elf_bytes_at(elf, at);
	}
	if (r.bad || size > VERSION_MAX || reader_left(&text) < size)
		return (struct reader){ 0 };
	text.end = text.at + size;
	return text;
}

/* "go1.19.8": 1 << 8 | 19; 0: another text. */
static uint32_t parse_version(struct reader text)
{
	static const char prefix[] = "go1.";
	const char *at = reader_bytes(&text, sizeof(prefix) - 1);
	uint32_t minor = 0;

	if (!at || memcmp(at, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	for (uint8_t c; reader_left(&text) && minor < 100; minor = minor * 10 + (c - '0')) {
		c = reader_u8(&text);
		if (c < '0' || c > '9')
			break;
	}
	return minor ? GO(minor) : 0;
}

static uint32_t go_version(const struct elf_file *elf)
{
	struct elf_section s;
	struct reader r, info;
	const uint8_t *header;

	if (!elf_section_named(elf, ".go.buildinfo", &s))
		return 0;
	r = info = elf_section_bytes(elf, &s);
	header = reader_bytes(&r, BUILDINFO_FLAGS + 1);
	if (!header || memcmp(header, BUILDINFO_MAGIC, sizeof(BUILDINFO_MAGIC) - 1) != 0)
		return 0;
	return parse_version(version_text(elf, info, header[BUILDINFO_FLAGS]));
}

/* ---- the running goroutine ---- */

#define NAME_MAX_SEEN 96 /* bytes of a function's name */

/* By the code of functions of the runtime that load the running `g`. */
static bool find_g(const struct elf_file *elf, int32_t *offset)
{
	static const char *const names[] = { "runtime.morestack", "runtime.morestack.abi0",
					     "runtime.asmcgocall", "runtime.asmcgocall.abi0",
					     "runtime.mcall" };
	struct elf_go_function f;
	struct elf_go go;

	if (!elf_go_open(&go, elf))
		return false;
	for (uint32_t i = 0; elf_go_function(&go, i, &f); i++) {
		const char *name = elf_go_short_name(&go, &f, NAME_MAX_SEEN);

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (!strcmp(name, names[k]) &&
			    elf_go_find_thread(elf_bytes_at(elf, f.link_addr), offset))
				return true;
	}
	return false;
}

void go_labels_find(const struct elf_file *elf, struct lang_runtime *out)
{
	struct lang_runtime found = { .version = go_version(elf) };

	*out = (struct lang_runtime){ 0 };
	if (elf->machine != EM_X86_64 || !found.version)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(go_versions); i++)
		if (found.version >= go_versions[i].first)
			found.labels = go_versions[i].places;
	if (found.labels.g_m && find_g(elf, &found.labels.thread_at))
		*out = found;
}
