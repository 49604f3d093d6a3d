/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debuginfod.h"

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/files/cache_dir.h"
#include "base/files/file.h"
#include "base/mem.h"

#ifdef HAVE_DEBUGINFOD
#include <elfutils/debuginfod.h>

#include "base/lazy_library.h"

#define FUNCTIONS(X)                  \
	X(debuginfod_begin)           \
	X(debuginfod_find_debuginfo)  \
	X(debuginfod_find_executable) \
	X(debuginfod_set_progressfn)  \
	X(debuginfod_set_user_data)   \
	X(debuginfod_get_user_data)   \
	X(debuginfod_end)

static struct {
	FUNCTIONS(LAZY_POINTER)
} lib;

static bool debuginfod_load(void)
{
#define ROW(function) { #function, &lib.function },
	static const struct lazy_function functions[] = { FUNCTIONS(ROW) };
#undef ROW

	return lib.debuginfod_end ||
	       lazy_library_load(DEBUGINFOD_SONAMES, functions, ARRAY_SIZE(functions), NULL) == 0;
}
#endif

enum outcome {
	OUTCOME_UNASKED,
	OUTCOME_FOUND,
	OUTCOME_NONE,          /* no server has it, or the request failed */
	OUTCOME_REMEMBERED,    /* the same, a while ago */
	OUTCOME_SLOW,          /* the limit was reached while it was sent */
	OUTCOME_SILENT,        /* the limit was reached, and next to nothing was sent */
	OUTCOME_SILENT_BEFORE, /* the servers did not answer a while ago */
	OUTCOME_NO_TIME_LEFT,  /* the limit had been used up */
};

static const char *const outcome_texts[] = {
	[OUTCOME_UNASKED] = "not asked: no step needed it",
	[OUTCOME_FOUND] = "asked: it has the file",
	[OUTCOME_NONE] = "asked: it does not have the file",
	[OUTCOME_REMEMBERED] = "not asked: it did not send the file less than ten minutes ago",
	[OUTCOME_SLOW] = "asked: it did not send the whole file in the time of --debuginfod-limit",
	[OUTCOME_SILENT] = "asked: it did not send the file in the time of --debuginfod-limit",
	[OUTCOME_SILENT_BEFORE] = "not asked: it did not answer less than ten minutes ago",
	[OUTCOME_NO_TIME_LEFT] = "not asked: the time of --debuginfod-limit is used up",
};

struct known_outcome {
	enum debuginfod_kind kind;
	struct build_id id;
	enum outcome outcome;
	int error; /* of OUTCOME_NONE; 0: no server has it */
};

struct debuginfod {
	struct debuginfod_config config;
	char *memory_dir; /* NULL: none */
	pthread_mutex_t lock;
	uint64_t used_ns;               /* by requests that are over */
	uint64_t began_ns, deadline_ns; /* of the running request, by the monotonic clock */
	const char *path;               /* of its image */
	uint64_t sent;                  /* bytes of its file */
	bool is_late;                   /* it reached its deadline */
	uint32_t n_unasked;
	bool was_silent; /* the servers did not answer a while ago, which was said */
	VEC(struct known_outcome) known;
};

static const struct {
	const char *file, *what; /* in the library's cache; in sentences */
} kinds[] = {
	[DEBUGINFOD_DEBUG_FILE] = { "debuginfo", "the debug information of" },
	[DEBUGINFOD_EXECUTABLE] = { "executable", "the file" },
};

/*
 * The library of elfutils 0.192 calls on_progress() only when a server has begun to answer. Its own
 * limit ends a request to a silent one. It reads the limit from the environment, which is not
 * changed later, as threads may read it. A smaller limit of the user stays.
 */
static void limit_silence(uint32_t limit_s)
{
	const char *given = getenv("DEBUGINFOD_TIMEOUT");
	unsigned long given_s = given ? strtoul(given, NULL, 10) : 0;
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, limit_s);
	if (!given_s || given_s > limit_s)
		setenv("DEBUGINFOD_TIMEOUT", text, 1);
}

