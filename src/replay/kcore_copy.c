/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/kcore_copy.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc_modules.h"
#include "replay/replay.h"
#include "symbol/kernel/kcore.h"

#define PAGE       4096ULL
#define MAX_TEXT   (256ULL << 20) /* of one range: more is no text */
#define MAX_RANGES 4096
#define MAX_LIST   ((size_t)256 << 20) /* bytes of kallsyms */
#define READ_BYTES ((size_t)64 << 10)

struct text_range {
	uint64_t start, end;
};

struct copying {
	const char *proc;
	struct kcore kcore;
	VEC(struct text_range) ranges; /* by address, apart */
	char *kallsyms, *modules;      /* texts */
	size_t kallsyms_size, modules_size;
	struct error *err;
};

static void copying_fini(struct copying *c)
{
	kcore_close(&c->kcore);
	vec_fini(&c->ranges);
	free(c->kallsyms);
	free(c->modules);
}

/* Reasons why one of the three files can't be copied. */

static int kcore_copy_explain(struct copying *c, const char *path, int e)
{
	if (e == -ENOENT)
		return error_set(c->err, e,
				 "--kcore: %s is not there: the kernel is built without "
				 "CONFIG_PROC_KCORE, or this container hides it; without "
				 "--kcore, the kernel's code comes from vmlinux",
				 path);
	if (e == -EPERM || e == -EACCES)
		return error_set(
			c->err, e,
			"--kcore: %s: %s; it needs root (CAP_SYS_RAWIO), and a kernel that is "
			"not locked down",
			path, strerror(-e));
	return error_errno(c->err, e, "--kcore: %s", path);
}

static int kcore_copy_read_list(struct copying *c, const char *name, size_t limit, char **text,
				size_t *size)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", c->proc, name);
	int e = file_read_all(path, limit, text, size);

	return e < 0 ? error_errno(c->err, e, "--kcore: %s", path) : 0;
}

/* A kernel may have no modules at all. */
static int kcore_copy_read_modules(struct copying *c, char **text, size_t *size)
{
	int e = kcore_copy_read_list(c, "modules", PROC_MODULES_BYTES, text, size);

	if (e != -ENOENT)
		return e;
	*text = xstrdup("");
	*size = 0;
	return 0;
}

/* Where text is. */

static void add_range(struct copying *c, uint64_t start, uint64_t end)
{
	struct text_range r = { start & ~(PAGE - 1), (end + PAGE - 1) & ~(PAGE - 1) };

	if (start && end > start && end - start <= MAX_TEXT && c->ranges.n < MAX_RANGES)
		vec_push(&c->ranges, r);
}

