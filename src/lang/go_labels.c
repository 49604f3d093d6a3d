/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/go_labels.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "elf/elf_go.h"

/* From the debug information of programs of each version, and the runtime's runtime2.go. */
static const struct {
	uint32_t first; /* this version and newer ones */
	struct label_places places;
} go_versions[] = {
	{ ELF_GO_VERSION(16), { 0, 48, 192, 344, LABELS_GO_MAP, 0, 0 } },
	{ ELF_GO_VERSION(17), { 0, 48, 192, 360, LABELS_GO_MAP, 0, 0 } },
	{ ELF_GO_VERSION(21), { 0, 48, 192, 344, LABELS_GO_MAP, 0, 0 } },
	{ ELF_GO_VERSION(23), { 0, 48, 192, 352, LABELS_GO_MAP, 0, 0 } },
	{ ELF_GO_VERSION(24), { 0, 48, 192, 352, LABELS_GO_LIST, 0, 0 } },
	{ ELF_GO_VERSION(25), { 0, 48, 184, 344, LABELS_GO_LIST, 0, 0 } },
	{ ELF_GO_VERSION(26), { 0, 48, 184, 352, LABELS_GO_LIST, 0, 0 } },
	{ ELF_GO_UNKNOWN, { 0 } },
};

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
	struct lang_runtime found = { .version = elf_go_version(elf) };

	*out = (struct lang_runtime){ 0 };
	if (elf->machine != EM_X86_64 || !found.version)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(go_versions); i++)
		if (found.version >= go_versions[i].first)
			found.labels = go_versions[i].places;
	if (found.labels.g_m && find_g(elf, &found.labels.thread_at))
		*out = found;
}
