/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/debug_frames.h"

#include "base/files/file.h"
#include "base/intmap.h"
#include "elf/elf_file.h"
#include "symbol/debug_file.h"

static struct debug_search search_for(const char *root, const char *name,
				      const struct elf_file *image)
{
	struct debug_search search = {
		.root = root,
		.debug_dir = "/usr/lib/debug",
		.image_path = name,
	};

	elf_build_id(image, &search.build_id);
	search.link_name = elf_debug_link(image, &search.link_crc);
	return search;
}

static bool open_frames(const char *root, const char *name, const struct elf_file *image,
			struct file_mapping *file, struct elf_file *debug)
{
	struct debug_search search = search_for(root, name, image);

	if (debug_file_open(&search, image, file, debug, NULL))
		return true;
	search.root = "";
	return *root && debug_file_open(&search, image, file, debug, NULL);
}

static uint64_t evidence_of_frames(const char *root, const char *name, const struct elf_file *image)
{
	struct debug_search search = search_for(root, name, image);
	uint64_t sum = debug_file_evidence(&search);

	search.root = "";
	/* If the process's root is our root, both terms are equal and would cancel out. */
	return *root ? hash_u64(hash_u64(sum) ^ debug_file_evidence(&search)) : sum;
}

const struct unwind_debug_files debug_frames = {
	.open = open_frames,
	.evidence = evidence_of_frames,
};
