/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "store/segment_parse.h"
#include "store/trampolines.h"

struct session_file {
	/* First member: a pointer to the session is a pointer to this struct */
	struct session session;
	const struct block_filter *filter; /* NULL: all blocks */
	uint8_t *info_text;
	struct counter_info *counters;
	VEC(char *) made_names; /* for counters whose description was lost */
};

struct name {
	uint32_t number;
	char *text;
};

struct names {
	struct name *data;
	size_t n, cap;
};

static void names_fini(struct names *names)
{
	vec_foreach (names, name)
		free(name->text);
	vec_fini(names);
}

static int by_number(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/* "0003.segment" is 3. */
static bool segment_number(const char *name, uint32_t *out)
{
	char *end;
	unsigned long n;

	if (name[0] < '0' || name[0] > '9')
		return false;
	errno = 0;
	n = strtoul(name, &end, 10);
	if (errno || n > UINT32_MAX || strcmp(end, SEGMENT_SUFFIX))
		return false;
	*out = (uint32_t)n;
	return true;
}

static int list_segments(int dir_fd, struct names *out)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = -errno;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return r;
	}
	while ((entry = readdir(dir))) {
		struct name name;

		if (segment_number(entry->d_name, &name.number)) {
			name.text = xstrdup(entry->d_name);
			vec_push(out, name);
		}
	}
	closedir(dir);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_number);
	return 0;
}

static int refuse_file(const char *path, struct error *err)
{
	return error_set(err, -ENOTDIR, "'%s' is a file, not a session directory", path);
}

/* Sessions belong to their owner or to a group. Names it in the error. */
static int refuse_access(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", path);
	const struct passwd *owner;
	const struct group *group;
	struct stat st;

	/* A daemon closes its samples, not the directory above. */
	if (stat(samples, &st) < 0 && stat(path, &st) < 0)
		return error_set(err, -EACCES, "cannot read session '%s': permission denied", path);
	owner = getpwuid(st.st_uid);
	group = st.st_mode & S_IRGRP ? getgrgid(st.st_gid) : NULL;
	if (group)
		return error_set(err, -EACCES,
				 "cannot read session '%s': permission denied; only %s and members "
				 "of group '%s' may",
				 path, owner ? owner->pw_name : "its owner", group->gr_name);
	return error_set(err, -EACCES,
			 "cannot read session '%s': permission denied; only %s (uid %u) may", path,
			 owner ? owner->pw_name : "another user", (unsigned int)st.st_uid);
}

static int session_open_error(const char *path, int code, struct error *err)
{
	if (code == -ENOENT)
		return error_set(err, code, "no session '%s'; 'assay record -o %s' would make one",
				 path, path);
	if (code == -EACCES)
		return refuse_access(path, err);
	return error_errno(err, code, "cannot read session '%s'", path);
}

