/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/perf_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool parse_map_line(const char *text, char *line, struct perf_map_entry *e)
{
	char *end;

	e->start = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	line = end + 1;
	e->size = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	e->name = (uint32_t)(end + 1 - text);
	return end[1] && e->size && e->start + e->size > e->start;
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
	char *rest = text;
	size_t *lines;

	*map = (struct perf_map){ .text = text };
	for (char *line; (line = strsep(&rest, "\n"));) {
		struct ordered o = { .line = all.n };

		if (!*line)
			continue;
		if (parse_map_line(text, line, &o.entry))
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

/* ---- in the parser ---- */

static size_t count_lines(const uint8_t *text, size_t size)
{
	const uint8_t *end = text + size;
	size_t n = 0;

	while (text < end && (text = memchr(text, '\n', (size_t)(end - text)))) {
		text++;
		n++;
	}
	return n;
}

/* A NUL byte spoils its own line, not all lines after it. */
static char *copy_text(const struct file_mapping *file)
{
	char *text = xmalloc(file->size + 1);

	if (file->size)
		memcpy(text, file->base, file->size);
	text[file->size] = '\0';
	for (char *at = text; (at = memchr(at, '\0', (size_t)(text + file->size - at))); at++)
		*at = '?';
	return text;
}

static void perf_map_run(struct parser_job *job)
{
	const struct file_mapping *file = job->file;
	cleanup(free_at_exit) char *text = NULL;
	struct perf_map_head head = { 0 };
	struct perf_map map = { 0 };

	head.is_large =
		file->size > JIT_MAP_LIMIT || count_lines(file->base, file->size) > JIT_MAP_LINES;
	if (!head.is_large) {
		text = copy_text(file);
		perf_map_parse(&map, text);
		head.n = map.n;
	}
	buf_reserve(job->answer, sizeof(head) + map.n * sizeof(*map.data) + file->size + 1);
	buf_bytes(job->answer, &head, sizeof(head));
	buf_bytes(job->answer, map.data, map.n * sizeof(*map.data));
	if (map.n)
		buf_bytes(job->answer, text, file->size + 1);
	perf_map_fini(&map);
}

/* ---- in the process that asks ---- */

bool perf_map_read(struct perf_map *map, bool *is_large, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const struct perf_map_head *head = reader_bytes(&r, sizeof(*head));

	*map = (struct perf_map){ 0 };
	if (!head || head->n > reader_left(&r) / sizeof(*map->data))
		return false;
	*is_large = head->is_large;
	map->n = head->n;
	map->data = (struct perf_map_entry *)reader_bytes(&r, map->n * sizeof(*map->data));
	map->text = (const char *)r.at;
	return !map->n || (reader_left(&r) && !map->text[reader_left(&r) - 1]);
}

static bool perf_map_check(const void *bytes, size_t size)
{
	struct perf_map map;
	uint64_t end = 0, text_size;
	bool is_large;

	if (!perf_map_read(&map, &is_large, bytes, size))
		return false;
	text_size = size - sizeof(struct perf_map_head) - map.n * sizeof(*map.data);
	for (size_t i = 0; i < map.n; i++) {
		const struct perf_map_entry *e = &map.data[i];

		if (e->name >= text_size || e->start < end || !e->size ||
		    e->start + e->size < e->start)
			return false;
		end = e->start + e->size;
	}
	return true;
}

const struct parser_row perf_map_row = {
	.name = "perf map",
	.run = perf_map_run,
	.check = perf_map_check,
	.deadline_ms = 10000,
	.lane = PARSER_LANE_BACK,
};
