/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/open.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "guard/opener.h"
#include "guard/parser.h"

const struct guard_rules guard_image_rules = {
	.max_bytes = GUARD_IMAGE_BYTES,
	.owner = GUARD_ANY_OWNER,
};

static int openat2_of_kernel(int dir, const char *path, const struct open_how *how)
{
	return (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
}

static guard_openat2 call_openat2 = openat2_of_kernel;

guard_openat2 guard_set_openat2(guard_openat2 call)
{
	guard_openat2 before = call_openat2;

	call_openat2 = call;
	return before;
}

/* "Uid:	real	effective	saved	file system" */
static uint32_t read_effective_user(const char *proc, int32_t pid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", proc, pid);
	cleanup(free_at_exit) char *text = NULL;
	const char *line;
	unsigned int user;

	if (file_read_all(path, 1 << 16, &text, NULL) < 0 || !(line = strstr(text, "\nUid:")) ||
	    sscanf(line, "\nUid: %*u %u", &user) != 1)
		return geteuid();
	return user;
}

struct guard_rules guard_rules_of_process(const char *proc, int32_t pid, uint64_t max_bytes)
{
	return (struct guard_rules){
		.max_bytes = max_bytes,
		.owner = read_effective_user(proc, pid),
	};
}

int guard_root_of(const char *folder)
{
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? opener_root(folder, -errno) : fd;
}

int guard_root(const char *proc, int32_t pid)
{
	cleanup(free_at_exit) char *root = xasprintf("%s/%d/root", proc, pid);

	return guard_root_of(root);
}

int guard_memory(const char *proc, int32_t pid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/mem", proc, pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? opener_memory(path, -errno) : fd;
}

static int guard_refuse(struct error *err, int r, const char *path)
{
	/* A filter of seccomp may refuse it with either. openat2(2) has no EPERM for these flags.
	 */
	if (r == -ENOSYS || r == -EPERM)
		return error_set(err, -ENOSYS,
				 "%s: not opened, because openat2(2) is not available (it needs "
				 "Linux 5.6, and a container's seccomp filter may refuse it)",
				 path);
	return error_errno(err, r, "%s", path);
}

/* An O_PATH descriptor. A kernel that sees a rename(2) on the way asks for another attempt. */
static int guard_resolve(int root, const char *path, uint64_t flags, struct error *err)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_NO_MAGICLINKS | (root == GUARD_HERE ? 0 : RESOLVE_IN_ROOT),
	};
	int fd = -1, attempts = 16;

	do
		fd = call_openat2(root, path, &how);
	while (fd < 0 && errno == EAGAIN && --attempts);
	return fd < 0 ? guard_refuse(err, -errno, path) : fd;
}

