/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: whole reads of small ones, mappings of large ones, safe replacement. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct buf;

/*
 * Reads all of a file of any kind (/proc and sysfs files have no size). *out
 * is NUL-terminated and the caller's to free(). More than `limit` bytes is
 * -EFBIG. Returns 0 or a negative errno; no message, as callers know better.
 */
int file_read_all(const char *path, size_t limit, char **out, size_t *size);
int file_read_fd(int fd, size_t limit, char **out, size_t *size);

/* The first line of a small file without its newline: true if it could be read. */
bool file_read_line(const char *path, char *line, size_t size);

/* Whether there is a regular file, behind links too. To open another one, as a FIFO, can block. */
bool file_is_regular(const char *path);

/*
 * Maps a regular file read-only. An empty file gives base NULL, size 0. Bytes that the file loses
 * while it is mapped read as zeros (base/files/cut_guard.h). So check file_is_cut() before you keep
 * or report results. In a process without the guard, the mapping is a copy of the file in memory;
 * bytes that the file lost during the copy are zeros.
 */
struct file_mapping {
	const uint8_t *base;
	size_t size;
	uint64_t mtime_ns, ctime_ns, ino;
	uint64_t dev; /* of stat(2): major << 32 | minor */
	uint32_t uid; /* the owner */
	/* Whether others than the owner may write the file; or its file system, which is mounted
	 * with nosuid, is not to be trusted with owners. */
	bool is_open_to_others;
	struct cut_guard *guard;
	bool was_cut;  /* while it was copied */
	bool is_small; /* a copy in the heap: file_load_fd() */
	uint32_t kept; /* file_descriptor() plus 1 */
};
int file_map(const char *path, struct file_mapping *out, struct error *err);
/* The same of an open file, which stays the caller's; `path` is for messages. */
int file_map_fd(int fd, const char *path, struct file_mapping *out, struct error *err);
void file_unmap(struct file_mapping *m); /* {0} is fine */

/*
 * The same, but a file of at most `copied_bytes` is copied into the heap. Below some 100 KB, that
 * costs less than a mapping and its page faults. So madvise(2) is for file_rest() alone. The result
 * has no descriptor of the file.
 */
int file_load_fd(int fd, const char *path, size_t copied_bytes, struct file_mapping *out,
		 struct error *err);

/*
 * The facts of an open file, and its descriptor, which is taken over even on failure: base is NULL.
 * For a file that another process reads, too. file_map_held() maps it, or sets *m to {0}.
 */
int file_hold_fd(int fd, const char *path, struct file_mapping *out, struct error *err);
int file_map_held(struct file_mapping *m, const char *path, struct error *err);
int file_descriptor(const struct file_mapping *m); /* -1: none */
void file_close_fd(struct file_mapping *m);        /* its bytes stay mapped */

/* Gives back the memory of bytes that were read. `at` is a multiple of the page size. */
void file_rest(const struct file_mapping *m, size_t at, size_t size);

/* True if bytes were read that the file has no longer, as somebody cut it. */
bool file_is_cut(const struct file_mapping *m);

/* Writes all bytes, resuming after short writes and EINTR. 0 or a negative errno. */
int file_write_all(int fd, const void *bytes, size_t size);

/* As write(2), but a pipe without a reader raises no SIGPIPE. (Commands would inherit it ignored.)
 */
ssize_t file_write_quietly(int fd, const void *bytes, size_t size);

/* A new file without a name in $TMPDIR or /tmp, to write and read: a descriptor, or -errno. */
int file_open_nameless(void);

/* Puts bytes under `path` at once: a temporary file beside it, then rename(2). */
int file_replace(const char *path, const void *bytes, size_t size, struct error *err);

/*
 * The same. The file gets exactly these permissions, whatever the umask is. FILE_MODE_OF_UMASK: it
 * gets those that the umask leaves, as in file_replace().
 */
#define FILE_MODE_OF_UMASK ((mode_t)-1)
int file_replace_mode(const char *path, mode_t mode, const void *bytes, size_t size,
		      struct error *err);

/* Bytes to write. `rest` gets each piece (base/pieces.h) once it is written; NULL: none. */
struct file_bytes {
	const void *data;
	size_t size;
	size_t first; /* bytes at the begin that `rest` does not get */
	void (*rest)(const void *bytes, size_t size);
};
int file_replace_bytes(const char *path, mode_t mode, const struct file_bytes *bytes,
		       struct error *err);

/* mkdir -p; an existing directory is success. */
int file_mkdirs(const char *path, mode_t mode, struct error *err);

/* For an output that the user names: the folder that is to hold `path` must be there. */
int file_check_parent(const char *path, struct error *err);

/* Bytes of all regular files below a directory; 0 for one that can't be read. */
uint64_t file_tree_bytes(const char *path);

/* Bytes that files and folders take on the disk, in whole blocks. */
uint64_t file_tree_disk_bytes(const char *path);

/* Removes a directory and all below it, staying on its file system, following no link. */
int file_remove_tree(const char *path, struct error *err);

/* Raises the soft limit of open files of this process to the hard one: it is only a default. */
void file_raise_limit(void);
