/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *or_abort(void *p)
{
	if (!p) {
		static const char text[] = "assay: out of memory\n";

		if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			abort();
		abort();
	}
	return p;
}

void *xmalloc(size_t size)
{
	return or_abort(malloc(size ? size : 1));
}

void *xcalloc(size_t n, size_t size)
{
	return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *xmalloc_aligned(size_t align, size_t size)
{
	return or_abort(aligned_alloc(align, size));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	return or_abort(reallocarray(p, n ? n : 1, size));
}

char *xstrdup(const char *s)
{
	return or_abort(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return or_abort(strndup(s, n));
}

char *xasprintf(const char *format, ...)
{
	va_list ap;
	char *s = NULL;

	va_start(ap, format);
	if (vasprintf(&s, format, ap) < 0)
		s = NULL;
	va_end(ap);
	return or_abort(s);
}

void free_at_exit(void *p)
{
	free(*(void **)p);
}

void close_at_exit(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void *vec_grow_(void *data, size_t *cap, size_t want, size_t size)
{
	size_t next = *cap ? *cap + *cap / 2 : 8;

	*cap = MAX(next, want);
	return xrealloc(data, *cap, size);
}
