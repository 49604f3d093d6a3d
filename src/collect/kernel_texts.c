/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/kernel_texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine/context_marks.h"
#include "symbol/kallsyms.h"

static bool is_named(const struct kernel_symbol *s, const char *name)
{
	return s->name && !s->module && s->name_len == strlen(name) &&
	       !memcmp(s->name, name, s->name_len);
}

/* The function ends where the next symbol begins. */
static struct kernel_text text_of(const struct kallsyms *k, const char *name)
{
	struct kernel_text text = { 0 };

	vec_foreach (&k->symbols, s)
		if (is_named(s, name))
			text.start = s->addr;
	vec_foreach (&k->symbols, s)
		if (text.start && s->addr > text.start &&
		    (!text.size || s->addr - text.start < text.size))
			text.size = s->addr - text.start;
	return text;
}

/* ---- marks ---- */

typedef VEC(struct kernel_mark) mark_list;

#define NAME_MAX_OF_MARK 64
#define BEFORE_FUNCTION  "__pfx_" /* a name of the bytes before a function */

/* MARK_NONE also for idle code: it is no interrupt. */
static enum context_mark mark_of(const struct context_marks *marks, const struct kernel_symbol *s)
{
	size_t skip = 0, n_before = strlen(BEFORE_FUNCTION);
	char name[NAME_MAX_OF_MARK];
	enum context_mark mark;

	if (!s->name || s->module || s->name_len >= sizeof(name))
		return MARK_NONE;
	if (s->name_len > n_before && !memcmp(s->name, BEFORE_FUNCTION, n_before))
		skip = n_before;
	if (s->name_len < skip + CONTEXT_MARK_CHARS || !context_may_be_mark(marks, s->name + skip))
		return MARK_NONE;
	memcpy(name, s->name, s->name_len);
	name[s->name_len] = 0;
	mark = context_mark_of(name + skip);
	return mark == MARK_IDLE ? MARK_NONE : mark;
}

static int compare_marks(const void *a, const void *b)
{
	const struct kernel_mark *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* The last mark that begins before an address; NULL: none does. */
static struct kernel_mark *mark_before(const mark_list *list, uint64_t addr)
{
	size_t first = 0;

	for (size_t end = list->n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (list->data[middle].start < addr)
			first = middle + 1;
		else
			end = middle;
	}
	return first ? &list->data[first - 1] : NULL;
}

/* As text_of(). */
static void find_ends(const struct kallsyms *k, const mark_list *list)
{
	vec_foreach (&k->symbols, s) {
		struct kernel_mark *mark = mark_before(list, s->addr);
		uint64_t size = mark ? s->addr - mark->start : 0;

		if (size && size <= UINT32_MAX && (!mark->size || size < mark->size))
			mark->size = (uint32_t)size;
	}
}

static void join_marks(const mark_list *list, struct kernel_marks *out)
{
	vec_foreach (list, mark) {
		struct kernel_mark *last = out->n ? &out->list[out->n - 1] : NULL;
		uint64_t size = last ? mark->start - last->start + mark->size : 0;

		if (last && last->start + last->size == mark->start &&
		    last->is_exit == mark->is_exit && size <= UINT32_MAX)
			last->size = (uint32_t)size;
		else if (mark->size && out->n < KERNEL_MARKS_MAX)
			out->list[out->n++] = *mark;
	}
}

static void find_marks(const struct kallsyms *k, struct kernel_marks *out)
{
	struct context_marks marks;
	mark_list list = { 0 };

	context_marks_begin(&marks);
	vec_foreach (&k->symbols, s) {
		enum context_mark mark = mark_of(&marks, s);

		if (mark != MARK_NONE)
			vec_push(&list, (struct kernel_mark){ .start = s->addr,
							      .is_exit = mark == MARK_EXIT });
	}
	if (list.n)
		qsort(list.data, list.n, sizeof(*list.data), compare_marks);
	find_ends(k, &list);
	join_marks(&list, out);
	vec_fini(&list);
}

bool kernel_texts_read(const char *path, struct kernel_texts *out, struct kernel_marks *marks)
{
	struct kallsyms k = { 0 };

	*out = (struct kernel_texts){ 0 };
	*marks = (struct kernel_marks){ 0 };
	if (kallsyms_read(&k, path) == 0 && !k.is_hidden) {
		out->switches = text_of(&k, "__schedule");
		out->wakes = text_of(&k, "try_to_wake_up");
		out->has_exit = text_of(&k, "__traceiter_sched_exit_tp").size > 0;
		find_marks(&k, marks);
	}
	kallsyms_fini(&k);
	return out->switches.size && out->wakes.size;
}