/* Opens the directory of the segments: samples/current below the path, or the path itself. */
static int open_dir(const char *path, struct names *names, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", path);
	cleanup(close_at_exit) int fd = -1;
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return session_open_error(path, -errno, err);
	if (!S_ISDIR(st.st_mode))
		return refuse_file(path, err);
	fd = open(current, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return session_open_error(path, -errno, err);
	r = list_segments(fd, names);
	if (r < 0)
		return session_open_error(path, r, err);
	if (!names->n)
		return error_set(err, -EINVAL, "'%s' is not an assay session: no segments in it",
				 path);
	r = fd;
	fd = -1; /* the caller owns it now */
	return r;
}

/* Maps the present size of the file; a recorder may append to it. */
static int map_segment(int dir_fd, const char *name, struct file_mapping *out)
{
	cleanup(close_at_exit) int fd =
		openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	int r = fd < 0 ? -errno : file_map_fd(fd, name, out, NULL);

	if (!r && out->size > SEGMENT_FILE_SIZE_MAX) {
		file_unmap(out);
		r = -EFBIG;
	}
	return r;
}

static int check_version(const char *path, const char *name, const uint8_t *bytes, size_t size,
			 struct error *err)
{
	struct segment_header h;

	if (segment_header_parse(bytes, size, &h) < 0 || h.version <= SEGMENT_VERSION_MAX)
		return 0;
	return error_set(err, -EPROTONOSUPPORT,
			 "session '%s': %s was written by a newer assay (format %" PRIu32
			 "; this one reads up to %d): update assay to read it",
			 path, name, h.version, SEGMENT_VERSION_MAX);
}

/* Returns 0 also for an unreadable segment: the others may be readable. */
static int add_segment(struct session_file *f, struct segment_context *c, int dir_fd,
		       const char *name, struct error *err)
{
	struct session *s = &f->session;
	struct file_mapping map = { 0 };
	struct segment *seg;
	int r = map_segment(dir_fd, name, &map);

	if (r < 0) {
		segment_warn(c, "%s: cannot be read: %s", name, strerror(-r));
		return 0;
	}
	r = check_version(s->path, name, map.base, map.size, err);
	if (r < 0) {
		file_unmap(&map);
		return r;
	}
	s->size_bytes += map.size;
	seg = segment_parse(c, name, map.base, map.size);
	if (!seg) {
		/* A recorder may have created the last one just now. */
		if (map.size || !c->is_last || !s->n_segments)
			segment_warn(c, map.size ? "%s: no whole block in it" : "%s: empty", name);
		file_unmap(&map);
		return 0;
	}
	segment_own(seg, &map);
	s->segments = xrealloc(s->segments, s->n_segments + 1, sizeof(*s->segments));
	s->segments[s->n_segments++] = seg;
	return 0;
}

/* Without a description, the classes show which counters exist. */
static void make_info(struct session_file *f)
{
	struct session_info *info = &f->session.info;
	uint32_t n = 1;

	for (uint32_t i = 0; i < f->session.n_segments; i++)
		n = MAX(n, segment_max_counter(f->session.segments[i]) + 1);
	*info = (struct session_info){
		.version = "",
		.command = "",
		.target = "",
		.hostname = "",
		.os_release = "",
		.arch = "",
		.cpu_model = "",
		.collector = "",
		.stacks = "",
		.note = "the description of the session is damaged",
		.replaces = "",
	};
	info->counters = xcalloc(n, sizeof(*info->counters));
	info->n_counters = n;
	for (uint32_t i = 0; i < n; i++) {
		char *name = xasprintf("[counter %u]", i);

		vec_push(&f->made_names, name);
		info->counters[i] =
			(struct counter_info){ .name = name, .spec = name, .unit = "events" };
	}
}

/* Completes the session with the facts from all segments. -ENOMEM: without its trampolines. */
static int session_complete(struct session_file *f, struct segment_context *c)
{
	struct session *s = &f->session;

	f->info_text = c->info_text;
	s->info = c->info;
	if (!c->has_info || !c->info.n_counters) {
		free(c->info.counters);
		make_info(f);
	}
	f->counters = s->info.counters;
	s->has_end = c->has_end;
	s->end = c->end;
	s->block_ns = s->info.block_ns;
	if (!c->has_end)
		s->end.exit_status = -1;
	for (uint32_t i = 0; i < s->n_segments; i++) {
		segment_limit_counters(s->segments[i], s->info.n_counters);
		if (f->filter)
			segment_filter(s->segments[i], f->filter, &s->info);
	}
	return segments_place_trampolines(s->segments, s->n_segments);
}

/* For a reading that ended before the last segment: reads the END block there, if it has one. */
static void session_find_end(struct segment_context *c, int dir_fd, const char *name)
{
	struct file_mapping map;

	if (c->has_end || map_segment(dir_fd, name, &map) < 0)
		return;
	segment_find_end(c, map.base, map.size);
	file_unmap(&map);
}

static int session_read_segments(struct session_file *f, int dir_fd, const struct names *names,
				 struct error *err)
{
	struct segment_context c = { .warnings_to = &f->session, .filter = f->filter };
	int r = 0, completed;

	c.unpacker = unpacker_new();
	/* Nothing comes before the first segment. */
	c.has_delivered = names->data[0].number == 0;
	for (size_t i = 0; i < names->n && !r && !c.is_past; i++) {
		c.is_last = i + 1 == names->n;
		r = add_segment(f, &c, dir_fd, names->data[i].text, err);
	}
	if (c.is_past)
		session_find_end(&c, dir_fd, names->data[names->n - 1].text);
	unpacker_free(c.unpacker);
	completed = session_complete(f, &c);
	if (!r && completed < 0)
		r = reserve_error(err);
	if (!r && !f->session.n_segments)
		r = error_set(err, -EBADMSG, "session '%s' has no readable part: %s",
			      f->session.path,
			      f->session.warnings.n ? f->session.warnings.data[0] : "");
	return r;
}

int session_open(const char *path, struct session **out, struct error *err)
{
	return session_open_blocks(path, NULL, out, err);
}

static int check_clock(const struct session *s, const struct block_filter *filter,
		       struct error *err)
{
	return !filter || s->info.start_wall_ns
		       ? 0
		       : error_set(err, -EINVAL,
				   "session '%s' has no start time, so a time of the clock has "
				   "no meaning in it; the filter time: takes seconds since its "
				   "start",
				   s->path);
}

int session_open_blocks(const char *path, const struct block_filter *filter, struct session **out,
			struct error *err)
{
	struct names names = { 0 };
	struct session_file *f;
	cleanup(close_at_exit) int dir_fd = open_dir(path, &names, err);
	int r;

	if (dir_fd < 0) {
		names_fini(&names);
		return dir_fd;
	}
	f = xcalloc(1, sizeof(*f));
	f->filter = filter;
	f->session.path = xstrdup(path);
	f->session.dir = xstrdup(path);
	r = session_read_segments(f, dir_fd, &names, err);
	r = r < 0 ? r : check_clock(&f->session, filter, err);
	names_fini(&names);
	if (r < 0) {
		session_close(&f->session);
		return r;
	}
	*out = &f->session;
	return 0;
}

static int map_first_segment(const char *path, struct file_mapping *map)
{
	struct names names = { 0 };
	cleanup(close_at_exit) int dir_fd = open_dir(path, &names, NULL);
	int r = dir_fd < 0 ? dir_fd : map_segment(dir_fd, names.data[0].text, map);

	names_fini(&names);
	return r;
}

bool session_has_groups(const char *path)
{
	struct file_mapping map;
	bool found;

	if (map_first_segment(path, &map) < 0)
		return false;
	found = segment_has_groups(map.base, map.size);
	file_unmap(&map);
	return found;
}

int session_format(const char *path)
{
	struct segment_header h;
	struct file_mapping map;
	int r = map_first_segment(path, &map);

	if (r < 0)
		return r;
	r = segment_header_parse(map.base, map.size, &h) < 0 ? -EBADMSG : (int)h.version;
	file_unmap(&map);
	return r;
}

bool session_folder_has_segments(const char *folder)
{
	cleanup(close_at_exit) int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct names names = { 0 };
	bool has_some = fd >= 0 && list_segments(fd, &names) >= 0 && names.n;

	names_fini(&names);
	return has_some;
}

int session_refuse_newer(const char *path, struct error *err)
{
	int format = session_format(path);

	if (format <= SEGMENT_VERSION_MAX)
		return 0;
	return error_set(
		err, -EPROTONOSUPPORT,
		"'%s' was written by a newer assay (format %d; this one knows up to %d), and stays "
		"as it is; give another place, or update assay",
		path, format, SEGMENT_VERSION_MAX);
}

int session_extent(const char *path, struct session_info *info, struct session_end *end,
		   char **replaces)
{
	struct session scratch = { 0 };
	struct segment_context c = { .warnings_to = &scratch };
	cleanup(close_at_exit) int dir_fd = -1;
	struct names names = { 0 };
	struct file_mapping map;
	int r = 0;

	dir_fd = open_dir(path, &names, NULL);
	if (dir_fd < 0) {
		names_fini(&names);
		return dir_fd;
	}
	c.unpacker = unpacker_new();
	if (map_segment(dir_fd, names.data[0].text, &map) == 0) {
		r = check_version(path, names.data[0].text, map.base, map.size, NULL);
		segment_find_info(&c, map.base, map.size);
		file_unmap(&map);
	}
	session_find_end(&c, dir_fd, names.data[names.n - 1].text);
	if (!r && (!c.has_info || !c.has_end || !c.info.start_wall_ns))
		r = -ENODATA;
	if (!r) {
		*info = (struct session_info){ .start_wall_ns = c.info.start_wall_ns,
					       .start_ns = c.info.start_ns,
					       .block_ns = c.info.block_ns };
		*end = c.end;
		if (replaces)
			*replaces = xstrdup(c.info.replaces);
	}
	if (c.has_info)
		free(c.info.counters);
	free(c.info_text);
	unpacker_free(c.unpacker);
	names_fini(&names);
	return r;
}

/* The parts own the segments. */
static void close_joined(struct session *s)
{
	for (uint32_t i = 0; i < s->n_parts; i++)
		session_close(s->parts[i]);
	vec_foreach (&s->warnings, text)
		free(*text);
	vec_fini(&s->warnings);
	free(s->info.counters);
	free(s->segments);
	free(s->parts);
	free(s->path);
	free(s->dir);
	free(s->host);
	free(s);
}

void session_close(struct session *s)
{
	struct session_file *f = (struct session_file *)s;

	if (!f)
		return;
	if (s->parts) {
		close_joined(s);
		return;
	}
	for (uint32_t i = 0; i < s->n_segments; i++)
		segment_free(s->segments[i]);
	free(s->segments);
	vec_foreach (&s->warnings, text)
		free(*text);
	vec_fini(&s->warnings);
	vec_foreach (&f->made_names, name)
		free(*name);
	vec_fini(&f->made_names);
	free(f->counters);
	free(f->info_text);
	free(s->path);
	free(s->dir);
	free(f);
}