static int kcore_copy_add_kernel(struct copying *c)
{
	uint64_t start = 0, end = 0;
	char name[64];

	for (const char *line = c->kallsyms; line && *line && !end;) {
		uint64_t addr;

		if (sscanf(line, "%" SCNx64 " %*c %63s", &addr, name) == 2) {
			if (!strcmp(name, "_stext") || (!start && !strcmp(name, "_text")))
				start = start && !strcmp(name, "_stext") ? start : addr;
			else if (!strcmp(name, "_etext"))
				end = addr;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (!start || end <= start)
		return error_set(c->err, -EACCES,
				 "--kcore: %s/kallsyms hides the place of the kernel's text "
				 "(kernel.kptr_restrict): run as root",
				 c->proc);
	add_range(c, start, end);
	return 0;
}

static void add_modules(struct copying *c)
{
	const char *text = c->modules;
	struct proc_module m;

	while (proc_modules_next(&text, &m))
		add_range(c, m.addr, m.addr + m.size);
}

static int kcore_copy_by_start(const void *a, const void *b)
{
	const struct text_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void join_ranges(struct copying *c)
{
	size_t n = 0;

	qsort(c->ranges.data, c->ranges.n, sizeof(*c->ranges.data), kcore_copy_by_start);
	vec_foreach (&c->ranges, r) {
		struct text_range *last = n ? &c->ranges.data[n - 1] : NULL;

		if (last && r->start <= last->end)
			last->end = MAX(last->end, r->end);
		else
			c->ranges.data[n++] = *r;
	}
	c->ranges.n = n;
}

/* Writing. */

static int write_headers(const struct copying *c, int fd)
{
	Elf64_Ehdr h = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = c->kcore.machine,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(h),
		.e_ehsize = sizeof(h),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)c->ranges.n,
	};
	uint64_t at = sizeof(h) + c->ranges.n * sizeof(Elf64_Phdr);
	int e = file_write_all(fd, &h, sizeof(h));

	at = (at + PAGE - 1) & ~(PAGE - 1);
	for (size_t i = 0; i < c->ranges.n && !e; i++) {
		uint64_t size = c->ranges.data[i].end - c->ranges.data[i].start;
		Elf64_Phdr p = { .p_type = PT_LOAD,
				 .p_flags = PF_R | PF_W | PF_X,
				 .p_offset = at,
				 .p_vaddr = c->ranges.data[i].start,
				 .p_filesz = size,
				 .p_memsz = size,
				 .p_align = PAGE };

		e = file_write_all(fd, &p, sizeof(p));
		at += size;
	}
	return e;
}

/* Pages that are not there (a module that went, memory that was given back) read as zeros. */
static int write_range(struct copying *c, const struct text_range *r, int fd, uint64_t *n_read)
{
	char *bytes = xmalloc(READ_BYTES);
	int e = 0;

	for (uint64_t at = r->start; at < r->end && !e;) {
		size_t size = (size_t)MIN(r->end - at, READ_BYTES);
		int n = kcore_read(&c->kcore, at, bytes, size);

		if (n <= 0 && size > PAGE) { /* page by page, up to the next round one */
			size = PAGE;
			n = kcore_read(&c->kcore, at, bytes, size);
		}
		if (n <= 0)
			memset(bytes, 0, size);
		else
			size = (size_t)n;
		*n_read += n > 0 ? size : 0;
		e = file_write_all(fd, bytes, size);
		at += size;
	}
	free(bytes);
	return e;
}

static int write_kcore(struct copying *c, const char *dir, uint64_t *n_read)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kcore", dir);
	cleanup(close_at_exit) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	uint64_t headers = sizeof(Elf64_Ehdr) + c->ranges.n * sizeof(Elf64_Phdr);
	int e = fd < 0 ? -errno : write_headers(c, fd);

	headers = (headers + PAGE - 1) & ~(PAGE - 1);
	if (!e && lseek(fd, (off_t)headers, SEEK_SET) < 0)
		e = -errno;
	vec_foreach (&c->ranges, r)
		if (!e)
			e = write_range(c, r, fd, n_read);
	return e < 0 ? error_errno(c->err, e, "%s", path) : 0;
}

static int write_list(struct copying *c, const char *dir, const char *name, const char *text,
		      size_t size)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, name);
	cleanup(close_at_exit) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	int e = fd < 0 ? -errno : file_write_all(fd, text, size);

	return e < 0 ? error_errno(c->err, e, "%s", path) : 0;
}

/* A module that came or went meanwhile makes copies that do not fit each other. */
static int check_modules(struct copying *c)
{
	cleanup(free_at_exit) char *now = NULL;
	size_t size;
	int e = kcore_copy_read_modules(c, &now, &size);

	if (!e && (size != c->modules_size || memcmp(now, c->modules, size) != 0))
		e = error_set(c->err, -EAGAIN,
			      "--kcore: the kernel's modules have changed while they were "
			      "copied; try again");
	return e;
}

static int copy_all(struct copying *c, const char *dir, uint64_t *n_bytes)
{
	uint64_t n_read = 0;
	int e;

	if ((e = write_kcore(c, dir, &n_read)) < 0 ||
	    (e = write_list(c, dir, "kallsyms", c->kallsyms, c->kallsyms_size)) < 0 ||
	    (e = write_list(c, dir, "modules", c->modules, c->modules_size)) < 0 ||
	    (e = check_modules(c)) < 0)
		return e;
	if (!n_read)
		return error_set(c->err, -ENODATA, "--kcore: %s/kcore has no text of the kernel",
				 c->proc);
	*n_bytes = n_read + c->kallsyms_size + c->modules_size;
	return 0;
}

