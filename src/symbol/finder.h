/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one place that finds the files of images: for names, lines, unwinding, code and traces.
 * These are the places, in their order. The first file that is the image's (machine/image_file.h)
 * is used:
 *
 *	of a guest, with --guestmount: the image's path below the guest's folder
 *	else the image's path, below the root if there is one
 *	the same path of this machine, if there is a root: for libraries of the same build
 *	the root itself, by the name alone: a folder that has just the binaries
 *	the user's folders (--image-path), by name
 *	DEBUGDIR/.build-id/xx/yyyy…            a link to the program, or an archive's copy of it
 *	perf's build-id cache, ~/.debug
 *	the files that libdebuginfod has fetched before
 *	the roots of running containers, and the layers of container engines
 *	the servers in $DEBUGINFOD_URLS
 *
 * Only an image with a build id has the places from the sixth on. The third needs a build id or
 * an inode. A finder of a living process looks at the first place alone. Debug files have places
 * of their own (symbol/debug_file.h), which use the caches of a finder, too.
 *
 * Any thread may use a finder.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "symbol/container_roots.h"
#include "symbol/image_places.h"

struct build_id;
struct debuginfod;
struct error;
struct file_mapping;
struct image;
struct symbolizer_config;

struct finder {
	char *root, *debug_dir; /* root "": this machine's */
	char *process;          /* "/proc/PID"; NULL: none */
	bool is_at_its_path;    /* the file of the process */
	const char *cache_dir;  /* of indexes (symbol/cache.h), the owner's; NULL: none */
	struct image_places listed;
	struct debuginfod *debuginfod; /* NULL: no server is asked. Not owned */
	char *perf_cache;              /* NULL: none */
	char *guest_mount;             /* NULL: not given */
	pthread_mutex_t lock;          /* of the rest */
	VEC(char *) guest_roots;       /* folders below guest_mount */
	bool has_containers;           /* they were listed */
	struct container_roots containers;
};

/* Only the members for places of *config count (symbol/symbols.h); NULL: all defaults. */
void finder_init(struct finder *f, const struct symbolizer_config *config);
void finder_fini(struct finder *f);

/* The folder of perf's cache: $PERF_BUILDID_DIR, else of ~/.perfconfig, else ~/.debug. NULL: none.
 */
char *finder_perf_cache(void);

enum finder_step {
	FINDER_GUEST,
	FINDER_PATH,
	FINDER_HERE,
	FINDER_NAME,
	FINDER_FOLDER,
	FINDER_BUILD_ID,
	FINDER_PERF_CACHE,
	FINDER_FETCHED,
	FINDER_CONTAINER,
	FINDER_DEBUGINFOD,
};

/* A place: a path below a root. */
struct image_place {
	char *path;        /* whole; the caller's to free() */
	const char *root;  /* the start of path; "". It belongs to the finder */
	const char *below; /* the rest of path */
	enum finder_step step;
};

/*
 * The place of an image's file, of kind FILE or VDSO. If no file is the image's, the first place:
 * the path where the file should be. False then.
 */
bool finder_find(struct finder *f, const struct image *image, struct image_place *out);

/* The same, and the mapping of the file: a negative errno. -ENOENT: there is no right file. */
int finder_open(struct finder *f, const struct image *image, struct image_place *place,
		struct file_mapping *file, struct error *err);

/* Maps the file of a place. */
int finder_map(const struct finder *f, const struct image_place *place, struct file_mapping *out,
	       struct error *err);

/* Calls `visit` for each place until it returns true. The places end with the call. */
typedef bool (*finder_visit)(void *context, const struct image_place *place);
void finder_each(struct finder *f, const struct image *image, finder_visit visit, void *context);

/*
 * Whether a file is the image's. Device and inode do not count below a root that the user gave:
 * those files are copies.
 */
bool finder_is_right(const struct finder *f, const struct image *image,
		     const struct image_place *place, const struct file_mapping *file,
		     const struct build_id *found);

/* A file of perf's build-id cache: "elf", "debug", "vdso". NULL: no cache. The caller frees it. */
char *finder_perf_path(const struct finder *f, const struct build_id *id, const char *name);
