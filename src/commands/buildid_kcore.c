/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/buildid_kcore.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "elf/elf_file.h"
#include "replay/kcore_copy.h"
#include "symbol/kernel/kcore_cache.h"

enum { MAX_NOTES = 1 << 20 };

/* The build of the kernel whose /proc this is: of the notes in the /sys beside it. */
static int read_kernel_id(const char *proc, struct build_id *id, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/../sys/kernel/notes", proc), *notes = NULL;
	size_t size;
	int e = file_read_all(path, MAX_NOTES, &notes, &size);

	if (e < 0)
		return error_errno(err, e, "--kcore: the kernel's build id: %s", path);
	if (!elf_build_id_in_notes(reader_over(notes, size), 4, id))
		return error_set(err, -ENODATA, "--kcore: %s has no build id", path);
	return 0;
}

/* As perf names the folder: year to second, and hundredths. */
static char *folder_of_now(const char *cache, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE], second[32];
	struct timeval now;
	struct tm tm;

	gettimeofday(&now, NULL);
	localtime_r(&now.tv_sec, &tm);
	strftime(second, sizeof(second), "%Y%m%d%H%M%S", &tm);
	build_id_hex(id, hex);
	return xasprintf("%s/" KCORE_CACHE "/%s/%s%02u", cache, hex, second,
			 (unsigned int)(now.tv_usec / 10000));
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Calls `visit` for each name in a folder, in order; hidden ones are left out. */
static void each_name(const char *folder, const char *hex, void *context,
		      void (*visit)(const char *folder, const char *hex, const char *name,
				    void *context))
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_shown, alphasort);

	for (int i = 0; i < n; i++) {
		visit(folder, hex, entries[i]->d_name, context);
		free(entries[i]);
	}
	free(entries);
}

struct copy_visit {
	void (*visit)(void *context, const char *hex, const char *time);
	void *context;
};

static void visit_copy(const char *folder, const char *hex, const char *name, void *context)
{
	const struct copy_visit *v = context;

	(void)folder;
	v->visit(v->context, hex, name);
}

static void visit_build(const char *folder, const char *hex, const char *name, void *context)
{
	cleanup(free_at_exit) char *build = xasprintf("%s/%s", folder, name);

	(void)hex;
	each_name(build, name, context, visit_copy);
}

void buildid_kcore_each(const char *cache,
			void (*visit)(void *context, const char *hex, const char *time),
			void *context)
{
	cleanup(free_at_exit) char *copies = xasprintf("%s/" KCORE_CACHE, cache);
	struct copy_visit v = { visit, context };

	each_name(copies, NULL, &v, visit_build);
}

/* The folder that a path to a kcore names. The caller frees. */
static char *proc_of(const char *kcore)
{
	const char *slash = strrchr(kcore, '/');

	return xasprintf("%.*s", slash ? (int)(slash - kcore) : 1, slash ? kcore : ".");
}

bool buildid_kcore_is(const char *path)
{
	return strcmp(path_file_name(path), "kcore") == 0;
}

int buildid_kcore_id(const char *kcore, struct build_id *id, struct error *err)
{
	cleanup(free_at_exit) char *proc = proc_of(kcore);

	return read_kernel_id(proc, id, err);
}

int buildid_kcore_add(const char *cache, const char *kcore, bool is_verbose, struct error *err)
{
	cleanup(free_at_exit) char *proc = proc_of(kcore), *folder = NULL;
	struct build_id id = { 0 };
	uint64_t n_bytes = 0;
	int e;

	if (!buildid_kcore_is(kcore))
		return error_set(err, -EINVAL, "--kcore: %s: the file must be named kcore", kcore);
	if ((e = read_kernel_id(proc, &id, err)) < 0)
		return e;
	folder = kcore_cache_find_like(cache, &id, proc);
	if (folder) {
		if (is_verbose)
			log_info("kept before: %s", folder);
		return 0;
	}
	folder = folder_of_now(cache, &id);
	e = kcore_copy_files(proc, folder, &n_bytes, err);
	if (e >= 0 && is_verbose)
		log_info("added %s (%" PRIu64 " bytes)", folder, n_bytes);
	return e;
}
