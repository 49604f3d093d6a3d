/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/storage_places.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "guard/open.h"

#define CONF_LIMIT (64 << 10)
#define PATH_LIMIT 4096

/* ---- storage.conf ---- */

static const char *conf_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* The text behind "key ="; NULL: the line has another key. */
static const char *find_value(const char *line, const char *key)
{
	const char *at = conf_skip_blanks(line);
	size_t len = strlen(key);

	if (strncmp(at, key, len) != 0)
		return NULL;
	at = conf_skip_blanks(at + len);
	return *at == '=' ? conf_skip_blanks(at + 1) : NULL;
}

/* "text" or 'text' of one line, without escapes; NULL: anything else. */
static char *parse_quoted(const char *at)
{
	const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;
	size_t len = end ? (size_t)(end - at - 1) : 0;

	return len && len < PATH_LIMIT && strcspn(at, "\n") > len ? xstrndup(at + 1, len) : NULL;
}

char *storage_conf_get(const char *text, const char *key)
{
	static const char section[] = "[storage]";
	bool is_in_section = false;

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *at = conf_skip_blanks(line), *value;
		char *found;

		if (*at == '[')
			is_in_section = !strncmp(at, section, strlen(section));
		value = is_in_section ? find_value(line, key) : NULL;
		found = value ? parse_quoted(value) : NULL;
		if (found)
			return found;
	}
	return NULL;
}

/* NULL: no such file, or not a regular one. */
static char *read_conf(const char *path)
{
	static const struct guard_rules rules = { CONF_LIMIT, GUARD_ANY_OWNER, true };
	cleanup(close_at_exit) int fd = guard_open(GUARD_HERE, path, &rules, NULL);
	char *text;

	if (fd < 0 || file_read_fd(fd, CONF_LIMIT, &text, NULL) < 0)
		return NULL;
	return text;
}

/* ---- places ---- */

static void storage_places_add(struct storage_places *places, const char *root, const char *path)
{
	cleanup(free_at_exit) char *whole = xasprintf("%s%s", root, path);

	if (*path != '/')
		return;
	vec_foreach (&places->paths, old)
		if (!strcmp(*old, whole))
			return;
	vec_push(&places->paths, take_ptr(whole));
}

static void add_of_conf(struct storage_places *places, const char *root, const char *text)
{
	cleanup(free_at_exit) char *path = text ? storage_conf_get(text, "graphroot") : NULL;

	if (path)
		storage_places_add(places, root, path);
}

static char *read_root_conf(const char *root)
{
	static const char *const dirs[] = { "/etc", "/usr/share" };
	char *text = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !text; i++) {
		cleanup(free_at_exit) char *path =
			xasprintf("%s%s/containers/storage.conf", root, dirs[i]);

		text = read_conf(path);
	}
	return text;
}

/* ---- users ---- */

/* From the machine's own file first: other sources of users may be slow. */
static const struct passwd *find_user(const char *root, int64_t user)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/etc/passwd", root);
	FILE *file = fopen(path, "re");
	const struct passwd *p = NULL;

	while (file && (p = fgetpwent(file)) && p->pw_uid != (uid_t)user)
		;
	if (file)
		fclose(file);
	return p || *root ? p : getpwuid((uid_t)user);
}

/* Replaces the variables of "$HOME/x". */
static char *expand_variables(const char *path, const struct passwd *p)
{
	char uid[24];
	const char *const words[][2] = { { "$HOME", p->pw_dir },
					 { "$USER", p->pw_name },
					 { "$UID", uid } };
	struct buf out = { 0 };
	char *text;

	snprintf(uid, sizeof(uid), "%u", (unsigned int)p->pw_uid);
	while (*path) {
		size_t len = 1;

		for (size_t i = 0; i < ARRAY_SIZE(words) && len == 1; i++)
			if (!strncmp(path, words[i][0], strlen(words[i][0]))) {
				len = strlen(words[i][0]);
				buf_str(&out, words[i][1]);
			}
		if (len == 1)
			buf_u8(&out, (uint8_t)*path);
		path += len;
	}
	text = xstrdup(buf_cstr(&out));
	buf_fini(&out);
	return text;
}

static void add_of_user(struct storage_places *places, const char *root, const struct passwd *p)
{
	cleanup(free_at_exit) char *usual =
		xasprintf("%s/.local/share/containers/storage", p->pw_dir);
	cleanup(free_at_exit) char *file =
		xasprintf("%s%s/.config/containers/storage.conf", root, p->pw_dir);
	cleanup(free_at_exit) char *own = read_conf(file), *roots = read_root_conf(root);
	cleanup(free_at_exit) char *path =
		roots ? storage_conf_get(roots, "rootless_storage_path") : NULL;
	cleanup(free_at_exit) char *of_user = path ? expand_variables(path, p) : NULL;

	storage_places_add(places, root, usual);
	add_of_conf(places, root, own);
	if (of_user)
		storage_places_add(places, root, of_user);
}

void storage_places_find(struct storage_places *places, const char *root, int64_t user)
{
	const struct passwd *p = user >= 0 ? find_user(root, user) : NULL;

	if (user == STORAGES_OF_ROOT) {
		cleanup(free_at_exit) char *text = read_root_conf(root);

		storage_places_add(places, root, "/var/lib/containers/storage");
		add_of_conf(places, root, text);
	} else if (p && p->pw_dir && *p->pw_dir == '/') {
		add_of_user(places, root, p);
	}
}

void storage_places_fini(struct storage_places *places)
{
	vec_foreach (&places->paths, path)
		free(*path);
	vec_fini(&places->paths);
}
