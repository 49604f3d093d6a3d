/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "config.h"
#include "export/code_lines.h"
#include "export/names.h"
#include "store/store.h"

#define FORMAT(id, ...) extern const struct export_ops export_##id;
#include "export/formats.def"
#undef FORMAT

const struct export_format export_formats[] = {
#define FORMAT(id, name, extension, mime, help) { name, extension, mime, help, &export_##id },
#include "export/formats.def"
#undef FORMAT
	{ 0 },
};

const char export_choices_from_bar[] =
#define FORMAT(id, name, ...) "|" name
#include "export/formats.def"
#undef FORMAT
	;

const struct export_format *export_find(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const struct export_format *export_find_extension(const char *path)
{
	const struct export_format *found = NULL;
	size_t len = strlen(path);

	for (const struct export_format *f = export_formats; f->name; f++) {
		size_t n = strlen(f->extension);

		if (n && len > n && !strcmp(path + len - n, f->extension) &&
		    (!found || n > strlen(found->extension)))
			found = f;
	}
	return found;
}

uint64_t counter_period(const struct counter_info *c)
{
	if (!c || c->count)
		return c ? c->count : 0;
	return !strcmp(c->unit, "ns") && c->freq_hz ? NS_PER_SECOND / c->freq_hz : 0;
}

const char *counter_unit(const struct counter_info *c)
{
	if (c && !strcmp(c->unit, "ns"))
		return "nanoseconds";
	return c && !strcmp(c->unit, "bytes") ? "bytes" : "count";
}

void export_request(const struct export_format *format, struct profile_request *request)
{
	const struct export_ops *ops = format->ops;

	request->keys = ops->keys;
	request->with_functions = true;
	request->with_chains = ops->with_chains;
	request->with_places = ops->with_places;
	request->with_samples = ops->with_samples;
	request->merges_jit = !ops->with_places && !key_list_has(&ops->keys, PROFILE_IMAGE);
}

/* Streams to a descriptor, which stays the caller's. */
static int write_stream(const struct export *x, int fd, uint64_t *n_bytes, struct error *err)
{
	struct sink out;
	int r, finished;

	sink_init(&out, fd);
	if (x->format->ops->is_gzip)
		sink_gzip(&out);
	r = x->format->ops->write(x, &out, err);
	finished = sink_finish(&out);
	if (r < 0)
		return r;
	*n_bytes = out.n_written;
	return finished < 0 ? error_set(err, finished, "%s", strerror(-finished)) : 0;
}

/* A reader that stops early is no failure. */
static int write_stdout(const struct export *x, uint64_t *n_bytes, struct error *err)
{
	int r;

	if (x->format->ops->is_binary && isatty(STDOUT_FILENO))
		return error_set(err, -EINVAL,
				 "%s is not for a terminal; name a file with -o FILE, or pipe it",
				 x->format->name);
	r = write_stream(x, STDOUT_FILENO, n_bytes, err);
	return r == -EPIPE ? 0 : r < 0 ? error_wrap(err, r, "standard output") : 0;
}

static int fill_temporary(const struct export *x, const char *temporary, uint64_t *n_bytes,
			  struct error *err)
{
	struct stat st;
	int fd, r;

	if (x->format->ops->target == EXPORT_FOLDER) {
		if (mkdir(temporary, 0700) < 0)
			return error_set(err, -errno, "%s", strerror(errno));
		r = x->format->ops->store(x, temporary, err);
		*n_bytes = r < 0 ? 0 : file_tree_bytes(temporary);
		return r;
	}
	if (x->format->ops->target == EXPORT_FILE) {
		r = x->format->ops->store(x, temporary, err);
		if (r >= 0 && stat(temporary, &st) == 0)
			*n_bytes = (uint64_t)st.st_size;
		return r;
	}
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	r = write_stream(x, fd, n_bytes, err);
	if (close(fd) < 0 && r >= 0)
		r = error_set(err, -errno, "%s", strerror(errno));
	return r;
}

static int export_write_file(const struct export *x, const char *path, uint64_t *n_bytes,
			     struct error *err)
{
	cleanup(free_at_exit) char *temporary = xasprintf("%s.%d.tmp", path, (int)getpid());
	bool is_folder = x->format->ops->target == EXPORT_FOLDER;
	int r;

	if (is_folder)
		file_remove_tree(temporary, NULL);
	else
		unlink(temporary);
	if (x->options->on_temporary)
		x->options->on_temporary(temporary);
	r = fill_temporary(x, temporary, n_bytes, err);
	if (r >= 0 && reserve_failures() != x->n_failures)
		r = reserve_error(err);
	if (r >= 0 && rename(temporary, path) < 0)
		r = error_set(err, -errno, "%s", strerror(errno));
	if (r < 0 && is_folder)
		file_remove_tree(temporary, NULL);
	else if (r < 0)
		unlink(temporary);
	if (x->options->on_temporary)
		x->options->on_temporary(NULL);
	return r;
}

/* An existing device or pipe, which a new file cannot replace. */
static int write_special(const struct export *x, const char *path, uint64_t *n_bytes,
			 struct error *err)
{
	cleanup(close_at_exit) int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return error_set(err, -errno, "%s", strerror(errno));
	return write_stream(x, fd, n_bytes, err);
}

static bool is_empty_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	bool is_empty = dir != NULL;

	while (is_empty && (entry = readdir(dir)))
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (dir)
		closedir(dir);
	return is_empty;
}

