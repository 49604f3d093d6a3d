/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_package.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "base/path.h"

#define LIST_MAX ((size_t)64 << 20)

/* The start of a line that is `text`; NULL: there is none. */
static const char *find_line(const char *list, const char *text)
{
	size_t n = strlen(text);

	for (const char *at = list; (at = strstr(at, text)); at++)
		if ((at == list || at[-1] == '\n') && (at[n] == '\n' || !at[n]))
			return at;
	return NULL;
}

/* The rest of the first line from `at` on that begins with `key`, before an empty line. */
static char *find_field(const char *at, const char *key)
{
	size_t n = strlen(key);

	for (; at && *at && *at != '\n'; at = strchr(at, '\n'), at = at ? at + 1 : NULL)
		if (!strncmp(at, key, n))
			return xstrndup(at + n, strcspn(at + n, "\n"));
	return NULL;
}

/* /lib is a link to /usr/lib: packages have either path. */
static char *other_path(const char *path)
{
	if (!strncmp(path, "/usr/", 5))
		return xstrdup(path + 4);
	return xasprintf("/usr%s", path);
}

static bool has_path(const char *list, const char *path)
{
	cleanup(free_at_exit) char *other = other_path(path);

	return find_line(list, path) || find_line(list, other);
}

/* ---- dpkg: info/PACKAGE.list or info/PACKAGE:ARCHITECTURE.list ---- */

static char *dpkg_package(const char *root, const char *path)
{
	cleanup(free_at_exit) char *pattern = xasprintf("%s/var/lib/dpkg/info/*.list", root);
	char *package = NULL;
	glob_t lists = { 0 };

	if (glob(pattern, 0, NULL, &lists) == 0)
		for (size_t i = 0; i < lists.gl_pathc && !package; i++) {
			const char *name = path_file_name(lists.gl_pathv[i]);
			cleanup(free_at_exit) char *text = NULL;

			if (file_read_all(lists.gl_pathv[i], LIST_MAX, &text, NULL) >= 0 &&
			    has_path(text, path))
				package = xstrndup(name, strlen(name) - strlen(".list"));
		}
	globfree(&lists);
	return package;
}

static char *dpkg_version(const char *root, const char *package)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/var/lib/dpkg/status", root), *text = NULL;
	cleanup(free_at_exit) char *line = xasprintf("Package: %s", package);

	if (file_read_all(path, LIST_MAX, &text, NULL) < 0)
		return NULL;
	return find_field(find_line(text, line), "Version: ");
}

static char *debian_command(const char *root, const char *path)
{
	cleanup(free_at_exit) char *found = dpkg_package(root, path), *package = NULL;
	cleanup(free_at_exit) char *version = NULL;
	const char *arch;

	if (!found)
		return NULL;
	arch = found + strcspn(found, ":");
	package = xstrndup(found, (size_t)(arch - found));
	version = dpkg_version(root, package);
	/* glibc has a debug package of its own name since before there were others */
	if (!strncmp(package, "libc6", 5) && !strchr(package, '-'))
		return xasprintf("apt install libc6-dbg%s%s", version ? "=" : "",
				 version ? version : "");
	return xasprintf("apt install %s-dbgsym%s%s", package, version ? "=" : "",
			 version ? version : "");
}

/* ---- apk: P: package, V: version, then F: a folder and R: its files ---- */

static char *alpine_command(const char *root, const char *path)
{
	cleanup(free_at_exit) char *list = xasprintf("%s/lib/apk/db/installed", root);
	cleanup(free_at_exit) char *text = NULL, *folder = path_folder(path);
	cleanup(free_at_exit) char *package = NULL, *version = NULL, *dir = NULL;
	char *rest, *line;

	if (path[0] != '/' || file_read_all(list, LIST_MAX, &text, NULL) < 0)
		return NULL;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		char **to = line[0] == 'P'   ? &package
			    : line[0] == 'V' ? &version
			    : line[0] == 'F' ? &dir
					     : NULL;

		if (!line[0] || line[1] != ':')
			continue;
		if (to) {
			free(*to);
			*to = xstrdup(line + 2);
		} else if (line[0] == 'R' && package && version && dir &&
			   !strcmp(line + 2, path_file_name(path)) && !strcmp(dir, folder + 1)) {
			return xasprintf("apk add %s-dbg=%s", package, version);
		}
	}
	return NULL;
}

/* ---- the distribution ---- */

static char *fedora_command(const char *root, const char *path)
{
	(void)root;
	return xasprintf("dnf debuginfo-install \"$(rpm -qf %s)\"", path);
}

static char *suse_command(const char *root, const char *path)
{
	(void)root;
	return xasprintf("zypper install \"$(rpm -qf --qf '%%{NAME}-debuginfo' %s)\"", path);
}

static char *arch_command(const char *root, const char *path)
{
	(void)root, (void)path;
	return xstrdup("export DEBUGINFOD_URLS=https://debuginfod.archlinux.org");
}

static bool os_is(const char *release, const char *word)
{
	cleanup(free_at_exit) char *id = NULL, *like = NULL;

	/* an empty line would end a record */
	for (const char *at = release; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
		if (!id && !strncmp(at, "ID=", 3))
			id = xstrndup(at + 3, strcspn(at + 3, "\n"));
		if (!like && !strncmp(at, "ID_LIKE=", 8))
			like = xstrndup(at + 8, strcspn(at + 8, "\n"));
	}
	return (id && strstr(id, word)) || (like && strstr(like, word));
}

/* The path is printed for a shell. */
static bool is_plain(const char *path)
{
	return path[0] == '/' && path[strspn(path, "abcdefghijklmnopqrstuvwxyz"
						   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						   "0123456789/._+-@")] == '\0';
}

char *debug_package_command(const char *root, const char *path)
{
	static const struct {
		const char *word;
		char *(*command)(const char *root, const char *path);
	} systems[] = {
		{ "debian", debian_command }, { "alpine", alpine_command },
		{ "fedora", fedora_command }, { "rhel", fedora_command },
		{ "suse", suse_command },     { "arch", arch_command },
	};
	cleanup(free_at_exit) char *file = xasprintf("%s/etc/os-release", root), *text = NULL;

	if (!is_plain(path) || file_read_all(file, 1 << 16, &text, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++)
		if (os_is(text, systems[i].word))
			return systems[i].command(root, path);
	return NULL;
}
