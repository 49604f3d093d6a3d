/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener of files that a profiled program controls.
 *
 * A profiled program chooses the paths of its mappings, and the files at these paths. It can put a
 * FIFO, a device or a link there, or exchange a folder for a link while assay looks. So these
 * functions
 *
 *   - resolve a path below the program's own root (openat2(2), RESOLVE_IN_ROOT), and never through
 *     a magic link of /proc;
 *   - open with O_PATH first, which has no effect on a device or a FIFO;
 *   - check the file that they hold: its kind, owner and size;
 *   - open this same file for reading, without waiting.
 *
 * In a daemon, the opener opens what the kernel refuses to this process (guard/opener.h).
 *
 * Without openat2 (before Linux 5.6, or if a container's seccomp filter refuses it), nothing is
 * opened: the result is -ENOSYS, and the error gives this reason. Any thread may call these
 * functions. Each returns a negative errno on failure and sets `err`, which may be NULL.
 */
#pragma once

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/files/file.h"
#include "guard/limits.h"

struct error;
struct open_how;

#define GUARD_HERE      AT_FDCWD /* a root: the root of assay itself, with relative paths */
#define GUARD_ANY_OWNER UINT32_MAX

struct guard_rules {
	uint64_t max_bytes; /* a larger file is -EFBIG */
	/* GUARD_ANY_OWNER, or the user whose file it must be; a file of root is permitted, too. A
	 * file of somebody else is -EPERM. */
	uint32_t owner;
	bool is_link_refused; /* whether a link as the last part of the path is -ELOOP */
};

extern const struct guard_rules guard_image_rules; /* any owner, GUARD_IMAGE_BYTES */

/*
 * Rules for a file that speaks for a process: the owner is the effective user of the process. If
 * the process has ended, the owner is assay's own user.
 */
struct guard_rules guard_rules_of_process(const char *proc, int32_t pid, uint64_t max_bytes);

/* The root of a process, a descriptor for the functions below. `proc` is "/proc". */
int guard_root(const char *proc, int32_t pid);

/*
 * The memory of a process, for pread(2) at its addresses. It stays that of the program that runs
 * now. The caller closes the descriptor.
 */
int guard_memory(const char *proc, int32_t pid);

/* A root that is a folder by name, as for guard_map_below(). -ENOENT: "". */
int guard_root_of(const char *folder);

/* Opens a regular file for reading. The caller closes the descriptor. */
int guard_open(int root, const char *path, const struct guard_rules *rules, struct error *err);

/* Opens any file with O_PATH. The caller closes the descriptor. */
int guard_path(int root, const char *path);

/* Opens a folder with O_PATH. The caller closes the descriptor. */
int guard_folder(int root, const char *path, struct error *err);

/* The facts of any file, which is not opened. */
int guard_stat(int root, const char *path, struct stat *st);

/*
 * Opens the file of a link whose name assay made itself: /proc/PID/exe, /proc/PID/map_files/… and
 * /proc/self/fd/N. The file is checked like the others.
 */
int guard_link(const char *link, const struct guard_rules *rules, struct error *err);

/* guard_open(), and the mapping of the file (file_unmap() frees it). */
int guard_map(int root, const char *path, const struct guard_rules *rules, struct file_mapping *out,
	      struct error *err);

/*
 * The same with a root that is a folder by name, which assay or its user chose: "/proc/PID/root", a
 * sysroot, or "" for GUARD_HERE. `path` is the rest behind it.
 */
int guard_map_below(const char *root, const char *path, const struct guard_rules *rules,
		    struct file_mapping *out, struct error *err);
int guard_stat_below(const char *root, const char *path, struct stat *st);

/* How a whole path is to be taken. */
struct guard_place {
	const char *root;    /* a path that begins with it stays below it; "": GUARD_HERE */
	const char *process; /* "/proc/PID": PID/root is a root, the rest are links; NULL: none */
};
int guard_map_place(const struct guard_place *place, const char *path,
		    const struct guard_rules *rules, struct file_mapping *out, struct error *err);

/* The system call, for tests: returns a descriptor, or -1 with errno. */
typedef int (*guard_openat2)(int dir, const char *path, const struct open_how *how);
guard_openat2 guard_set_openat2(guard_openat2 call); /* returns the one before */