static int kcore_copy_open_all(struct copying *c)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/kcore", c->proc);
	struct error why = { 0 };
	int e = kcore_open(path, &c->kcore, &why);

	if (e == -EBADMSG)
		return error_set(c->err, e, "--kcore: %s", why.text);
	if (e < 0)
		return kcore_copy_explain(c, path, e);
	if ((e = kcore_copy_read_list(c, "kallsyms", MAX_LIST, &c->kallsyms, &c->kallsyms_size)) <
		    0 ||
	    (e = kcore_copy_read_modules(c, &c->modules, &c->modules_size)) < 0 ||
	    (e = kcore_copy_add_kernel(c)) < 0)
		return e;
	add_modules(c);
	join_ranges(c);
	return 0;
}

/* The folder. */

static int kcore_copy_make_room(const char *dir, struct error *err)
{
	cleanup(free_at_exit) char *old = xasprintf("%s.old", dir);
	struct stat st;

	if (lstat(dir, &st) < 0)
		return errno == ENOENT ? 0 : error_errno(err, -errno, "%s", dir);
	if (!replay_is_perfdata(dir))
		return error_set(err, -EEXIST,
				 "%s is in the way and is not a recording; give another place with "
				 "-o, or remove it",
				 dir);
	if (lstat(old, &st) == 0) {
		if (S_ISDIR(st.st_mode) && replay_is_perfdata(old))
			file_remove_tree(old, NULL);
		else if (!S_ISDIR(st.st_mode))
			unlink(old);
	}
	return rename(dir, old) < 0 ? error_errno(err, -errno, "cannot rename %s to %s", dir, old)
				    : 0;
}

int kcore_copy(const char *proc, const char *dir, uint64_t *n_bytes, struct error *err)
{
	cleanup(copying_fini) struct copying c = { .proc = proc ? proc : "/proc",
						   .kcore = { .fd = -1 },
						   .err = err };
	cleanup(free_at_exit) char *below = xasprintf("%s/kcore_dir", dir);
	int e;

	if ((e = kcore_copy_open_all(&c)) < 0 || (e = kcore_copy_make_room(dir, err)) < 0)
		return e;
	e = file_mkdirs(below, 0700, err);
	if (!e)
		e = copy_all(&c, below, n_bytes);
	if (e < 0)
		kcore_copy_undo(dir);
	return e;
}

int kcore_copy_files(const char *proc, const char *folder, uint64_t *n_bytes, struct error *err)
{
	cleanup(copying_fini) struct copying c = { .proc = proc,
						   .kcore = { .fd = -1 },
						   .err = err };
	cleanup(free_at_exit) char *above =
		xstrndup(folder, (size_t)(path_file_name(folder) - folder));
	cleanup(free_at_exit) char *fresh = xasprintf("%s.new-XXXXXX", above);
	int e = kcore_copy_open_all(&c);

	e = e < 0 || !*above ? e : file_mkdirs(above, 0700, err);
	if (e < 0)
		return e;
	if (!mkdtemp(fresh))
		return error_errno(err, -errno, "%s", fresh);
	e = copy_all(&c, fresh, n_bytes);
	if (e >= 0 && rename(fresh, folder) < 0)
		e = error_errno(err, -errno, "cannot rename %s to %s", fresh, folder);
	if (e < 0)
		file_remove_tree(fresh, NULL);
	return e;
}

void kcore_copy_undo(const char *dir)
{
	cleanup(free_at_exit) char *data = xasprintf("%s/data", dir);
	cleanup(free_at_exit) char *old = xasprintf("%s.old", dir);

	if (access(data, F_OK) == 0)
		return;
	file_remove_tree(dir, NULL);
	if (access(old, F_OK) == 0)
		(void)!rename(old, dir);
}
