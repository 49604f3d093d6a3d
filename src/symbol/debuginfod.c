/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debuginfod.h"

#include "config.h"

#ifdef HAVE_DEBUGINFOD

#include <elfutils/debuginfod.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/lazy_library.h"
#include "base/mem.h"

#define FUNCTIONS(X)                 \
	X(debuginfod_begin)          \
	X(debuginfod_find_debuginfo) \
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

bool debuginfod_is_on(void)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	return urls && *urls;
}

static void report_outcome(void (*report)(const char *), const char *image_path, int fd)
{
	cleanup(free_at_exit) char *text =
		fd >= 0 ? xasprintf("debuginfod: got the debug information of %s", image_path)
			: xasprintf("debuginfod: nothing for %s: %s", image_path, strerror(-fd));

	report(text);
}

char *debuginfod_fetch(const struct build_id *id, const char *image_path,
		       void (*report)(const char *sentence))
{
	cleanup(free_at_exit) char *asking = NULL;
	char hex[BUILD_ID_HEX_SIZE], *path = NULL;
	debuginfod_client *client;
	int fd;

	if (!debuginfod_is_on() || id->len < 2 || !debuginfod_load())
		return NULL;
	client = lib.debuginfod_begin();
	if (!client)
		return NULL;
	build_id_hex(id, hex);
	asking = xasprintf("debuginfod: asking %s for the debug information of %s (build id %s)",
			   getenv(DEBUGINFOD_URLS_ENV_VAR), image_path, hex);
	report(asking);
	fd = lib.debuginfod_find_debuginfo(client, id->bytes, id->len, &path);
	report_outcome(report, image_path, fd);
	if (fd >= 0)
		close(fd);
	lib.debuginfod_end(client);
	return path;
}

#else

#include <stddef.h>

bool debuginfod_is_on(void)
{
	return false;
}

char *debuginfod_fetch(const struct build_id *id, const char *image_path,
		       void (*report)(const char *sentence))
{
	(void)id, (void)image_path, (void)report;
	return NULL;
}

#endif
