/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/perf_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool parse_map_line(char *line, struct perf_map_entry *e)
{
	char *end;

	e->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	e->size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	e->name = end + 1;
	return *e->name && e->size && e->start + e->size > e->start;
}

struct ordered {
	struct perf_map_entry entry;
	size_t line;
};

static int by_start_then_line(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	if (x->entry.start != y->entry.start)
		return x->entry.start < y->entry.start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/*
 * Entries come in the order of their start. If two overlap, the later line wins, and the loser is
 * cut to its part in front, or dropped. The loser's part behind the winner is not kept: a compiler
 * that reuses part of a function's memory has freed all of it.
 */
static void push_resolved(struct perf_map *map, size_t *lines, const struct ordered *o)
{
	while (map->n) {
		struct perf_map_entry *last = &map->data[map->n - 1];

		if (last->start + last->size <= o->entry.start)
			break;
		if (lines[map->n - 1] > o->line) /* the newer code lies here already */
			return;
		if (last->start < o->entry.start) {
			last->size = o->entry.start - last->start;
			break;
		}
		map->n--;
	}
	lines[map->n] = o->line;
	vec_push(map, o->entry);
}

void perf_map_parse(struct perf_map *map, char *text)
{
	VEC(struct ordered) all = { 0 };
	size_t *lines;

	*map = (struct perf_map){ 0 };
	for (char *line; (line = strsep(&text, "\n"));) {
		struct ordered o = { .line = all.n };

		if (!*line)
			continue;
		if (parse_map_line(line, &o.entry))
			vec_push(&all, o);
		else
			map->n_bad_lines++;
	}
	if (all.n)
		qsort(all.data, all.n, sizeof(*all.data), by_start_then_line);
	lines = mem_try(all.n, sizeof(*lines));
	for (size_t i = 0; lines && i < all.n; i++)
		push_resolved(map, lines, &all.data[i]);
	free(lines);
	vec_fini(&all);
}

void perf_map_fini(struct perf_map *map)
{
	vec_fini(map);
}

const struct perf_map_entry *perf_map_find(const struct perf_map *map, uint64_t addr)
{
	size_t low = 0, high = map->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct perf_map_entry *e = &map->data[mid];

		if (addr < e->start)
			high = mid;
		else if (addr - e->start >= e->size)
			low = mid + 1;
		else
			return e;
	}
	return NULL;
}
