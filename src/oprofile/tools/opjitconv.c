/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opjitconv: names of code that compilers described in jitdumps, as TGID.jo beside the anonymous
 * memory of their processes in a session. Recordings of assay have these names already; sessions of
 * operf have not.
 */
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "machine/jit_reader.h"
#include "oprofile/store/jit_file.h"
#include "oprofile/tools/compat.h"

#define ANON_FOLDER "{anon:anon}"

struct opjitconv_args {
	struct compat_args compat;
	const char *session_dir;
	bool debug, non_root, delete_dumps;
};

#define FIELD(f) offsetof(struct opjitconv_args, f)
static const struct option_spec opjitconv_options[] = {
	{ 'd', "debug", NULL, OPT_FLAG, FIELD(debug), NULL, "name what is converted" },
	{ 0, "non-root", NULL, OPT_FLAG, FIELD(non_root), NULL,
	  "accepted: dumps are always read without rights" },
	{ 0, "delete-jitdumps", NULL, OPT_FLAG, FIELD(delete_dumps), NULL,
	  "remove dumps of processes that have ended" },
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(session_dir), NULL,
	  "the directory that has samples/" },
	COMPAT_HELP(opjitconv_args),
};

/* The folders of agents (include/opagent.h). */
static const char *dump_folder(size_t i)
{
	const char *const folders[] = { getenv("JITDUMPDIR"), getenv("TMPDIR"), "/tmp",
					"/var/tmp" };

	return i < ARRAY_SIZE(folders) ? folders[i] ? folders[i] : "" : NULL;
}

/* The time of a session's start or end, as in the dumps. */
static uint64_t dump_time_ns(const char *seconds)
{
	uint64_t since_boot_ns = clock_wall_ns() - clock_monotonic_ns();
	uint64_t ns = strtoull(seconds, NULL, 10) * NS_PER_SECOND;

	return ns > since_boot_ns ? ns - since_boot_ns : 0;
}

/* Code that was there in that time; later code cuts earlier code at the same addresses. */
static void put_symbols(const struct jitdump *d, uint64_t end_ns, struct buf *out)
{
	VEC(struct jit_symbol) symbols = { 0 };

	vec_foreach (&d->codes, c) {
		const struct jit_symbol symbol = { c->addr, c->size,
						   strings_get(&d->strings, c->name),
						   (uint32_t)symbols.n };

		if (c->from_ns <= end_ns && c->size)
			vec_push(&symbols, symbol);
	}
	if (symbols.n)
		jit_file_write(out, symbols.data, symbols.n);
	vec_fini(&symbols);
}

static int write_jo(const struct opjitconv_args *a, const char *dump, const char *path, int32_t pid,
		    uint64_t end_ns, struct error *err)
{
	const struct jit_reader_config config = { .pid = pid, .path = dump };
	struct jit_reader *reader = jit_reader_new(&config);
	struct buf bytes = { 0 };
	int r = 0;

	jit_reader_read(reader);
	put_symbols(&reader->dump, end_ns, &bytes);
	if (bytes.len)
		r = file_replace(path, bytes.data, bytes.len, err);
	if (a->debug && !r)
		log_info("%s: %zu codes, %s", dump, reader->dump.codes.n,
			 bytes.len ? path : "none of the session's time");
	jit_reader_free(reader);
	buf_fini(&bytes);
	return r;
}

/* A file of names that is newer than the dump stays. */
static int convert_process(const struct opjitconv_args *a, const char *folder, int32_t pid,
			   uint64_t end_ns, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%" PRId32 ".jo", folder, pid);
	struct stat jo, st;
	bool has_jo = stat(path, &jo) == 0;
	const char *dir;

	for (size_t i = 0; (dir = dump_folder(i)); i++) {
		cleanup(free_at_exit) char *dump = xasprintf("%s/jit-%" PRId32 ".dump", dir, pid);

		if (*dir && lstat(dump, &st) == 0 && S_ISREG(st.st_mode))
			return has_jo && jo.st_mtime >= st.st_mtime
				       ? 0
				       : write_jo(a, dump, path, pid, end_ns, err);
	}
	return 0;
}

