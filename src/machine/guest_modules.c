/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/guest_modules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "base/proc_modules.h"

char *guest_files_list(const struct guest_files *f, int32_t pid, const char *name)
{
	const char *for_all = strcmp(name, "modules") == 0 ? f->modules : f->kallsyms;
	cleanup(free_at_exit) char *own = NULL;

	if (f->mount)
		own = xasprintf("%s/%" PRId32 "/proc/kallsyms", f->mount, pid);
	if (own && (!f->kallsyms || access(own, R_OK) == 0))
		return xasprintf("%s/%" PRId32 "/proc/%s", f->mount, pid, name);
	return for_all ? xstrdup(for_all) : NULL;
}

char *guest_files_name(const char *path)
{
	static const char copy[] = "/memfd:", end[] = " (deleted)";
	char target[512];
	ssize_t n = strncmp(path, "/proc/self/fd/", 14) == 0
			    ? readlink(path, target, sizeof(target) - 1)
			    : -1;

	if (n < 0)
		return xstrdup(path);
	target[n] = '\0';
	if (strncmp(target, copy, strlen(copy)) != 0)
		return xstrdup(path);
	if ((size_t)n > strlen(end) && strcmp(target + n - strlen(end), end) == 0)
		target[n - (ssize_t)strlen(end)] = '\0';
	return xstrdup(target + strlen(copy));
}

struct guest_modules {
	VEC(struct guest_module) all;
	size_t n_bytes;
};

size_t guest_modules_bytes(const struct guest_modules *t)
{
	return t->n_bytes;
}

static int guest_modules_compare(const void *a, const void *b)
{
	const struct guest_module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/*
 * Since Linux 6.4, a size counts all memory of a module, which is in several places. So a range may
 * reach into the next one: an address belongs to the last module that starts before it.
 */
static void guest_modules_cut_overlaps(struct guest_modules *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->all.n; i++) {
		struct guest_module m = t->all.data[i];

		if (i + 1 < t->all.n)
			m.end = MIN(m.end, t->all.data[i + 1].start);
		if (m.start == m.end)
			free(m.name);
		else
			t->all.data[n++] = m;
	}
	t->all.n = n;
}

struct guest_modules *guest_modules_read(const char *path)
{
	struct guest_modules *t = xcalloc(1, sizeof(*t));
	cleanup(free_at_exit) char *text = NULL;
	struct proc_module m;
	const char *at;

	/* A guest that shares its files may have a FIFO there. */
	if (!path || !file_is_regular(path) ||
	    file_read_all(path, PROC_MODULES_BYTES, &text, NULL) < 0)
		return t;
	at = text;
	while (proc_modules_next(&at, &m))
		if (m.addr >> 63 && m.size <= UINT64_MAX - m.addr)
			vec_push(&t->all, ((struct guest_module){ m.addr, m.addr + m.size,
								  xstrdup(m.name) }));
	if (t->all.n)
		qsort(t->all.data, t->all.n, sizeof(*t->all.data), guest_modules_compare);
	guest_modules_cut_overlaps(t);
	t->n_bytes = sizeof(*t);
	vec_foreach (&t->all, known)
		t->n_bytes += sizeof(*known) + strlen(known->name) + 1;
	return t;
}

void guest_modules_free(struct guest_modules *t)
{
	if (!t)
		return;
	vec_foreach (&t->all, m)
		free(m->name);
	vec_fini(&t->all);
	free(t);
}

const struct guest_module *guest_modules_all(const struct guest_modules *t, size_t *n)
{
	*n = t->all.n;
	return t->all.data;
}

const struct guest_module *guest_modules_next(const struct guest_modules *t, uint64_t addr)
{
	size_t from = 0, to = t->all.n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (t->all.data[middle].end <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from < t->all.n ? &t->all.data[from] : NULL;
}