/* Only an empty folder gives way to another one: rename(2). */
static bool is_in_the_way(const struct export *x, const char *path, const struct stat *st)
{
	if (x->format->ops->target != EXPORT_FOLDER)
		return S_ISDIR(st->st_mode);
	return !is_empty_folder(path);
}

static int write_path(const struct export *x, const char *path, uint64_t *n_bytes,
		      struct error *err)
{
	cleanup(free_at_exit) char *real = NULL;
	struct stat st;
	bool is_there = stat(path, &st) == 0;
	int r;

	if (is_there && is_in_the_way(x, path, &st))
		r = x->format->ops->target == EXPORT_FOLDER
			    ? error_set(err, -EEXIST, "it is there already; name a new folder")
			    : error_set(err, -EISDIR, "%s", strerror(EISDIR));
	else if (is_there && !S_ISREG(st.st_mode) && x->format->ops->target == EXPORT_STREAM)
		r = write_special(x, path, n_bytes, err);
	else {
		real = is_there ? realpath(path, NULL) : NULL; /* a link stays a link */
		r = export_write_file(x, real ? real : path, n_bytes, err);
	}
	return r < 0 ? error_wrap(err, r, "cannot write '%s'", path) : 0;
}

static int export_refuse_stdout(const struct export_format *format, struct error *err)
{
	return error_set(err, -EINVAL, "%s can't be written to standard output; use -o",
			 format->name);
}

int export_recording(const struct export_format *format, const struct export_options *options,
		     struct replay *replay, const char *output, uint64_t *n_bytes,
		     struct error *damage, struct error *err)
{
	struct export x = {
		.n_failures = reserve_failures(),
		.format = format,
		.options = options,
		.replay = replay,
		.damage = damage,
	};

	assert(format->ops->from_recording && format->ops->target != EXPORT_PLACE);
	*n_bytes = 0;
	if (format->ops->target != EXPORT_STREAM && (!output || !strcmp(output, "-")))
		return export_refuse_stdout(format, err);
	return !output || !strcmp(output, "-") ? write_stdout(&x, n_bytes, err)
					       : write_path(&x, output, n_bytes, err);
}

/*
 * More than the tables of a writer take for each node, entry, place, function and image of the
 * profile, and its weights in each lane.
 */
#define EXPORT_BYTES_ITEM 192
#define EXPORT_BYTES_LANE 64

static int export_reserve(struct reserve *room, const struct profile *p)
{
	return reserve_take(room,
			    p->nodes.n + p->entries.n + p->places.n + p->functions.n + p->images.n +
				    p->threads.n + p->n_groups + p->arcs.n,
			    EXPORT_BYTES_ITEM + (size_t)p->n_lanes * EXPORT_BYTES_LANE);
}

int export_write(const struct export_format *format, const struct export_options *options,
		 struct profile *profile, const char *output, uint64_t *n_bytes, struct error *err)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	struct export x = {
		.n_failures = reserve_failures(),
		.format = format,
		.options = options,
		.profile = profile,
	};
	bool is_stdout = !output || !strcmp(output, "-");
	struct code_lines lines;
	int r;

	assert(!format->ops->from_recording || format->ops->from_session);
	assert(format->ops->target == EXPORT_STREAM ? format->ops->write != NULL
						    : format->ops->store != NULL);
	if (export_reserve(&room, profile) < 0)
		return reserve_error(err);
	x.frames = frame_names_new(profile);
	if (format->ops->with_source) {
		code_lines_init(&lines, profile, x.frames, !options->no_source);
		x.lines = &lines;
	}
	*n_bytes = 0;
	if (format->ops->target != EXPORT_STREAM && is_stdout)
		r = export_refuse_stdout(format, err);
	else if (format->ops->target == EXPORT_PLACE)
		r = format->ops->store(&x, output, err);
	else
		r = is_stdout ? write_stdout(&x, n_bytes, err)
			      : write_path(&x, output, n_bytes, err);
	if (x.lines)
		code_lines_fini(x.lines);
	frame_names_free(x.frames);
	return r;
}