struct debuginfod *debuginfod_new(const struct debuginfod_config *config)
{
	struct debuginfod *d = xcalloc(1, sizeof(*d));

	d->config = *config;
	if (!d->config.limit_s)
		d->config.limit_s = DEBUGINFOD_LIMIT_S;
	limit_silence(d->config.limit_s);
	d->memory_dir = !config->memory_dir   ? cache_dir("debuginfod")
			: *config->memory_dir ? xstrdup(config->memory_dir)
					      : NULL;
	d->config.memory_dir = NULL;
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	pthread_mutex_destroy(&d->lock);
	vec_fini(&d->known);
	free(d->memory_dir);
	free(d);
}

static const char *urls(void)
{
	const char *text = getenv("DEBUGINFOD_URLS");

	return text ? text : "";
}

bool debuginfod_is_on(void)
{
#ifdef HAVE_DEBUGINFOD
	return *urls();
#else
	return false;
#endif
}

char *debuginfod_kept_path(enum debuginfod_kind kind, const struct build_id *id)
{
	const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *home = getenv("HOME");
	const char *xdg = getenv("XDG_CACHE_HOME");
	cleanup(free_at_exit) char *dir = NULL, *old = NULL;
	char hex[BUILD_ID_HEX_SIZE];

	if (id->len < 2)
		return NULL;
	if (given && *given)
		dir = xstrdup(given);
	else if (home && *home && (old = xasprintf("%s/.debuginfod_client_cache", home)) &&
		 access(old, F_OK) == 0)
		dir = take_ptr(old);
	else if (xdg && *xdg)
		dir = xasprintf("%s/debuginfod_client", xdg);
	else if (home && *home)
		dir = xasprintf("%s/.cache/debuginfod_client", home);
	if (!dir)
		return NULL;
	build_id_hex(id, hex);
	return xasprintf("%s/%s/%s", dir, hex, kinds[kind].file);
}

static struct known_outcome *find_known(struct debuginfod *d, enum debuginfod_kind kind,
					const struct build_id *id)
{
	vec_foreach (&d->known, k)
		if (k->kind == kind && build_id_equal(&k->id, id))
			return k;
	return NULL;
}

#ifdef HAVE_DEBUGINFOD

/* ---- what is remembered ---- */

/* The name has the servers in it: others may have the file. `id` NULL: the servers are silent. */
static char *memory_path(const struct debuginfod *d, enum debuginfod_kind kind,
			 const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE] = "";
	uint64_t servers = XXH3_64bits(urls(), strlen(urls()));

	if (!d->memory_dir)
		return NULL;
	if (id)
		build_id_hex(id, hex);
	return xasprintf("%s/%s-%s-%016" PRIx64, d->memory_dir, id ? kinds[kind].file : "silent",
			 hex, servers);
}

static bool is_remembered(const struct debuginfod *d, enum debuginfod_kind kind,
			  const struct build_id *id)
{
	cleanup(free_at_exit) char *path = memory_path(d, kind, id);
	uint64_t now_ns = clock_wall_ns(), then_ns;
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return false;
	then_ns = timespec_ns(st.st_mtim);
	if (then_ns <= now_ns && now_ns - then_ns < DEBUGINFOD_REMEMBER_S * NS_PER_SECOND)
		return true;
	unlink(path); /* so that the folder does not grow for good */
	return false;
}

static void remember(const struct debuginfod *d, enum debuginfod_kind kind,
		     const struct build_id *id)
{
	cleanup(free_at_exit) char *path = memory_path(d, kind, id);

	if (path && file_mkdirs(d->memory_dir, 0700, NULL) >= 0)
		file_replace(path, "", 0, NULL);
}

