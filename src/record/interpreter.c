/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/interpreter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "guard/open.h"
#include "lang/detect.h"
#include "machine/proc.h"
#include "record/child.h"

/* A script's interpreter may be a script. The kernel has a similar limit (fs/exec.c). */
#define SCRIPTS_MAX 4

static struct interpreter interpreter_of_elf(const struct elf_file *elf)
{
	struct lang_runtime runtime;
	struct interpreter found = { 0 };
	char why[128];
	enum lang_detected result = lang_detect(elf, &runtime, why, sizeof(why));

	if (result == LANG_FOUND && !language_is_on_stack(runtime.language))
		found.language = (enum language)runtime.language;
	found.is_go = result == LANG_NONE && runtime.version &&
		      !label_kind_is_context(runtime.labels.kind);
	return found;
}

/*
 * The libraries that have a runtime. A launcher such as a shared build's python3 has none of the
 * runtime's symbols, but the name of the library is among its strings.
 */
static const struct {
	const char *name; /* of the library */
	enum language language;
} libraries[] = {
	{ "libpython3.", LANGUAGE_PYTHON },
	{ "libruby", LANGUAGE_RUBY },
};

static enum language language_of_libraries(const struct elf_file *elf)
{
	struct elf_section names;
	struct reader r;

	if (!elf_section_named(elf, ".dynstr", &names))
		return LANGUAGE_NONE;
	r = elf_section_bytes(elf, &names);
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++)
		if (memmem(r.at, reader_left(&r), libraries[i].name, strlen(libraries[i].name)))
			return libraries[i].language;
	return LANGUAGE_NONE;
}

/*
 * The program of a first line like "#!/usr/bin/env -S python3 -u": python3. `line` is changed; the
 * result is in it. NULL: the line has no program.
 */
static char *program_of_script(char *line)
{
	static const char space[] = " \t\r\n";
	char *rest = line, *word = strtok_r(line, space, &rest);
	const char *name = word ? strrchr(word, '/') : NULL;

	if (!name || strcmp(name, "/env") != 0)
		return word;
	while ((word = strtok_r(NULL, space, &rest)))
		if (*word != '-' && !strchr(word, '='))
			return word;
	return NULL;
}

/* One step: what a file runs, or, for a script, *next: its interpreter, which is freed. */
static struct interpreter interpreter_in_file(const char *path, char **next)
{
	struct interpreter found = { 0 };
	struct file_mapping file;
	struct elf_file elf;

	*next = NULL;
	if (guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) < 0)
		return found;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0) {
		found = interpreter_of_elf(&elf);
		if (!found.language)
			found.language = language_of_libraries(&elf);
	} else if (file.size > 2 && !memcmp(file.base, "#!", 2)) {
		const char *line = (const char *)file.base + 2;
		size_t n = MIN(file.size - 2, (size_t)255);
		const char *end = memchr(line, '\n', n);
		cleanup(free_at_exit) char *text = xstrndup(line, end ? (size_t)(end - line) : n);
		const char *program = program_of_script(text);

		*next = program ? child_find(program) : NULL;
	}
	file_unmap(&file);
	return found;
}

/* Follows a command through scripts. The path is freed by the caller. */
static struct interpreter follow_command(const char *command, char **path)
{
	struct interpreter found = { 0 };

	*path = child_find(command);
	for (int i = 0; *path && i < SCRIPTS_MAX; i++) {
		char *next;

		found = interpreter_in_file(*path, &next);
		if (found.language || found.is_go)
			return found;
		free(*path);
		*path = next;
	}
	free(*path);
	*path = NULL;
	return found;
}

struct interpreter interpreter_of_command(const char *command)
{
	cleanup(free_at_exit) char *path = NULL;

	return follow_command(command, &path);
}

char *interpreter_file(const char *command)
{
	char *path;

	follow_command(command, &path);
	return path;
}

/* Files of a process, as events of its mappings. */
struct mapped_files {
	struct event_sink sink;
	const char *proc;
	struct interpreter found;
};

static int look_at_mapping(struct event_sink *sink, const struct event *e)
{
	struct mapped_files *m = (struct mapped_files *)sink;
	struct interpreter found;
	cleanup(free_at_exit) char *root = NULL;
	struct file_mapping file;
	struct elf_file elf;

	if (e->type != EVENT_MAPPING || m->found.language || !e->mapping.is_executable ||
	    e->mapping.path[0] != '/')
		return 0;
	root = xasprintf("%s/%d/root", m->proc, e->pid);
	if (guard_map_below(root, e->mapping.path, &guard_image_rules, &file, NULL) < 0)
		return 0;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0) {
		found = interpreter_of_elf(&elf);
		m->found.language = found.language;
		m->found.is_go |= found.is_go;
	}
	file_unmap(&file);
	return 0;
}

struct interpreter interpreter_of_process(const char *proc, int32_t pid)
{
	struct mapped_files m = { .sink = { .push = look_at_mapping }, .proc = proc };

	proc_scan_process(proc, pid, 0, &m.sink);
	return m.found;
}
