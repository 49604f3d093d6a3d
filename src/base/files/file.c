/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/cut_guard.h"
#include "base/files/open_helper.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/reserve.h"

int file_read_fd(int fd, size_t limit, char **out, size_t *size)
{
	VEC(char) text = { 0 };

	for (;;) {
		ssize_t n;

		if (text.cap - text.n < 4096 &&
		    !vec_try_reserve(&text, MAX(text.n + 4096, text.cap + text.cap / 2))) {
			vec_fini(&text);
			return -ENOMEM;
		}
		n = read(fd, text.data + text.n, text.cap - text.n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || text.n > limit) {
			int r = n < 0 ? -errno : -EFBIG;

			vec_fini(&text);
			return r;
		}
		if (n == 0)
			break;
		text.n += (size_t)n;
	}
	text.data[text.n] = '\0';
	*out = text.data;
	if (size)
		*size = text.n;
	return 0;
}

int file_read_all(const char *path, size_t limit, char **out, size_t *size)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fd = open_helper_file(path, -errno);
	return fd < 0 ? fd : file_read_fd(fd, limit, out, size);
}

bool file_is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool file_read_line(const char *path, char *line, size_t size)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 || (n = read(fd, line, size - 1)) < 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return true;
}

int file_map(const char *path, struct file_mapping *out, struct error *err)
{
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? error_errno(err, -errno, "%s", path) : file_map_fd(fd, path, out, err);
}