/* ---- requests ---- */
__attribute__((format(printf, 2, 3))) static void say(const struct debuginfod *d,
						      const char *format, ...)
{
	cleanup(free_at_exit) char *text = NULL;
	va_list args;

	if (!d->config.report)
		return;
	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	d->config.report(text);
}

/* Of the library: called at least once a second. A result other than 0 ends the request. */
static int on_progress(debuginfod_client *client, long done, long total)
{
	struct debuginfod *d = lib.debuginfod_get_user_data(client);
	uint64_t now_ns = clock_monotonic_ns();
	cleanup(free_at_exit) char *bytes = NULL, *text = NULL;

	/* without a known size, the library counts its own steps */
	if (total > 0 && done > 0)
		d->sent = (uint64_t)done;
	d->is_late = now_ns >= d->deadline_ns;
	if (d->is_late || !d->config.progress)
		return d->is_late;
	if (total > 0)
		bytes = xasprintf(" %.1f of %.1f MB,", (double)done / 1e6, (double)total / 1e6);
	text = xasprintf("debuginfod:%s %" PRIu64 " of %" PRIu32 " s: %s", bytes ? bytes : "",
			 (d->used_ns + now_ns - d->began_ns) / NS_PER_SECOND, d->config.limit_s,
			 d->path);
	d->config.progress(text);
	return 0;
}

/* The file, or a negative errno. */
static int run_request(struct debuginfod *d, enum debuginfod_kind kind, const struct build_id *id,
		       char **path)
{
	debuginfod_client *client = lib.debuginfod_begin();
	int fd;

	if (!client)
		return -ENOMEM;
	d->began_ns = clock_monotonic_ns();
	d->deadline_ns = d->began_ns + d->config.limit_s * NS_PER_SECOND - d->used_ns;
	d->is_late = false;
	d->sent = 0;
	lib.debuginfod_set_user_data(client, d);
	lib.debuginfod_set_progressfn(client, on_progress);
	fd = kind == DEBUGINFOD_EXECUTABLE
		     ? lib.debuginfod_find_executable(client, id->bytes, id->len, path)
		     : lib.debuginfod_find_debuginfo(client, id->bytes, id->len, path);
	lib.debuginfod_end(client);
	d->is_late |= fd < 0 && clock_monotonic_ns() >= d->deadline_ns;
	d->used_ns += clock_monotonic_ns() - d->began_ns;
	if (d->config.progress)
		d->config.progress(NULL);
	if (fd >= 0)
		close(fd);
	return fd;
}

/* The library notes a file that did not come in time as one that no server has. */
static void forget_note(enum debuginfod_kind kind, const struct build_id *id)
{
	cleanup(free_at_exit) char *kept = debuginfod_kept_path(kind, id);
	struct stat st;

	if (kept && stat(kept, &st) == 0 && !st.st_size)
		unlink(kept);
}

/* A server that sends too slowly for a large file may send small ones in time. */
static enum outcome debuginfod_late(struct debuginfod *d, enum debuginfod_kind kind,
				    const struct build_id *id)
{
	bool is_slow = d->sent >= d->config.limit_s * (uint64_t)DEBUGINFOD_SLOW_BYTES;

	say(d,
	    "debuginfod: %s did not send %s %s in time; all requests together have %" PRIu32
	    " s (--debuginfod-limit). It is asked %sagain in ten minutes",
	    urls(), kinds[kind].what, d->path, d->config.limit_s, is_slow ? "for it " : "");
	remember(d, kind, is_slow ? id : NULL);
	forget_note(kind, id);
	return is_slow ? OUTCOME_SLOW : OUTCOME_SILENT;
}

