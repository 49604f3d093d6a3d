/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/trace_symbol.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/strings.h"
#include "symbol/function_names.h"

void trace_place_fini(struct trace_place *p)
{
	free(p->path);
	free(p->name);
}

/* As execvp(3) finds it. */
static char *find_program(const char *command)
{
	const char *path = getenv("PATH");
	cleanup(free_at_exit) char *copy = xstrdup(path ? path : "/bin:/usr/bin");
	char *rest = copy;

	if (strchr(command, '/'))
		return realpath(command, NULL);
	for (char *dir; (dir = strsep(&rest, ":"));) {
		cleanup(free_at_exit) char *file = xasprintf("%s/%s", *dir ? dir : ".", command);

		if (access(file, X_OK) == 0)
			return realpath(file, NULL);
	}
	return NULL;
}

struct wanted {
	char *name;
	int32_t pick;
	const char *file; /* in the text; NULL */
};

/* "shop::sell #2@/lib/x.so". operator@ does not exist, so the last '@' begins the file. */
static void take_apart(const char *text, struct wanted *w)
{
	const char *at = strrchr(text, '@');

	w->file = at && at[1] ? at + 1 : NULL;
	w->name = xstrndup(text, at ? (size_t)(at - text) : strlen(text));
	w->pick = function_pick_cut(w->name);
}

static int function_find_in(const char *path, const struct wanted *w, struct trace_place *out,
			    struct error *err)
{
	cleanup(function_names_free_at_exit) struct function_names *names = NULL;
	struct function_name f;
	int r = function_names_of_file(path, &names, err);

	if (r >= 0)
		r = function_names_find(names, w->name, w->pick, &f, err);
	if (r < 0)
		return r;
	*out = (struct trace_place){ xstrdup(path), xstrdup(w->name), f.start };
	return 0;
}

/* The files that a process runs code of, but its program, each once. */
static void list_mapped(pid_t pid, const char *program, struct strings *out)
{
	char path[64], line[PATH_MAX + 128], flags[8];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		char *file = strchr(line, '/');

		if (!file || sscanf(line, "%*s %7s", flags) != 1 || !strchr(flags, 'x'))
			continue;
		file[strcspn(file, "\n")] = '\0';
		if (strcmp(file, program) != 0)
			strings_add(out, file);
	}
	if (f)
		fclose(f);
}

/*
 * Searches the libraries of the running process. On failure, reports the first error, which is the
 * program's.
 */
static int find_in_libraries(pid_t pid, const char *program, const struct wanted *w,
			     struct trace_place *out)
{
	struct strings files;
	int r = -ENOENT;

	strings_init(&files);
	list_mapped(pid, program, &files);
	for (uint32_t i = 1; i < files.n && r < 0; i++)
		r = function_find_in(strings_get(&files, (string_id){ i }), w, out, NULL);
	strings_fini(&files);
	return r;
}

static int find_program_of(const struct trace_symbol_target *target, char **out, struct error *err)
{
	char path[64];

	if (target->command) {
		*out = find_program(target->command);
		return *out ? 0
			    : error_set(err, -ENOENT, "cannot run '%s': command not found",
					target->command);
	}
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)target->pid);
	*out = realpath(path, NULL);
	if (*out)
		return 0;
	return errno == ENOENT
		       ? error_set(err, -ESRCH, "no process %d", (int)target->pid)
		       : error_errno(err, -errno, "the program of process %d", (int)target->pid);
}

int trace_symbol_find(const struct trace_symbol_target *target, const char *text,
		      struct trace_place *out, struct error *err)
{
	struct wanted w;
	cleanup(free_at_exit) char *path = NULL;
	struct error first = { 0 };
	int r = 0;

	take_apart(text, &w);
	if (w.file) {
		path = realpath(w.file, NULL);
		if (!path)
			r = error_errno(err, -errno, "%s", w.file);
	} else {
		r = find_program_of(target, &path, err);
	}
	if (!r)
		r = function_find_in(path, &w, out, &first);
	if (r < 0 && first.code && err)
		*err = first;
	if ((r == -ENOENT || r == -ENODATA) && path && !w.file) {
		if (target->pid && find_in_libraries(target->pid, path, &w, out) == 0)
			r = 0;
		else
			error_set(err, r,
				  "%s; name a function of a library with its file: "
				  "%.60s@/path/to/lib.so",
				  first.text, w.name);
	}
	free(w.name);
	return r;
}
