/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Copies of kernels' memory in perf's cache, as `buildid-cache --kcore` makes them. The kernel
 * patches itself, so a build may have any number of copies:
 *
 *   CACHE/[kernel.kcore]/BUILDID/TIME/kcore, kallsyms and modules
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct build_id;

#define KCORE_CACHE "[kernel.kcore]"

struct loaded_module {
	const char *name;
	uint64_t addr;
};

/*
 * The latest copy of a build with _text at this address and all of these modules at their places.
 * The caller frees the path of its folder. NULL: there is none.
 */
char *kcore_cache_find(const char *cache, const struct build_id *id, uint64_t text,
		       const struct loaded_module *modules, size_t n_modules);

/*
 * The latest copy with _text and the modules that a folder's kallsyms and modules (such as those of
 * /proc) have, and no others. `id` is that of its build. NULL also if they can't be read.
 */
char *kcore_cache_find_like(const char *cache, const struct build_id *id, const char *folder);