static enum outcome ask_servers(struct debuginfod *d, enum debuginfod_kind kind,
				const struct build_id *id, char **path, int *error)
{
	char hex[BUILD_ID_HEX_SIZE];
	int r;

	build_id_hex(id, hex);
	say(d, "debuginfod: asking %s for %s %s (build id %s)", urls(), kinds[kind].what, d->path,
	    hex);
	r = run_request(d, kind, id, path);
	if (r >= 0) {
		say(d, "debuginfod: got %s %s", kinds[kind].what, d->path);
		return OUTCOME_FOUND;
	}
	if (d->is_late)
		return debuginfod_late(d, kind, id);
	say(d, "debuginfod: nothing for %s: %s", d->path, strerror(-r));
	if (r == -ENOENT)
		remember(d, kind, id);
	else
		*error = -r;
	return OUTCOME_NONE;
}

/* A file that came before. The library notes with an empty one that a server has none. */
static enum outcome find_kept(struct debuginfod *d, enum debuginfod_kind kind,
			      const struct build_id *id, char **path)
{
	cleanup(free_at_exit) char *kept = debuginfod_kept_path(kind, id);
	struct stat st;

	if (!kept || stat(kept, &st) < 0) {
		d->n_unasked++;
		return OUTCOME_UNASKED;
	}
	if (!st.st_size)
		return OUTCOME_NONE;
	*path = take_ptr(kept);
	return OUTCOME_FOUND;
}

static enum outcome debuginfod_ask(struct debuginfod *d, enum debuginfod_kind kind,
				   const struct build_id *id, char **path, int *error)
{
	if (d->was_silent)
		return OUTCOME_SILENT_BEFORE;
	if (d->used_ns >= d->config.limit_s * NS_PER_SECOND)
		return OUTCOME_NO_TIME_LEFT;
	if (is_remembered(d, kind, NULL)) {
		say(d,
		    "debuginfod: %s did not answer less than ten minutes ago, and is not asked "
		    "(to ask it now, delete %s)",
		    urls(), d->memory_dir);
		d->was_silent = true;
		return OUTCOME_SILENT_BEFORE;
	}
	if (is_remembered(d, kind, id))
		return OUTCOME_REMEMBERED;
	if (d->config.asks_later)
		return find_kept(d, kind, id, path);
	return debuginfod_load() ? ask_servers(d, kind, id, path, error) : OUTCOME_NONE;
}

char *debuginfod_fetch(struct debuginfod *d, enum debuginfod_kind kind, const struct build_id *id,
		       const char *image_path)
{
	struct known_outcome known = { .kind = kind, .id = *id };
	char *path = NULL;

	if (!d || !debuginfod_is_on() || id->len < 2)
		return NULL;
	pthread_mutex_lock(&d->lock);
	if (!find_known(d, kind, id)) {
		d->path = image_path;
		known.outcome = debuginfod_ask(d, kind, id, &path, &known.error);
		vec_push(&d->known, known);
	} else if (find_known(d, kind, id)->outcome == OUTCOME_FOUND) {
		path = debuginfod_kept_path(kind, id);
	}
	pthread_mutex_unlock(&d->lock);
	return path;
}

#else

char *debuginfod_fetch(struct debuginfod *d, enum debuginfod_kind kind, const struct build_id *id,
		       const char *image_path)
{
	(void)d, (void)kind, (void)id, (void)image_path;
	return NULL;
}

#endif

uint32_t debuginfod_n_unasked(const struct debuginfod *d)
{
	return d ? d->n_unasked : 0;
}

char *debuginfod_verdict(struct debuginfod *d, enum debuginfod_kind kind, const struct build_id *id)
{
	const struct known_outcome *known;
	char *text;

	if (!debuginfod_is_on())
		return xstrdup("not asked: DEBUGINFOD_URLS is not set");
	if (!d)
		return xstrdup("not asked");
	if (id->len < 2)
		return xstrdup("not asked: the build id is not known");
	pthread_mutex_lock(&d->lock);
	known = find_known(d, kind, id);
	text = known && known->error
		       ? xasprintf("asked: %s", strerror(known->error))
		       : xstrdup(outcome_texts[known ? known->outcome : OUTCOME_UNASKED]);
	pthread_mutex_unlock(&d->lock);
	return text;
}
