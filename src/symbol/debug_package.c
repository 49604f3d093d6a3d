/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/open.h"

#define LIST_MAX    (64u << 20)
#define RELEASE_MAX (1u << 16)
#define MAX_LISTS   (1u << 16) /* of a hostile root */

/* A file of the system below `root`, whose links stay below it. NULL: it can't be read. */
static char *read_list(const char *root, const char *path, uint64_t limit)
{
	const struct guard_rules rules = { limit, GUARD_ANY_OWNER, false };
	struct file_mapping file = { 0 };
	char *text;

	if (guard_map_below(root, path, &rules, &file, NULL) < 0)
		return NULL;
	text = file.size ? xstrndup((const char *)file.base, file.size) : xstrdup("");
	file_unmap(&file);
	return text;
}

/* A word that is printed for a shell: a system may be hostile, and so may be its names. */
static bool is_word(const char *text)
{
	return text[0] && text[0] != '-' &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
				 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789/._+-@:~")] == '\0';
}

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

static bool is_list_with(const char *root, const char *name, const char *path)
{
	size_t n = strlen(name), end = strlen(".list");
	cleanup(free_at_exit) char *list = xasprintf("/var/lib/dpkg/info/%s", name), *text = NULL;

	if (n <= end || strcmp(name + n - end, ".list") != 0)
		return false;
	text = read_list(root, list, LIST_MAX);
	return text && has_path(text, path);
}

static char *dpkg_package(const char *root, const char *path)
{
	cleanup(close_at_exit) int at = *root ? guard_root_of(root) : GUARD_HERE;
	cleanup(close_at_exit) int info = guard_folder(at, "/var/lib/dpkg/info", NULL);
	int fd = info < 0 ? -1 : openat(info, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	char *package = NULL;

	for (uint32_t n = 0; dir && !package && n < MAX_LISTS && (entry = readdir(dir)); n++)
		if (is_list_with(root, entry->d_name, path))
			package = xstrndup(entry->d_name, strlen(entry->d_name) - strlen(".list"));
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
	return package;
}

static char *dpkg_version(const char *root, const char *package)
{
	cleanup(free_at_exit) char *text = read_list(root, "/var/lib/dpkg/status", LIST_MAX);
	cleanup(free_at_exit) char *line = xasprintf("Package: %s", package);

	return text ? find_field(find_line(text, line), "Version: ") : NULL;
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
	if (!is_word(package) || (version && !is_word(version)))
		return NULL;
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
	cleanup(free_at_exit) char *text = read_list(root, "/lib/apk/db/installed", LIST_MAX);
	cleanup(free_at_exit) char *folder = path_folder(path);
	cleanup(free_at_exit) char *package = NULL, *version = NULL, *dir = NULL;
	char *rest, *line;

	if (!text)
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
			return is_word(package) && is_word(version)
				       ? xasprintf("apk add %s-dbg=%s", package, version)
				       : NULL;
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
	cleanup(free_at_exit) char *text = NULL;

	if (path[0] != '/' || !is_word(path))
		return NULL;
	text = read_list(root, "/etc/os-release", RELEASE_MAX);
	if (!text)
		text = read_list(root, "/usr/lib/os-release", RELEASE_MAX);
	if (!text)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(systems); i++)
		if (os_is(text, systems[i].word))
			return systems[i].command(root, path);
	return NULL;
}
