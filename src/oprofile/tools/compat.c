/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/tools/compat.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"
#include "open/input.h"
#include "oprofile/store/append.h"
#include "store/session.h"

/* The help is written to standard output; for an error it belongs to standard error. */
static void print_help_to_stderr(const struct command *self)
{
	int out;

	fflush(stdout);
	out = dup(STDOUT_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	command_print_help(self);
	fflush(stdout);
	if (out >= 0) {
		dup2(out, STDOUT_FILENO);
		close(out);
	}
}

static void print_usage(const struct command *self)
{
	printf("Usage: %s %s\n", self->name, self->synopsis);
	for (size_t i = 0; i < self->options.n; i++) {
		const struct option_spec *row = &self->options.rows[i];

		if (row->letter)
			printf(" [-%c%s%s]", row->letter, row->arg ? " " : "",
			       row->arg ? row->arg : "");
		else
			printf(" [--%s%s%s]", row->name, row->arg ? "=" : "",
			       row->arg ? row->arg : "");
	}
	putchar('\n');
}

int compat_begin(const struct command *self, bool stop_at_operand, int argc, char **argv,
		 void *args, struct option_list *operands)
{
	const struct compat_args *a = args;
	struct error err = { 0 };
	int r = options_parse(&self->options, stop_at_operand, argc, argv, args, operands, &err);

	if (r < 0) {
		log_error("%s", err.text);
		print_help_to_stderr(self);
		return EXIT_FAILED;
	}
	if (r > 0 || a->help)
		command_print_help(self);
	else if (a->usage)
		print_usage(self);
	else if (a->version)
		printf("%s: the options of oprofile %s, by assay %s\n", self->name,
		       a->oprofile ? a->oprofile : "1.5", ASSAY_VERSION);
	else
		return -1;
	return EXIT_OK;
}

void compat_tell_obsolete(const struct compat_obsolete *list, const void *args)
{
	for (; list->option; list++) {
		const void *field = (const char *)args + list->field;

		if (list->is_flag ? *(const bool *)field : *(const char *const *)field != NULL)
			log_info("%s: %s", list->option, list->why);
	}
}

void compat_split(const char *text, struct compat_words *out)
{
	char *word = xmalloc(strlen(text) + 1);
	size_t n = 0;

	for (;; text++) {
		if (*text && (*text != ',')) {
			text += text[0] == '\\' && text[1] == ',';
			word[n++] = *text;
			continue;
		}
		word[n] = '\0';
		if (n)
			vec_push(out, xstrdup(word));
		n = 0;
		if (!*text)
			break;
	}
	free(word);
}

void compat_words_fini(struct compat_words *words)
{
	vec_foreach (words, word)
		free(*word);
	vec_fini(words);
}

void compat_push(struct compat_argv *v, const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = xvasprintf(format, ap);
	va_end(ap);
	vec_reserve(v, v->n + 2);
	v->data[v->n++] = text;
	v->data[v->n] = NULL;
}

void compat_argv_fini(struct compat_argv *v)
{
	vec_foreach (v, text)
		free(*text);
	vec_fini(v);
}

char *compat_command_line(const char *name, int argc, char **argv)
{
	struct buf text = { 0 };

	buf_str(&text, name);
	for (int i = 1; i < argc; i++)
		buf_printf(&text, " %s", argv[i]);
	buf_cstr(&text);
	return (char *)text.data;
}

static bool compat_is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *compat_session_dir(const char *given)
{
	static const char here[] = "./oprofile_data", system[] = "/var/lib/oprofile";

	if (given)
		return given;
	if (compat_is_folder(here))
		return here;
	if (!compat_is_folder(system) && compat_is_folder(DEFAULT_SESSION)) {
		log_info("using the session in %s", DEFAULT_SESSION);
		return DEFAULT_SESSION;
	}
	log_info("using the default session directory %s", system);
	return system;
}

static int move(const char *from, const char *to, struct error *err)
{
	if (rename(from, to) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot move %s to %s", from, to);
	return 0;
}

int compat_refuse_newer(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", dir);
	cleanup(free_at_exit) char *previous = xasprintf("%s/samples/previous", dir);
	int r = session_refuse_newer(current, err);

	return r < 0 ? r : session_refuse_newer(previous, err);
}

int compat_keep_samples(const char *place, const char *dir, bool append, struct error *err)
{
	cleanup(free_at_exit) char *recorded = xasprintf("%s/samples/current", place);
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", dir);
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", dir);
	cleanup(free_at_exit) char *previous = xasprintf("%s/samples/previous", dir);
	cleanup(free_at_exit) char *new_abi = xasprintf("%s/abi", place);
	cleanup(free_at_exit) char *abi = xasprintf("%s/abi", dir);
	int r = file_mkdirs(samples, 0755, err);

	r = r < 0 ? r : move(new_abi, abi, err);
	if (r >= 0 && append && access(current, F_OK) == 0)
		return oprofile_append(recorded, current, err);
	if (r >= 0 && access(current, F_OK) == 0) {
		if (access(previous, F_OK) == 0)
			r = file_remove_tree(previous, err);
		r = r < 0 ? r : move(current, previous, err);
	}
	return r < 0 ? r : move(recorded, current, err);
}

#define RECORDING "recording."

char *compat_recording_place(const char *dir)
{
	return xasprintf("%s/" RECORDING "%d", dir, getpid());
}

static void keep_killed(const char *dir, const char *name)
{
	cleanup(free_at_exit) char *left = xasprintf("%s/%s", dir, name);
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples/current", left);
	cleanup(free_at_exit) char *place = compat_recording_place(dir);
	struct error err = { 0 };
	int r;

	if (access(samples, F_OK) < 0)
		return;
	/* Ours now: of two that find it one has it, and if we are killed it is found again. */
	r = move(left, place, &err);
	if (r >= 0 && access(place, F_OK) < 0)
		return;
	r = r < 0 ? r : compat_keep_samples(place, dir, false, &err);
	if (r < 0) {
		log_warning("%s: the samples of a recording that was killed; '--session-dir=%s' "
			    "reads them (%s)",
			    left, access(left, F_OK) == 0 ? left : place, err.text);
		return;
	}
	file_remove_tree(place, NULL);
	log_info("%s: a recording was killed; its samples are the current ones now", left);
}

void compat_keep_killed(const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, NULL, versionsort);

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		long pid = strncmp(name, RECORDING, strlen(RECORDING))
				   ? 0
				   : strtol(name + strlen(RECORDING), NULL, 10);

		if (pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			keep_killed(dir, name);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}
