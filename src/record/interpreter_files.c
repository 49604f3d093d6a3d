/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/interpreter_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/program_files.h"

static const char *const folders[] = { "/usr/bin", "/usr/sbin", "/usr/local/bin",
				       "/usr/local/sbin" };

/* The name of a program; behind it, a version may follow: "python3.11". */
static const struct interpreter_name {
	const char *name;
	bool is_on_stack; /* its frames are; it is read only if it runs */
} names[] = {
	{ "python" }, { "php" },        { "php-fpm" },      { "perl" },
	{ "ruby" },   { "node", true }, { "nodejs", true }, { "java", true },
};

static const struct interpreter_name *name_of(const char *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i].name);

		if (!strncmp(file, names[i].name, n) && !file[n + strspn(file + n, "0123456789.")])
			return &names[i];
	}
	return NULL;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Beside JRE/bin/java, its runtime is JRE/lib/server/libjvm.so. */
static void add_java(const char *path, struct program_files *out)
{
	cleanup(free_at_exit) char *library =
		xasprintf("%.*s../lib/server/libjvm.so", (int)(last_part(path) - path), path);

	program_files_find(library, out);
}

static void add_installed(const char *folder, struct program_files *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const struct interpreter_name *name = name_of(entry->d_name);
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", folder, entry->d_name);

		if (name && !name->is_on_stack)
			program_files_find(path, out);
	}
	if (dir)
		closedir(dir);
}

static void add_running(const char *proc, struct program_files *out)
{
	DIR *dir = opendir(proc);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		cleanup(free_at_exit) char *link = xasprintf("%s/%s/exe", proc, entry->d_name);
		const struct interpreter_name *name;
		char path[PATH_MAX];
		ssize_t n = atoi(entry->d_name) > 0 ? readlink(link, path, sizeof(path) - 1) : -1;

		if (n <= 0)
			continue;
		path[n] = '\0';
		name = name_of(last_part(path));
		if (name && !strcmp(name->name, "java"))
			add_java(path, out);
		else if (name)
			program_files_find(path, out);
	}
	if (dir)
		closedir(dir);
}

void interpreter_files_find(const char *proc, struct program_files *out)
{
	add_running(proc, out);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		add_installed(folders[i], out);
}
