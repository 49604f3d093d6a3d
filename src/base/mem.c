/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/reserve.h"

void *mem_or_abort(void *p)
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
	return mem_or_abort(mem_or_spend(malloc(size ? size : 1)));
}

void *xcalloc(size_t n, size_t size)
{
	return mem_or_abort(mem_or_spend(calloc(n ? n : 1, size ? size : 1)));
}

void *xmalloc_aligned(size_t align, size_t size)
{
	return mem_or_abort(mem_or_spend(aligned_alloc(align, size)));
}

/* Inlined, gcc 14 takes the second attempt for a use after the first one freed it. */
static __attribute__((noinline)) void *mem_regrow(void *p, size_t n, size_t size)
{
	return mem_or_spend(reallocarray(p, n ? n : 1, size));
}

void *xrealloc(void *p, size_t n, size_t size)
{
	return mem_or_abort(mem_regrow(p, n, size));
}

char *xstrdup(const char *s)
{
	return mem_or_abort(mem_or_spend(strdup(s)));
}

char *xstrndup(const char *s, size_t n)
{
	return mem_or_abort(mem_or_spend(strndup(s, n)));
}

static char *mem_vprintf(const char *format, va_list ap)
{
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vasprintf(&s, format, again);
	va_end(again);
	return n < 0 ? NULL : s;
}

char *xvasprintf(const char *format, va_list ap)
{
	return mem_or_abort(mem_or_spend(mem_vprintf(format, ap)));
}

char *xasprintf(const char *format, ...)
{
	va_list ap;
	char *s;

	va_start(ap, format);
	s = xvasprintf(format, ap);
	va_end(ap);
	return s;
}

void *mem_try(size_t n, size_t size)
{
	return mem_try_grow_(NULL, n ? n : 1, size);
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

/* Without memory for half as much again, there may be some for a single element. */
void *vec_grow_(void *data, size_t *cap, size_t want, size_t size)
{
	size_t next = MAX(*cap ? *cap + *cap / 2 : 8, want);
	void *grown = mem_regrow(data, next, size);

	if (!grown)
		grown = xrealloc(data, next = want, size);
	*cap = next;
	return grown;
}

void *mem_try_grow_(void *data, size_t want, size_t size)
{
	void *grown = reallocarray(data, want, size);

	if (!grown)
		reserve_count_failure();
	return grown;
}

void *mem_table(size_t n, size_t size, size_t n_used, size_t n_old)
{
	void *slots = calloc(n, size);

	if (!slots && n_used + 1 < n_old - n_old / 8 && reserve_spend()) {
		reserve_spent();
		return NULL;
	}
	return slots ? slots : xcalloc(n, size);
}
