/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/interpreter_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/*
 * Whether only root can change the file. Its headers are read here, without the parser, and they
 * name other files. So a file of any other user is left to the looks at files that a recording
 * meets. A path elsewhere may be on a file system that never answers.
 */
static bool is_of_system(const char *path)
{
	struct stat st;

	return (!strncmp(path, "/usr/", 5) || !strncmp(path, "/opt/", 5)) && !stat(path, &st) &&
	       S_ISREG(st.st_mode) && !st.st_uid && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void add_program(const char *path, struct program_files *out)
{
	char real[PATH_MAX];

	if (out->n < INSTALLED_FILES_MAX && realpath(path, real) && is_of_system(real))
		program_files_find(real, out);
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

	add_program(library, out);
}

static void add_installed(const char *folder, struct program_files *out)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const struct interpreter_name *name = name_of(entry->d_name);
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", folder, entry->d_name);

		if (name && !name->is_on_stack)
			add_program(path, out);
	}
	if (dir)
		closedir(dir);
}

void interpreter_files_of_process(const char *proc, int32_t pid, struct program_files *out)
{
	cleanup(free_at_exit) char *link = xasprintf("%s/%d/exe", proc, pid);
	const struct interpreter_name *name;
	char path[PATH_MAX];
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	if (n <= 0)
		return;
	path[n] = '\0';
	name = name_of(last_part(path));
	if (!name || !is_of_system(path))
		return;
	if (!strcmp(name->name, "java"))
		add_java(path, out);
	else
		add_program(path, out);
}

static void add_running(const char *proc, struct program_files *out)
{
	DIR *dir = opendir(proc);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			interpreter_files_of_process(proc, atoi(entry->d_name), out);
	if (dir)
		closedir(dir);
}

void interpreter_files_find(const char *proc, struct program_files *out)
{
	add_running(proc, out);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++)
		add_installed(folders[i], out);
}
