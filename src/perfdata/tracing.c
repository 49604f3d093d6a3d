/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats of tracepoints, which perf copies from tracefs. The layout is the header of
 * trace-cmd's trace.dat (its man page trace-cmd.dat.v6(5)):
 *
 *   17 08 44 "tracing"  version\0  endian u8  size of long u8  page size u32
 *   "header_page\0" size u64 …  "header_event\0" size u64 …
 *   ftrace's own formats: n u32, { size u64, text } n
 *   systems: n u32, { name\0, n u32, { size u64, text } n } n
 */
#include <stdlib.h>
#include <string.h>

#include "perfdata/state.h"

static const uint8_t tracing_magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };

static bool skip_block(struct order_reader *o, const char *name)
{
	const char *found = reader_cstr(&o->r);

	if (!found || strcmp(found, name))
		return false;
	reader_bytes(&o->r, order_u64(o));
	return !o->r.bad;
}

/* The value of a "KEY: value" line of a format; the text has no NUL. */
static const char *find_format_line(const char *text, size_t size, const char *key, size_t *len)
{
	size_t key_len = strlen(key);

	for (const char *at = text, *end = text + size, *next; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (!next)
			next = end;
		if ((size_t)(next - at) > key_len && !memcmp(at, key, key_len)) {
			*len = (size_t)(next - at) - key_len;
			return at + key_len;
		}
	}
	return NULL;
}

static void add_tracepoint(struct perfdata *p, const char *system, const char *text, size_t size)
{
	size_t name_len = 0, id_len = 0;
	const char *name = find_format_line(text, size, "name: ", &name_len);
	const char *id = find_format_line(text, size, "ID: ", &id_len);
	struct perfdata_tracepoint t = { .format = text, .format_size = (uint32_t)size };
	char digits[24];
	char *full;

	if (!name || !id || id_len >= sizeof(digits))
		return;
	memcpy(digits, id, id_len);
	digits[id_len] = '\0';
	t.id = strtoull(digits, NULL, 10);
	full = xasprintf("%s:%.*s", system, (int)name_len, name);
	t.name = arena_strndup(p->arena, full, strlen(full));
	free(full);
	*intmap_put(&p->by_tracepoint, t.id, NULL) = (uint32_t)p->info.tracepoints.n;
	vec_push(&p->info.tracepoints, t);
}

static void read_formats(struct perfdata *p, struct order_reader *o, const char *system)
{
	uint32_t n = order_u32(o);

	for (uint32_t i = 0; i < n && !o->r.bad; i++) {
		uint64_t size = order_u64(o);
		const char *text = reader_bytes(&o->r, size);

		if (text && system && size <= UINT32_MAX)
			add_tracepoint(p, system, text, size);
	}
}

void tracing_read(struct perfdata *p, const uint8_t *bytes, uint64_t size)
{
	struct order_reader o = order_reader_over(bytes, size, false);
	const void *magic = reader_bytes(&o.r, sizeof(tracing_magic));
	uint32_t n_systems;

	if (!magic || memcmp(magic, tracing_magic, sizeof(tracing_magic)))
		return;
	reader_cstr(&o.r); /* version */
	/* 1 is big-endian; assay runs on little-endian machines, or the compiler says otherwise */
	o.is_foreign = reader_u8(&o.r) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
	reader_u8(&o.r);
	order_u32(&o);
	if (!skip_block(&o, "header_page") || !skip_block(&o, "header_event"))
		return;
	read_formats(p, &o, NULL);
	n_systems = order_u32(&o);
	for (uint32_t i = 0; i < n_systems && !o.r.bad; i++) {
		const char *system = reader_cstr(&o.r);

		if (system)
			read_formats(p, &o, system);
	}
}
