/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/kcore_cache.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "symbol/kallsyms.h"

enum { MAX_LIST = 1 << 22, MAX_MODULES = 1 << 12, NAME_BYTES = 64 };

struct module_list {
	VEC(struct loaded_module) all;
};

static void module_list_fini(struct module_list *l)
{
	vec_foreach (&l->all, m)
		free((char *)m->name);
	vec_fini(&l->all);
}

/* "nf_tables 303104 1 nft_compat, Live 0xffffffffc0a01000" (proc(5)). A kernel may have none. */
static void module_list_read(struct module_list *l, const char *folder)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/modules", folder), *text = NULL;
	size_t size;

	if (file_read_all(path, MAX_LIST, &text, &size) < 0)
		return;
	for (const char *line = text; line && *line && l->all.n < MAX_MODULES;) {
		char name[NAME_BYTES];
		uint64_t addr;

		if (sscanf(line, "%63s %*u %*s %*s %*s %" SCNx64, name, &addr) == 2)
			vec_push(&l->all, ((struct loaded_module){ xstrdup(name), addr }));
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

static bool module_list_has(const struct module_list *l, const struct loaded_module *wanted)
{
	vec_foreach (&l->all, m)
		if (m->addr == wanted->addr && !strcmp(m->name, wanted->name))
			return true;
	return false;
}

/* The address of _text in a folder's kallsyms; 0: not there, or hidden. */
static uint64_t text_of(const char *folder)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kallsyms", folder);
	struct kallsyms k = { 0 };
	uint64_t text = 0;

	if (kallsyms_read(&k, path) == 0 && !k.is_hidden)
		text = k.text_addr;
	kallsyms_fini(&k);
	return text;
}

static bool kcore_fits(const char *folder, uint64_t text, const struct loaded_module *modules,
		       size_t n_modules)
{
	cleanup(module_list_fini) struct module_list list = { 0 };

	if (!text || n_modules > MAX_MODULES || text_of(folder) != text)
		return false;
	module_list_read(&list, folder);
	for (size_t i = 0; i < n_modules; i++)
		if (!module_list_has(&list, &modules[i]))
			return false;
	return true;
}

char *kcore_cache_find(const char *cache, const struct build_id *id, uint64_t text,
		       const struct loaded_module *modules, size_t n_modules)
{
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *builds = NULL;
	char *best = NULL;
	struct dirent *entry;
	DIR *dir;

	build_id_hex(id, hex);
	builds = xasprintf("%s/" KCORE_CACHE "/%s", cache, hex);
	dir = opendir(builds);
	while (dir && (entry = readdir(dir))) {
		char *folder = xasprintf("%s/%s", builds, entry->d_name);

		if (entry->d_name[0] != '.' && (!best || strcmp(folder, best) > 0) &&
		    kcore_fits(folder, text, modules, n_modules)) {
			free(best);
			best = folder;
		} else {
			free(folder);
		}
	}
	if (dir)
		closedir(dir);
	return best;
}

char *kcore_cache_find_like(const char *cache, const struct build_id *id, const char *folder)
{
	cleanup(module_list_fini) struct module_list list = { 0 };

	module_list_read(&list, folder);
	return kcore_cache_find(cache, id, text_of(folder), list.all.data, list.all.n);
}
