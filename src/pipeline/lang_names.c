/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/lang_names.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strings.h"
#include "lang/code.h"
#include "lang/language.h"
#include "lang/place.h"
#include "machine/machine.h"
#include "pipeline/pipeline.h"

_Static_assert(LANG_LINES_OFF + (uint64_t)LANG_LINE_LIMIT * LANG_LINE_SIZE + 1 < LANG_SLOT_SIZE,
	       "every line has a different place");

struct known_code {
	int32_t pid;
	image_id image;
	uint64_t slot; /* offset of the function */
	string_id name;
	struct lang_code *code; /* without the rest of its line table */
};

struct lang_names {
	struct pipeline *pipeline;
	struct machine *machine;
	VEC(struct known_code) codes;
	struct intmap by_code; /* hash of (pid, pointer, check) to code */
	struct intmap lines;   /* code << 32 | position to line */
	struct strings names;
	struct intmap stored; /* places that this session has */
	uint32_t session;
	size_t n_bytes;
	struct buf text;
};

struct lang_names *lang_names_new(struct pipeline *pipeline, struct machine *machine)
{
	struct lang_names *n = xcalloc(1, sizeof(*n));

	n->pipeline = pipeline;
	n->machine = machine;
	strings_init(&n->names);
	return n;
}

void lang_names_forget(struct lang_names *n)
{
	vec_foreach (&n->codes, c)
		free(c->code);
	n->codes.n = 0;
	n->n_bytes = 0;
	intmap_fini(&n->by_code);
	intmap_fini(&n->lines);
	strings_fini(&n->names);
	strings_init(&n->names);
}

void lang_names_free(struct lang_names *n)
{
	if (!n)
		return;
	lang_names_forget(n);
	vec_fini(&n->codes);
	strings_fini(&n->names);
	intmap_fini(&n->stored);
	buf_fini(&n->text);
	free(n);
}

bool lang_names_is_full(const struct lang_names *n)
{
	return n->codes.n >= LANG_NAMES_MAX || n->lines.n >= LANG_POSITIONS_MAX ||
	       n->n_bytes >= LANG_NAMES_BYTES_MAX;
}

static bool is_code_of(const struct known_code *c, const struct lang_frame *f)
{
	return c->pid == f->pid && c->code->pointer == f->pointer && c->code->check == f->check;
}

/* Codes of one hash take neighbouring keys. *key: the key of the code, or a free one. */
static struct known_code *find_code(const struct lang_names *n, const struct lang_frame *f,
				    uint64_t *key)
{
	uint32_t *at;

	*key = hash_secret_u64(f->pointer ^
			       hash_secret_u64((uint64_t)(uint32_t)f->pid << 32 | f->check));
	for (; (at = intmap_find(&n->by_code, *key)); ++*key)
		if (is_code_of(&n->codes.data[*at], f))
			return &n->codes.data[*at];
	return NULL;
}

/* A function of the runtime itself has no file. */
static const char *file_of(struct lang_names *n, const struct lang_code *code)
{
	n->text.len = 0;
	lang_append_file(code, &n->text);
	if (!n->text.len)
		buf_printf(&n->text, "[%s]", language_key(code->language));
	return buf_cstr(&n->text);
}

static const char *name_of(struct lang_names *n, const struct lang_code *code)
{
	n->text.len = 0;
	lang_append_name(code, &n->text);
	return n->text.len ? buf_cstr(&n->text) : "[no name]";
}

static struct lang_code *copy_code(const struct lang_code *code)
{
	size_t size =
		offsetof(struct lang_code, lines) + MIN(code->n_lines, (uint32_t)LANG_LINES_MAX);
	struct lang_code *copy = xmalloc(size);

	memcpy(copy, code, size);
	return copy;
}

void lang_names_learn(struct lang_names *n, int32_t pid, const struct lang_code *code)
{
	const struct lang_frame frame = { .pid = pid,
					  .pointer = code->pointer,
					  .check = code->check };
	struct image image = { .kind = IMAGE_LANGUAGE, .language = (int32_t)code->language };
	struct known_code new = { .pid = pid };
	const char *name;
	uint64_t key;

	if (find_code(n, &frame, &key))
		return;
	image.path = file_of(n, code);
	new.image = image_intern(machine_images(n->machine), &image);
	name = name_of(n, code);
	new.name = strings_add(&n->names, name);
	new.slot = lang_slot(name);
	new.code = copy_code(code);
	n->n_bytes += sizeof(*code) - LANG_LINES_MAX + new.code->n_lines;
	*intmap_put(&n->by_code, key, NULL) = (uint32_t)n->codes.n;
	vec_push(&n->codes, new);
}

static uint32_t line_of(struct lang_names *n, const struct known_code *c, uint32_t position)
{
	uint64_t key = (uint64_t)(c - n->codes.data) << 32 | position;
	bool is_new;
	uint32_t *line = intmap_put(&n->lines, key, &is_new);

	if (is_new)
		*line = lang_line(c->code, position);
	return *line;
}

/* Stores a name or a line, unless the session has it. */
static void store_symbol(struct lang_names *n, const struct code_symbol *symbol)
{
	bool is_new;

	intmap_put(&n->stored, hash_secret_u64(symbol->offset) ^ symbol->image.n, &is_new);
	if (is_new)
		pipeline_name_code(n->pipeline, symbol);
}

bool lang_names_place(struct lang_names *n, const struct lang_frame *frame, struct code_addr *out)
{
	struct code_symbol symbol = { 0 };
	const struct known_code *c;
	uint64_t key;
	uint32_t line;

	c = find_code(n, frame, &key);
	if (!c)
		return false;
	if (n->session != pipeline_session(n->pipeline)) {
		intmap_fini(&n->stored);
		n->session = pipeline_session(n->pipeline);
	}
	symbol = (struct code_symbol){ .image = c->image,
				       .offset = c->slot,
				       .size = LANG_SLOT_SIZE,
				       .name = strings_get(&n->names, c->name) };
	store_symbol(n, &symbol);
	line = line_of(n, c, frame->position);
	*out = (struct code_addr){ c->image, c->slot + 1 };
	if (!line)
		return true;
	symbol.offset += LANG_LINES_OFF + (uint64_t)line * LANG_LINE_SIZE;
	symbol.size = LANG_LINE_SIZE;
	symbol.name = image_get(machine_images(n->machine), c->image)->path;
	symbol.line = line;
	store_symbol(n, &symbol);
	out->offset = symbol.offset + 1;
	return true;
}