/* Reads as many bytes as the file still has. Their number, or a negative errno. */
static ssize_t file_copy_bytes(int fd, char *copy, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = pread(fd, copy + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

/*
 * Without the guard: a copy; bytes that the file has lost stay zero. It is private shared memory,
 * so users may give pages back (MADV_DONTNEED) and read them again.
 */
static int file_copy(int fd, size_t size, void **base, bool *is_cut)
{
	char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ssize_t done;

	if (copy == MAP_FAILED)
		return -errno;
	done = file_copy_bytes(fd, copy, size);
	if (done < 0) {
		munmap(copy, size);
		return (int)done;
	}
	mprotect(copy, size, PROT_READ);
	*base = copy;
	*is_cut = (size_t)done < size;
	return 0;
}

static int file_copy_small(int fd, struct file_mapping *out)
{
	char *copy = xmalloc(out->size);
	ssize_t done = file_copy_bytes(fd, copy, out->size);

	if (done < 0) {
		free(copy);
		return (int)done;
	}
	memset(copy + done, 0, out->size - (size_t)done);
	out->was_cut = (size_t)done < out->size;
	out->base = (uint8_t *)copy;
	return 0;
}

/* `guard` and `was_cut` of *out, and its base. */
static int file_map_bytes(int fd, size_t size, struct file_mapping *out)
{
	void *base = NULL;
	int r;

	if (cut_guard_is_enabled()) {
		base = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (base == MAP_FAILED)
			return -errno;
		out->guard = cut_guard_put(base, size);
	} else if ((r = file_copy(fd, size, &base, &out->was_cut)) < 0) {
		return r;
	}
	out->base = base;
	return 0;
}

/* User mounts (FUSE, removable disks) are such file systems: their files name any owner. */
static bool is_without_suid(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) < 0 || (fs.f_flag & ST_NOSUID);
}

int file_descriptor(const struct file_mapping *m)
{
	return (int)m->kept - 1;
}

void file_close_fd(struct file_mapping *m)
{
	if (m->kept)
		close(file_descriptor(m));
	m->kept = 0;
}

/* All but the bytes. */
static int file_look_fd(int fd, const char *path, struct file_mapping *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, -errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(err, -EINVAL, "%s: not a regular file", path);
	*out = (struct file_mapping){
		.size = (size_t)st.st_size,
		.ino = st.st_ino,
		.dev = (uint64_t)major(st.st_dev) << 32 | minor(st.st_dev),
		.mtime_ns = timespec_ns(st.st_mtim),
		.ctime_ns = timespec_ns(st.st_ctim),
		.uid = st.st_uid,
		.is_open_to_others = (st.st_mode & (S_IWGRP | S_IWOTH)) || is_without_suid(fd),
	};
	return 0;
}

/* The bytes of a file that was looked at. */
static int file_read_bytes(int fd, const char *path, struct file_mapping *out, struct error *err)
{
	int r = 0;

	if (out->size)
		r = out->is_small ? file_copy_small(fd, out) : file_map_bytes(fd, out->size, out);
	if (r == -ENOMEM)
		reserve_count_failure();
	return r < 0 ? error_errno(err, r, "%s: mmap", path) : 0;
}

int file_hold_fd(int fd, const char *path, struct file_mapping *out, struct error *err)
{
	int r = file_look_fd(fd, path, out, err);

	if (r < 0)
		close(fd);
	else
		out->kept = (uint32_t)fd + 1;
	return r;
}

int file_map_held(struct file_mapping *m, const char *path, struct error *err)
{
	int r = m->base ? 0 : file_read_bytes(file_descriptor(m), path, m, err);

	if (r < 0)
		file_unmap(m);
	return r;
}

int file_load_fd(int fd, const char *path, size_t copied_bytes, struct file_mapping *out,
		 struct error *err)
{
	int r = file_look_fd(fd, path, out, err);

	if (r < 0)
		return r;
	out->is_small = out->size <= copied_bytes;
	r = file_read_bytes(fd, path, out, err);
	if (r < 0)
		*out = (struct file_mapping){ 0 };
	return r;
}

int file_map_fd(int fd, const char *path, struct file_mapping *out, struct error *err)
{
	return file_load_fd(fd, path, 0, out, err);
}

void file_unmap(struct file_mapping *m)
{
	cut_guard_drop(m->guard);
	if (m->is_small)
		free((void *)m->base);
	else if (m->base)
		munmap((void *)m->base, m->size);
	file_close_fd(m);
	*m = (struct file_mapping){ 0 };
}

void file_rest(const struct file_mapping *m, size_t at, size_t size)
{
	if (m->guard) /* else the bytes are in no file */
		madvise((void *)(m->base + at), size, MADV_DONTNEED);
}

bool file_is_cut(const struct file_mapping *m)
{
	return m->was_cut || cut_guard_is_cut(m->guard);
}

int file_write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

ssize_t file_write_quietly(int fd, const void *bytes, size_t size)
{
	static const struct timespec now;
	sigset_t pipe_signal, before;
	ssize_t written;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	written = write(fd, bytes, size);
	if (written < 0 && errno == EPIPE) {
		sigtimedwait(&pipe_signal, NULL, &now);
		errno = EPIPE;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return written;
}

int file_open_nameless(void)
{
	const char *tmp = getenv("TMPDIR");
	const char *folder = tmp && *tmp ? tmp : "/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	cleanup(free_at_exit) char *path = NULL;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd >= 0 ? fd : -errno;
	path = xasprintf("%s/assay.XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* What the umask left out. */
static int file_set_mode(int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && ((st.st_mode & 07777) == mode || fchmod(fd, mode) == 0))
		return 0;
	return -errno;
}

int file_replace(const char *path, const void *bytes, size_t size, struct error *err)
{
	return file_replace_mode(path, FILE_MODE_OF_UMASK, bytes, size, err);
}

static int write_pieces(int fd, const struct file_bytes *bytes)
{
	const uint8_t *at = bytes->data;
	size_t left = bytes->size, n = bytes->rest ? MIN(bytes->first, left) : left;
	int r = file_write_all(fd, at, n);

	for (at += n, left -= n; left && !r; at += n, left -= n) {
		n = piece_size(at, left);
		r = file_write_all(fd, at, n);
		bytes->rest(at, n);
	}
	return r;
}

int file_replace_mode(const char *path, mode_t mode, const void *bytes, size_t size,
		      struct error *err)
{
	const struct file_bytes all = { .data = bytes, .size = size };

	return file_replace_bytes(path, mode, &all, err);
}

int file_replace_bytes(const char *path, mode_t mode, const struct file_bytes *bytes,
		       struct error *err)
{
	cleanup(free_at_exit) char *temp = xasprintf("%s.%d.tmp", path, (int)getpid());
	bool is_of_umask = mode == FILE_MODE_OF_UMASK;
	int fd, r;

	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_of_umask ? 0666 : mode);
	if (fd < 0)
		return error_errno(err, -errno, "%s", temp);
	r = is_of_umask ? 0 : file_set_mode(fd, mode);
	if (!r)
		r = write_pieces(fd, bytes);
	if (close(fd) < 0 && !r)
		r = -errno;
	if (!r && rename(temp, path) < 0)
		r = -errno;
	if (r) {
		unlink(temp);
		return error_errno(err, r, "%s", path);
	}
	return 0;
}

int file_mkdirs(const char *path, mode_t mode, struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(path);

	for (char *p = copy + 1;; p++) {
		char c = *p;

		if (c != '/' && c)
			continue;
		*p = '\0';
		if (mkdir(copy, mode) < 0) {
			struct stat st;
			int e = errno;

			if (e != EEXIST || stat(copy, &st) < 0 || !S_ISDIR(st.st_mode))
				return error_errno(err, e == EEXIST ? -ENOTDIR : -e,
						   "cannot create directory %s", copy);
		}
		if (!c)
			return 0;
		*p = c;
	}
}

int file_check_parent(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *parent = xstrdup(path);
	size_t n = strlen(parent);
	char *slash;

	while (n > 1 && parent[n - 1] == '/')
		parent[--n] = '\0';
	slash = strrchr(parent, '/');
	if (!slash || slash == parent)
		return 0;
	*slash = '\0';
	if (access(parent, F_OK) == 0)
		return 0;
	if (errno == ENOENT)
		return error_set(err, -ENOENT, "there is no folder %s; make it with 'mkdir -p %s'",
				 parent, parent);
	return error_errno(err, -errno, "%s", parent);
}

/* FTS_D: each folder, once. */
static uint64_t tree_sum(const char *path, bool is_disk)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	uint64_t bytes = 0;

	for (FTSENT *e; tree && (e = fts_read(tree));) {
		if (is_disk && (e->fts_info == FTS_F || e->fts_info == FTS_D))
			bytes += (uint64_t)e->fts_statp->st_blocks * 512;
		else if (e->fts_info == FTS_F)
			bytes += (uint64_t)e->fts_statp->st_size;
	}
	if (tree)
		fts_close(tree);
	return bytes;
}

uint64_t file_tree_bytes(const char *path)
{
	return tree_sum(path, false);
}

uint64_t file_tree_disk_bytes(const char *path)
{
	return tree_sum(path, true);
}

/*
 * Only asks for the file system of directories. A file on overlayfs may have the device of its
 * layer, and nftw(3) with FTW_MOUNT would leave such files.
 */
int file_remove_tree(const char *path, struct error *err)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int e = tree ? 0 : errno;

	for (FTSENT *entry; !e && (entry = fts_read(tree));) {
		/* Even a removal of nothing waits for a disk that is frozen. */
		if (entry->fts_info == FTS_D ||
		    (entry->fts_info == FTS_NS && entry->fts_errno == ENOENT))
			continue;
		if (entry->fts_info == FTS_DNR)
			e = entry->fts_errno;
		else if (remove(entry->fts_accpath) < 0)
			e = errno;
		if (e == ENOENT)
			e = 0;
	}
	if (tree)
		fts_close(tree);
	return e ? error_errno(err, -e, "cannot remove %s", path) : 0;
}

void file_raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}