static int guard_check(const struct stat *st, const char *path, const struct guard_rules *rules,
		       struct error *err)
{
	if (S_ISLNK(st->st_mode))
		return error_set(err, -ELOOP, "%s: a link", path);
	if (!S_ISREG(st->st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	if (rules->owner != GUARD_ANY_OWNER && st->st_uid && st->st_uid != rules->owner)
		return error_set(err, -EPERM, "%s: a file of user %u, not of user %u", path,
				 (unsigned int)st->st_uid, (unsigned int)rules->owner);
	if ((uint64_t)st->st_size > rules->max_bytes)
		return error_set(err, -EFBIG, "%s: larger than %llu bytes", path,
				 (unsigned long long)rules->max_bytes);
	return 0;
}

/* Checks the file of an O_PATH descriptor, and opens this file for reading. */
static int guard_reopen(int fd, const char *path, const struct guard_rules *rules,
			struct error *err)
{
	char self[40];
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return error_errno(err, -errno, "%s", path);
	r = guard_check(&st, path, rules, err);
	if (r < 0)
		return r;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	r = open(self, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return r < 0 ? error_errno(err, -errno, "%s", path) : r;
}

int guard_open(int root, const char *path, const struct guard_rules *rules, struct error *err)
{
	uint64_t flags = rules->is_link_refused ? O_NOFOLLOW : 0;
	cleanup(close_at_exit) int fd = guard_resolve(root, path, flags, err);

	return opener_open(root, path, rules, fd < 0 ? fd : guard_reopen(fd, path, rules, err));
}

int guard_path(int root, const char *path)
{
	return opener_facts(root, path, guard_resolve(root, path, 0, NULL));
}

int guard_folder(int root, const char *path, struct error *err)
{
	return opener_facts(root, path, guard_resolve(root, path, O_DIRECTORY, err));
}

int guard_stat(int root, const char *path, struct stat *st)
{
	cleanup(close_at_exit) int fd = guard_path(root, path);

	if (fd < 0)
		return fd;
	return fstat(fd, st) < 0 ? -errno : 0;
}

int guard_link(const char *link, const struct guard_rules *rules, struct error *err)
{
	cleanup(close_at_exit) int fd = open(link, O_PATH | O_CLOEXEC);

	return opener_link(link, rules,
			   fd < 0 ? error_errno(err, -errno, "%s", link)
				  : guard_reopen(fd, link, rules, err));
}

/* Takes the descriptor over. A file can grow after the check, so the mapping's size is checked. */
static int guard_map_fd(int opened, const char *path, const struct guard_rules *rules,
			struct file_mapping *out, struct error *err)
{
	cleanup(close_at_exit) int fd = opened;
	struct stat st;
	int r = fd;

	if (fd >= 0)
		r = fstat(fd, &st) < 0 ? error_errno(err, -errno, "%s", path)
				       : guard_check(&st, path, rules, err);
	if (r < 0)
		return r;
	fd = -1; /* taken over */
	r = file_hold_fd(opened, path, out, err);
	if (r == 0)
		r = file_map_held(out, path, err);
	if (r == 0 && !parser_uses_children())
		file_close_fd(out);
	return r;
}

int guard_map(int root, const char *path, const struct guard_rules *rules, struct file_mapping *out,
	      struct error *err)
{
	return guard_map_fd(guard_open(root, path, rules, err), path, rules, out, err);
}

static int guard_map_link(const char *link, const struct guard_rules *rules,
			  struct file_mapping *out, struct error *err)
{
	return guard_map_fd(guard_link(link, rules, err), link, rules, out, err);
}

/* GUARD_HERE, or a descriptor. */
static int guard_root_by_name(const char *root, struct error *err)
{
	int fd = *root ? guard_root_of(root) : GUARD_HERE;

	return fd < 0 && *root ? error_errno(err, fd, "%s", root) : fd;
}

int guard_map_below(const char *root, const char *path, const struct guard_rules *rules,
		    struct file_mapping *out, struct error *err)
{
	int top = guard_root_by_name(root, err), r;

	if (top < 0 && top != GUARD_HERE)
		return top;
	r = guard_map(top, path, rules, out, err);
	if (r < 0 && *root)
		error_wrap(err, r, "below %s", root);
	close_at_exit(&top);
	return r;
}

int guard_stat_below(const char *root, const char *path, struct stat *st)
{
	int top = guard_root_by_name(root, NULL), r;

	if (top < 0 && top != GUARD_HERE)
		return top;
	r = guard_stat(top, path, st);
	close_at_exit(&top);
	return r;
}

static bool guard_begins_with(const char *path, const char *start)
{
	return start && *start && !strncmp(path, start, strlen(start));
}

int guard_map_place(const struct guard_place *place, const char *path,
		    const struct guard_rules *rules, struct file_mapping *out, struct error *err)
{
	if (guard_begins_with(path, place->process) && path[strlen(place->process)] == '/') {
		cleanup(free_at_exit) char *root = xasprintf("%s/root", place->process);
		size_t len = strlen(root);

		if (guard_begins_with(path, root) && path[len] == '/')
			return guard_map_below(root, path + len, rules, out, err);
		return guard_map_link(path, rules, out, err);
	}
	if (guard_begins_with(path, place->root))
		return guard_map_below(place->root, path + strlen(place->root), rules, out, err);
	return guard_map(GUARD_HERE, path, rules, out, err);
}
