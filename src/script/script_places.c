/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script/script_places.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "guard/open.h"
#include "symbol/lines/lines.h"
#include "symbol/symbolizer/code_files.h"

/* An image and an offset fit into one key where they are of the usual size. */
#define OFFSET_BITS 44
#define MAX_KEPT    ((uint32_t)1 << 22)

struct known_image {
	const struct symbol_table *table; /* NULL: not looked at */
	const char *dso;
	enum image_kind kind;
	const char **names; /* by symbol; NULL: not asked for yet */
};

struct script_places {
	struct script_places_config config;
	struct intmap by_code;
	VEC(struct script_place) kept;
	VEC(struct known_image) images;
	VEC(struct given_symbol) given;
	struct arena *arena;
	struct buf text;
	struct script_place other; /* one that is not kept */
	struct code_files *code;   /* NULL: not needed yet */
	struct file_mapping source;
	char *source_path; /* of `source`, that may be empty; NULL: none yet */
};

struct script_places *script_places_new(const struct script_places_config *config)
{
	struct script_places *p = xcalloc(1, sizeof(*p));

	p->config = *config;
	p->arena = arena_new();
	return p;
}

void script_places_free(struct script_places *p)
{
	if (!p)
		return;
	vec_foreach (&p->images, image)
		free(image->names);
	vec_fini(&p->images);
	vec_fini(&p->kept);
	vec_fini(&p->given);
	intmap_fini(&p->by_code);
	buf_fini(&p->text);
	code_files_free(p->code);
	file_unmap(&p->source);
	free(p->source_path);
	arena_free(p->arena);
	free(p);
}

/* perf's word for an image. */
static const char *dso_of(struct script_places *p, const struct image *image)
{
	char name[64];

	switch (image->kind) {
	case IMAGE_UNKNOWN:
		return "[unknown]";
	case IMAGE_KERNEL:
		return "[kernel.kallsyms]";
	case IMAGE_MODULE: /* another kernel's has its release in its name: "[usbnet 3.8.11]" */
		snprintf(name, sizeof(name), "%.*s]", (int)strcspn(image->path, " ]"), image->path);
		return arena_strndup(p->arena, name, strlen(name));
	case IMAGE_JIT:
		if (image->path[0] == '/') /* a jitdump */
			return arena_strndup(p->arena, image->path, strlen(image->path));
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", image->pid);
		return arena_strndup(p->arena, name, strlen(name));
	default:
		return arena_strndup(p->arena, image->path, strlen(image->path));
	}
}

static void take_given(void *visitor, const struct given_symbol *symbol)
{
	struct script_places *p = visitor;
	struct given_symbol kept = *symbol;

	kept.name = arena_strndup(p->arena, symbol->name, strlen(symbol->name));
	vec_push(&p->given, kept);
}

static struct known_image *script_places_look_at_image(struct script_places *p, image_id id)
{
	const struct image *image;
	struct known_image *known;

	while (p->images.n <= id.n)
		vec_add(&p->images);
	known = &p->images.data[id.n];
	if (known->table)
		return known;
	image = p->config.image(p->config.context, id);
	p->given.n = 0;
	if (p->config.names)
		p->config.names(p->config.context, id, take_given, p);
	known->table = symbolizer_table(p->config.symbolizer, image, p->given.data, p->given.n);
	known->dso = dso_of(p, image);
	known->kind = image->kind;
	known->names = xcalloc(symbol_count(known->table) + 1, sizeof(*known->names));
	return known;
}

/* The name as in perf: without parameters. NULL: only the symbols around the code are known. */
static const char *script_places_name_of(struct script_places *p, struct known_image *image,
					 uint32_t index)
{
	const char **slot = &image->names[index];
	struct symbol symbol;

	if (*slot)
		return *slot;
	symbol = symbol_get(image->table, index);
	if (symbol.name_end || !*symbol.name)
		*slot = p->config.with_brackets
				? symbol_name(p->config.symbolizer, image->table, index)
				: "";
	else if (symbol_short_name(p->config.symbolizer, image->table, index, &p->text))
		*slot = arena_strndup(p->arena, (const char *)p->text.data, p->text.len);
	else
		*slot = symbol.name;
	return *slot;
}

bool script_place_is_go(struct script_places *p, struct code_addr code)
{
	const struct known_image *image = script_places_look_at_image(p, code.image);
	uint32_t index = symbol_find(image->table, code.offset);

	return index != NO_SYMBOL && symbol_is_go(image->table, index);
}

static struct script_place script_places_look_up(struct script_places *p, struct code_addr code)
{
	struct known_image *image = script_places_look_at_image(p, code.image);
	uint32_t index = symbol_find(image->table, code.offset);
	struct script_place place = { .dso = image->dso, .kind = image->kind };

