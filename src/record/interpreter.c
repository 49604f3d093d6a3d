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

#define WORDS_MAX       512 /* looked up in PATH */
#define LOOKED_MAX      48  /* files that are opened */
#define SCRIPT_TEXT_MAX 65536

static struct interpreter interpreter_of_elf(const struct elf_file *elf)
{
	struct lang_runtime runtime;
	struct interpreter found = { 0 };
	char why[128];
	enum lang_detected result = lang_detect(elf, &runtime, why, sizeof(why));

	if (result == LANG_FOUND && !language_is_on_stack(runtime.language))
		found = (struct interpreter){ .language = (enum language)runtime.language,
					      .version = runtime.version };
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

/* Of "11.so.1.0" behind "libpython3."; 0: it is no number. */
static uint32_t python_version(struct reader r)
{
	uint32_t minor = 0;

	while (reader_left(&r) && *r.at >= '0' && *r.at <= '9' && minor < 10)
		minor = minor * 10 + (uint32_t)(reader_u8(&r) - '0');
	return minor ? 3 << 8 | minor : 0;
}

static struct interpreter interpreter_of_libraries(const struct elf_file *elf)
{
	struct elf_section names;
	struct reader r;

	if (!elf_section_named(elf, ".dynstr", &names))
		return (struct interpreter){ 0 };
	r = elf_section_bytes(elf, &names);
	for (size_t i = 0; i < ARRAY_SIZE(libraries); i++) {
		size_t n = strlen(libraries[i].name);
		const uint8_t *at = memmem(r.at, reader_left(&r), libraries[i].name, n);
		struct interpreter found = { .language = libraries[i].language };

		if (!at)
			continue;
		r.at = at + n;
		if (found.language == LANGUAGE_PYTHON)
			found.version = python_version(r);
		return found;
	}
	return (struct interpreter){ 0 };
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

/* The programs of a command. */
struct program_search {
	struct interpreters *out;
	bool is_word; /* no more than a word of the command */
	unsigned n_words;
	VEC(char *) looked; /* paths of files that were looked at */
};

static void look_at_program(struct program_search *s, const char *path, int n_scripts);

/* A word that is no program, such as an option, is not found in PATH. */
static void look_at_word(struct program_search *s, const char *word, int n_scripts)
{
	cleanup(free_at_exit) char *path = NULL;

	if (*word == '-' || s->n_words++ >= WORDS_MAX)
		return;
	path = child_find(word);
	if (path)
		look_at_program(s, path, n_scripts);
}

/* Comments of a shell's text become spaces. A here-document can hide one, or look like one. */
static void blank_comments(char *text)
{
	char quote = '\0';

	for (char *at = text; *at; at++) {
		if (*at == '\\' && quote != '\'' && at[1]) {
			at++;
		} else if (quote) {
			quote = *at == quote ? '\0' : quote;
		} else if (*at == '"' || *at == '\'') {
			quote = *at;
		} else if (*at == '#' && (at == text || strchr(" \t\r\n;&|()`", at[-1]))) {
			size_t n = strcspn(at, "\n");

			memset(at, ' ', n);
			at += n - 1;
		}
	}
}

/* Words of a shell's text. `text` is changed. */
static void look_at_words(struct program_search *s, char *text, int n_scripts)
{
	static const char between[] = " \t\r\n;&|(){}<>=\"'`$";
	char *rest = text;

	blank_comments(text);
	s->is_word = true;
	for (char *word; (word = strtok_r(rest, between, &rest)) && s->n_words < WORDS_MAX;)
		look_at_word(s, word, n_scripts);
}

/* `text` begins behind "#!". */
static void look_at_script(struct program_search *s, const char *text, size_t size, int n_scripts)
{
	size_t n = MIN(size, (size_t)255);
	const char *end = memchr(text, '\n', n);
	cleanup(free_at_exit) char *line = xstrndup(text, end ? (size_t)(end - text) : n);
	cleanup(free_at_exit) char *rest = NULL;
	size_t n_before = s->out->files.n;
	const char *program = program_of_script(line);

	if (n_scripts >= SCRIPTS_MAX)
		return;
	if (program)
		look_at_word(s, program, n_scripts + 1);
	if (!end || s->out->files.n > n_before)
		return;
	rest = xstrndup(end, MIN(size - (size_t)(end - text), (size_t)SCRIPT_TEXT_MAX));
	look_at_words(s, rest, n_scripts + 1);
}

/* The first version that pyenv or rbenv chose; NULL: there is none. The caller frees it. */
static char *version_of_shims(const char *root)
{
	static const char ends[] = " :\t\r\n";
	const char *chosen = getenv("PYENV_VERSION") ?: getenv("RBENV_VERSION");
	cleanup(free_at_exit) char *path = xasprintf("%s/version", root);
	struct file_mapping file;
	char line[64] = "";

	if (!chosen && guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) == 0) {
		if (file.size) /* else base is NULL */
			memcpy(line, file.base, MIN(file.size, sizeof(line) - 1));
		file_unmap(&file);
		chosen = line;
	}
	if (!chosen || !strcspn(chosen, ends) || strchr(chosen, '/'))
		return NULL;
	return xstrndup(chosen, strcspn(chosen, ends));
}

/* pyenv and rbenv have scripts in front of each program: ROOT/shims/python3. False: it is none. */
static bool look_at_shim(struct program_search *s, const char *path, int n_scripts)
{
	static const char folder[] = "/shims";
	const char *name = strrchr(path, '/');
	size_t n = name ? (size_t)(name - path) : 0, n_folder = sizeof(folder) - 1;
	cleanup(free_at_exit) char *root = NULL, *version = NULL, *program = NULL;

	if (n < n_folder || strncmp(name - n_folder, folder, n_folder) != 0)
		return false;
	root = xstrndup(path, n - n_folder);
	version = version_of_shims(root);
	if (!version)
		return false;
	program = xasprintf("%s/versions/%s/bin%s", root, version, name);
	look_at_program(s, program, n_scripts + 1);
	return s->out->files.n;
}

static void look_at_elf(struct program_search *s, const struct elf_file *elf, const char *path)
{
	struct interpreters *out = s->out;
	struct interpreter found = interpreter_of_elf(elf);
	struct interpreter *known = s->is_word ? &out->may_run : &out->runs;

	if (!found.language) {
		struct interpreter of_library = interpreter_of_libraries(elf);

		of_library.is_go = found.is_go;
		found = of_library;
	}
	if (!known->language) {
		known->language = found.language;
		known->version = found.version;
	}
	known->is_go |= found.is_go;
	if ((found.language || found.is_go) && out->files.n < INTERPRETER_FILES_MAX)
		vec_push(&out->files, xstrdup(path));
}

static bool was_looked_at(struct program_search *s, const char *path)
{
	vec_foreach (&s->looked, known)
		if (!strcmp(*known, path))
			return true;
	return false;
}

static void look_at_program(struct program_search *s, const char *path, int n_scripts)
{
	struct file_mapping file;
	struct elf_file elf;

	if (s->looked.n >= LOOKED_MAX || was_looked_at(s, path))
		return;
	vec_push(&s->looked, xstrdup(path));
	if (guard_map(GUARD_HERE, path, &guard_image_rules, &file, NULL) < 0)
		return;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0) {
		look_at_elf(s, &elf, path);
	} else if (file.size > 2 && !memcmp(file.base, "#!", 2) &&
		   !look_at_shim(s, path, n_scripts)) {
		look_at_script(s, (const char *)file.base + 2, file.size - 2, n_scripts);
	}
	file_unmap(&file);
}

void interpreters_of_command(char *const argv[], struct interpreters *out)
{
	struct program_search s = { .out = out };

	*out = (struct interpreters){ 0 };
	look_at_word(&s, argv[0], 0);
	for (char *const *arg = argv + 1; *arg && !out->files.n && s.n_words < WORDS_MAX; arg++) {
		cleanup(free_at_exit) char *text = xstrdup(*arg);

		look_at_words(&s, text, 0);
	}
	vec_foreach (&s.looked, path)
		free(*path);
	vec_fini(&s.looked);
}

void interpreters_fini(struct interpreters *found)
{
	vec_foreach (&found->files, path)
		free(*path);
	vec_fini(&found->files);
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
		m->found.version = found.version;
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
