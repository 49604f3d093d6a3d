/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/program_files.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf/elf_links.h"
#include "guard/open.h"

static const char default_folders[] = "/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
				      "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:"
				      "/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";

static void add_file(struct program_files *f, const char *path)
{
	char real[PATH_MAX];

	if (f->n >= f->most || !realpath(path, real))
		return;
	vec_foreach (f, known)
		if (!strcmp(*known, real))
			return;
	vec_push(f, xstrdup(real));
}

void program_files_fini(struct program_files *f)
{
	vec_foreach (f, path)
		free(*path);
	vec_fini(f);
}

/* The path of a library in a folder, of which $ORIGIN is the linked file's own. The caller frees.
 */
static char *library_in(const char *folder, size_t len, const char *origin, const char *library)
{
	static const char own[] = "$ORIGIN";
	const char *slash = strrchr(origin, '/');
	size_t skip = sizeof(own) - 1;

	if (len >= skip && !strncmp(folder, own, skip))
		return xasprintf("%.*s%.*s/%s", slash ? (int)(slash - origin) : 0, origin,
				 (int)(len - skip), folder + skip, library);
	return xasprintf("%.*s/%s", (int)len, folder, library);
}

/* Adds the library from the first of the folders that has it. */
static bool add_library(struct program_files *f, const char *folders, const char *origin,
			const char *library)
{
	while (folders && *folders) {
		size_t len = strcspn(folders, ":");
		cleanup(free_at_exit) char *path = library_in(folders, len, origin, library);

		if (len && !access(path, R_OK)) {
			add_file(f, path);
			return true;
		}
		folders += len;
		folders += *folders == ':';
	}
	return false;
}

static void add_linked(struct program_files *f, const char *path)
{
	struct file_mapping file;
	struct elf_links links;
	struct elf_file elf;

	if (guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) < 0)
		return;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0) {
		elf_links_read(&elf, &links);
		if (links.interpreter)
			add_file(f, links.interpreter);
		for (size_t i = 0; i < links.n_needed; i++) {
			const char *name = links.needed[i];

			if (strchr(name, '/'))
				add_file(f, name);
			else if (!add_library(f, links.run_path, path, name) &&
				 !add_library(f, getenv("LD_LIBRARY_PATH"), path, name))
				add_library(f, default_folders, path, name);
		}
	}
	file_unmap(&file);
}

/* By the name of the loader: "/lib/ld-musl-x86_64.so.1". */
static enum program_kind kind_by_loader(const char *loader)
{
	const char *slash = loader ? strrchr(loader, '/') : NULL;

	if (!loader)
		return PROGRAM_STATIC;
	return !strncmp(slash ? slash + 1 : loader, "ld-musl", 7) ? PROGRAM_OF_MUSL
								  : PROGRAM_LOADED;
}

static enum program_kind kind_of_file(const char *path)
{
	enum program_kind kind = PROGRAM_LOADED;
	struct file_mapping file;
	struct elf_links links = { 0 };
	struct elf_file elf;

	if (guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) < 0)
		return kind;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0) {
		elf_links_read(&elf, &links);
		kind = kind_by_loader(links.interpreter);
	}
	file_unmap(&file);
	return kind;
}

/* As the kernel decides on AT_SECURE (security/commoncap.c). */
static bool gains_rights(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		st.st_gid != getgid()) ||
	       (getuid() && getxattr(path, "security.capability", NULL, 0) > 0);
}

enum program_kind program_kind(const char *program)
{
	enum program_kind kind = kind_of_file(program);

	return kind == PROGRAM_LOADED && gains_rights(program) ? PROGRAM_PRIVILEGED : kind;
}

void program_files_find(const char *program, struct program_files *out)
{
	size_t first = out->n;

	out->most = first + PROGRAM_FILES_MAX;
	add_file(out, program);
	for (size_t i = first; i < out->n; i++)
		add_linked(out, out->data[i]);
}

/*
 * PREFIX/bin/python3.11 and PREFIX/lib/libpython3.11.so.1.0 have PREFIX/lib/python3.11/lib-dynload.
 * NULL: the file is not CPython's. The caller frees.
 */
static char *modules_folder(const char *path)
{
	static const struct {
		const char *name, *to_lib;
	} files[] = { { "python", "../lib/" }, { "libpython", "" } };
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; slash && i < ARRAY_SIZE(files); i++) {
		const char *version = slash + 1 + strlen(files[i].name);
		size_t major = 0, minor = 0;

		if (strncmp(slash + 1, files[i].name, strlen(files[i].name)) != 0)
			continue;
		major = strspn(version, "0123456789");
		if (major && version[major] == '.')
			minor = strspn(version + major + 1, "0123456789");
		if (minor)
			return xasprintf("%.*s%spython%.*s/lib-dynload", (int)(slash + 1 - path),
					 path, files[i].to_lib, (int)(major + 1 + minor), version);
	}
	return NULL;
}

static bool is_module(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && !strcmp(dot, ".so");
}

static void add_modules_of(struct program_files *f, const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", folder, entry->d_name);

		if (is_module(entry->d_name))
			add_file(f, path);
	}
	if (dir)
		closedir(dir);
}

void program_files_add_modules(struct program_files *f)
{
	size_t n = f->n;

	f->most = n + PROGRAM_MODULES_MAX;
	for (size_t i = 0; i < n; i++) {
		cleanup(free_at_exit) char *folder = modules_folder(f->data[i]);

		if (folder)
			add_modules_of(f, folder);
	}
	for (size_t i = n; i < f->n; i++)
		add_linked(f, f->data[i]);
}