	if (index == NO_SYMBOL)
		return place;
	place.symbol = script_places_name_of(p, image, index);
	if (!*place.symbol)
		place.symbol = NULL;
	else {
		struct symbol symbol = symbol_get(image->table, index);

		place.symbol_off = code.offset - symbol.offset;
		place.symbol_size = symbol.size;
	}
	return place;
}

void script_place_keep(struct script_places *p, const struct script_place *place, uint32_t key,
		       const void *text, size_t len)
{
	struct script_place *kept;

	assert(key);
	if (place == &p->other)
		return;
	assert(place >= p->kept.data && place < p->kept.data + p->kept.n);
	kept = &p->kept.data[place - p->kept.data];
	kept->text = arena_strndup(p->arena, text, len);
	kept->text_len = (uint32_t)len;
	kept->text_key = key;
}

const struct script_place *script_place(struct script_places *p, struct code_addr code)
{
	uint64_t key = (uint64_t)code.image.n << OFFSET_BITS | code.offset;
	uint32_t *slot;
	bool is_new;

	if (code.offset >> OFFSET_BITS || code.image.n >> (64 - OFFSET_BITS) ||
	    p->kept.n >= MAX_KEPT) {
		p->other = script_places_look_up(p, code);
		return &p->other;
	}
	slot = intmap_put(&p->by_code, key, &is_new);
	if (is_new) {
		*slot = (uint32_t)p->kept.n;
		vec_push(&p->kept, script_places_look_up(p, code));
	}
	return &p->kept.data[*slot];
}

bool script_place_line(struct script_places *p, struct code_addr code, const char **file,
		       uint32_t *line)
{
	struct line_frame
		frames[2]; /* the innermost comes first, the outermost has the last place */

	if (!lines_find(p->config.symbolizer, script_places_look_at_image(p, code.image)->table,
			code.offset, frames, ARRAY_SIZE(frames)) ||
	    !*frames[0].file || !frames[0].line)
		return false;
	*file = frames[0].file;
	*line = frames[0].line;
	return true;
}

void script_place_inlined(struct script_places *p, struct code_addr code,
			  void (*take)(void *context, const char *function), void *context)
{
	const struct symbol_table *table = script_places_look_at_image(p, code.image)->table;
	struct line_frame frames[LINES_MAX_FRAMES];
	size_t n = lines_find(p->config.symbolizer, table, code.offset, frames, LINES_MAX_FRAMES);

	for (size_t i = 0; i < n && frames[i].is_inline; i++)
		take(context, *frames[i].function
				      ? lines_name(p->config.symbolizer, table, &frames[i])
				      : "[unknown]");
}

size_t script_place_code(struct script_places *p, struct code_addr code, uint8_t *out, size_t size,
			 unsigned int *width)
{
	const struct symbol_table *table = script_places_look_at_image(p, code.image)->table;
	struct code_bytes bytes;

	if (!p->code)
		p->code = code_files_new(p->config.symbolizer, 0);
	if (code_files_get(p->code, table, code.offset, size, &bytes, NULL) < 0)
		return 0;
	*width = bytes.is_64 ? 64 : 32;
	memcpy(out, bytes.bytes, MIN(size, bytes.size));
	return MIN(size, bytes.size);
}

#define SOURCE_MAX_BYTES ((uint64_t)64 << 20)

/* A file that a binary names is shown only if it is the owner's of that binary. */
static void open_source(struct script_places *p, struct code_addr code, const char *file)
{
	const struct image *image = p->config.image(p->config.context, code.image);
	struct guard_rules rules = { .max_bytes = SOURCE_MAX_BYTES };

	if (p->source_path && !strcmp(p->source_path, file))
		return;
	file_unmap(&p->source);
	p->source = (struct file_mapping){ 0 };
	free(p->source_path);
	p->source_path = xstrdup(file);
	if (image->kind == IMAGE_FILE &&
	    !symbolizer_image_owner(p->config.symbolizer, image, &rules.owner))
		return;
	guard_map(GUARD_HERE, file, &rules, &p->source, NULL);
}

const char *script_place_source(struct script_places *p, struct code_addr code, const char *file,
				uint32_t line, size_t *len)
{
	const char *at, *end;

	open_source(p, code, file);
	at = (const char *)p->source.base;
	end = at + p->source.size;
	for (uint32_t i = 1; at && i < line; i++) {
		at = memchr(at, '\n', (size_t)(end - at));
		at = at ? at + 1 : NULL;
	}
	if (!at || at == end)
		return NULL;
	*len = (size_t)(end - at);
	if (memchr(at, '\n', *len))
		*len = (size_t)((const char *)memchr(at, '\n', *len) - at);
	return at;
}