/* Regions of one process are beside each other: TGID.0xSTART.0xEND. */
static int convert_folder(const struct opjitconv_args *a, const char *folder, uint64_t end_ns,
			  struct error *err)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, NULL, versionsort), r = 0;
	long last = 0;

	for (int i = 0; i < n; i++) {
		char *dot;
		long pid = strtol(entries[i]->d_name, &dot, 10);

		if (r >= 0 && pid > 0 && pid <= INT32_MAX && pid != last &&
		    !strncmp(dot, ".0x", 3)) {
			last = pid;
			r = convert_process(a, folder, (int32_t)pid, end_ns, err);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return r;
}

static int convert_session(const struct opjitconv_args *a, uint64_t end_ns, struct error *err)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples/current", a->session_dir);
	char *const roots[] = { samples, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	const FTSENT *entry;
	int r = 0;

	while (walk && r >= 0 && (entry = fts_read(walk)))
		if (entry->fts_info == FTS_D && !strcmp(entry->fts_name, ANON_FOLDER))
			r = convert_folder(a, entry->fts_path, end_ns, err);
	if (walk)
		fts_close(walk);
	return r;
}

/* Only the caller's own: /tmp belongs to everybody. */
static void delete_dumps_in(const struct opjitconv_args *a, const char *dir)
{
	struct dirent **entries;
	int n = *dir ? scandir(dir, &entries, NULL, NULL) : -1;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, name);
		char *end = NULL;
		long pid = strncmp(name, "jit-", 4) ? 0 : strtol(name + 4, &end, 10);
		struct stat st;

		if (pid > 0 && pid <= INT32_MAX && !strcmp(end, ".dump") &&
		    kill((pid_t)pid, 0) < 0 && errno == ESRCH && lstat(path, &st) == 0 &&
		    S_ISREG(st.st_mode) && st.st_uid == geteuid() && unlink(path) == 0 && a->debug)
			log_info("removed %s", path);
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

static int opjitconv_convert(const struct opjitconv_args *a, const struct option_list *operands,
			     struct error *err)
{
	const char *dir;
	struct stat st;
	int r;

	if (!a->session_dir || operands->n != 2)
		return error_set(err, -EINVAL, "give --session-dir, a start and an end (%s)",
				 "seconds since 1970");
	if (stat(a->session_dir, &st) < 0)
		return error_errno(err, -errno, "%s", a->session_dir);
	if (strtoull(operands->data[0], NULL, 10) > strtoull(operands->data[1], NULL, 10))
		return error_set(err, -EINVAL, "the end is before the start");
	r = convert_session(a, dump_time_ns(operands->data[1]), err);
	for (size_t i = 0; a->delete_dumps && r >= 0 && (dir = dump_folder(i)); i++)
		delete_dumps_in(a, dir);
	return r;
}

static int opjitconv_run(const struct command *self, int argc, char **argv)
{
	struct opjitconv_args args = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		status = EXIT_OK;
		if (opjitconv_convert(&args, &operands, &err) < 0) {
			log_error("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	option_list_fini(&operands);
	return status;
}

static const struct command_example opjitconv_examples[] = {
	{ "opjitconv --session-dir=oprofile_data 0 $(date +%s)", "names for a session of operf" },
	{ NULL },
};

const struct command opjitconv_command = {
	.name = "opjitconv",
	.is_program = true,
	.summary = "give the JIT code of a session its names, in OProfile's way",
	.synopsis = "--session-dir=DIR START END",
	.description =
		"Reads the jitdumps of processes with samples in anonymous memory, and writes "
		"_TGID.jo_ beside these samples, which *opreport* reads. The dumps are "
		"_jit-PID.dump_ in _$JITDUMPDIR_, _$TMPDIR_, _/tmp_ and _/var/tmp_, as "
		"*libopagent* writes them. Code that was made after END (seconds since 1970) is "
		"left out.\n\nRecordings of assay have these names already.",
	.options = OPTIONS(opjitconv_options),
	.examples = opjitconv_examples,
	.run = opjitconv_run,
};
