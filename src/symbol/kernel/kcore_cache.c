/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/kcore_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/proc_modules.h"
#include "symbol/kallsyms.h"

enum { MAX_MODULES = 1 << 12 };

struct module_list {
	VEC(struct loaded_module) all;
};

static void module_list_fini(struct module_list *l)
{
	vec_foreach (&l->all, m)
		free((char *)m->name);
	vec_fini(&l->all);
}

/* A kernel may have none, and no file. False: they are not known. */
static bool module_list_read(struct module_list *l, const char *folder)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/modules", folder), *text = NULL;
	const char *at;
	struct proc_module m;
	size_t size;
	int r = file_read_all(path, PROC_MODULES_BYTES, &text, &size);

	if (r < 0)
		return r == -ENOENT;
	at = text;
	while (l->all.n <= MAX_MODULES && proc_modules_next(&at, &m))
		vec_push(&l->all, ((struct loaded_module){ xstrdup(m.name), m.addr }));
	return l->all.n <= MAX_MODULES;
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

/* What a copy has to have. */
struct kcore_wanted {
	uint64_t text;
	const struct loaded_module *modules;
	size_t n_modules;
	bool has_no_others;
};

static bool kcore_fits(const char *folder, const struct kcore_wanted *w)
{
	cleanup(module_list_fini) struct module_list list = { 0 };

	if (!w->text || w->n_modules > MAX_MODULES || text_of(folder) != w->text ||
	    !module_list_read(&list, folder) || (w->has_no_others && list.all.n != w->n_modules))
		return false;
	for (size_t i = 0; i < w->n_modules; i++)
		if (!module_list_has(&list, &w->modules[i]))
			return false;
	return true;
}

static char *find_copy(const char *cache, const struct build_id *id, const struct kcore_wanted *w)
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
		    kcore_fits(folder, w)) {
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

char *kcore_cache_find(const char *cache, const struct build_id *id, uint64_t text,
		       const struct loaded_module *modules, size_t n_modules)
{
	const struct kcore_wanted w = { text, modules, n_modules, false };

	return find_copy(cache, id, &w);
}

char *kcore_cache_find_like(const char *cache, const struct build_id *id, const char *folder)
{
	cleanup(module_list_fini) struct module_list list = { 0 };

	struct kcore_wanted w = { .has_no_others = true };

	if (!module_list_read(&list, folder))
		return NULL;
	w.text = text_of(folder);
	w.modules = list.all.data;
	w.n_modules = list.all.n;
	return find_copy(cache, id, &w);
}
