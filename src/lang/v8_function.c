/* SPDX-License-Identifier: GPL-2.0-or-later */
/* V8's functions: strings, names, files, first lines. */
#include <stddef.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "lang/language.h"
#include "lang/v8.h"

/* ---- strings ---- */

/* The low bits of a string's type (objects/instance-type.h). */
enum { STRING_SEQUENTIAL, STRING_CONS, STRING_EXTERNAL, STRING_SLICED, STRING_THIN = 5 };
#define STRING_KIND_MASK 7
#define STRING_ONE_BYTE  8

/* In its object. */
#define STRING_LENGTH 12 /* 4 bytes */
#define STRING_DATA   16 /* characters; another string: cons, sliced, thin */
#define STRING_SECOND 24 /* cons: the other part; sliced: where it begins; external: characters */

#define STRING_HOPS 8

static bool read_length(const struct v8 *v, uint64_t string, uint32_t *out)
{
	return lang_read(&v->memory, string - 1 + STRING_LENGTH, out, sizeof(*out));
}

/* The string that a string stands for, and how far it begins in that one. 0: none, for this one. */
static uint64_t string_behind(const struct v8 *v, uint64_t string, uint32_t kind, uint64_t *start)
{
	uint64_t next, second;
	uint32_t n;

	if (kind == STRING_SEQUENTIAL || kind == STRING_EXTERNAL ||
	    !v8_field(v, string, STRING_DATA, &next) || !v8_is_pointer(next))
		return 0;
	if (kind == STRING_THIN)
		return next;
	if (!v8_field(v, string, STRING_SECOND, &second))
		return 0;
	if (kind == STRING_SLICED) {
		*start += second >> V8_SMI_SHIFT;
		return next;
	}
	/* a cons string that was read once has all in its first part */
	if (kind != STRING_CONS || !v8_is_pointer(second) || !read_length(v, second, &n) || n)
		return 0;
	return next;
}

bool v8_flat_string(const struct v8 *v, uint64_t string, struct v8_string *out)
{
	uint64_t start = 0, at;

	if (!v8_is_pointer(string) || !read_length(v, string, &out->n))
		return false;
	for (int hops = 0; hops < STRING_HOPS; hops++) {
		uint16_t type = v8_type(v, string);
		uint32_t kind = type & STRING_KIND_MASK;
		uint64_t next;

		if (type >= v->layout.type_nonstring)
			return false;
		next = string_behind(v, string, kind, &start);
		if (next) {
			string = next;
			continue;
		}
		out->is_wide = !(type & STRING_ONE_BYTE);
		if (kind == STRING_SEQUENTIAL)
			at = string - 1 + STRING_DATA;
		else if (kind != STRING_EXTERNAL || !v8_field(v, string, STRING_SECOND, &at))
			return false;
		out->at = at + (start << out->is_wide);
		return true;
	}
	return false;
}

/* States of lang_text: the size of a character (lang/runtime.h). */
#define TEXT_LATIN1 (1u << 2)
#define TEXT_UTF16  (2u << 2)

static bool read_text(const struct v8 *v, uint64_t string, struct lang_text *out)
{
	struct v8_string flat;
	uint64_t size;

	*out = (struct lang_text){ .state = LANG_TEXT_BYTES };
	if (!v8_flat_string(v, string, &flat))
		return false;
	size = MIN((uint64_t)flat.n << flat.is_wide, (uint64_t)LANG_TEXT_MAX);
	out->state = flat.is_wide ? TEXT_UTF16 : TEXT_LATIN1;
	out->size = (uint32_t)size;
	if (!size || lang_read(&v->memory, flat.at, out->bytes, size))
		return true;
	out->size = 0;
	return false;
}

static void set_text(struct lang_text *text, const char *bytes)
{
	text->state = LANG_TEXT_BYTES;
	text->size = (uint32_t)strlen(bytes);
	memcpy(text->bytes, bytes, text->size);
}

/* ---- scopes ---- */

/* Flags of a ScopeInfo (objects/scope-info.tq). */
#define SCOPE_KIND      15 /* the lowest bits */
#define SCOPE_RECEIVER  7  /* two bits from here: where the receiver is; 0, 3: nowhere */
#define SCOPE_HAS_CLASS (1u << 10)
/* behind v8_forms.scope_names */
#define SCOPE_HAS_NAME     3u
#define SCOPE_HAS_INFERRED 4u

#define SCOPE_MODULE 5 /* its kind; its scope has a count more, if positions are before names */

#define SCOPE_VARIABLES  16 /* behind its flags; its words are small integers */
#define VARIABLES_INLINE 75 /* so many and more have their names in a table */
#define VARIABLES_MAX    (1u << 16)

struct scope {
	uint64_t name, inferred; /* tagged strings, or something else */
	uint32_t start;          /* position in the source; UINT32_MAX: not known */
};

/* The words of a scope before its names, for its variables. */
static uint64_t words_of_variables(const struct v8_forms *forms, uint32_t flags, uint64_t n)
{
	uint32_t receiver = flags >> SCOPE_RECEIVER & 3;

	n = !forms->has_table || n < VARIABLES_INLINE ? 2 * n : n + 1;
	n += forms->has_class && (flags & SCOPE_HAS_CLASS);
	n += forms->has_receiver && (receiver == 1 || receiver == 2);
	return n + (forms->scope_positions && (flags & SCOPE_KIND) == SCOPE_MODULE);
}

/* Two words: where a function begins and ends in the source. */
static uint32_t start_of(const uint64_t words[2])
{
	return !(uint32_t)words[0] && words[0] <= words[1] ? (uint32_t)(words[0] >> V8_SMI_SHIFT)
							   : UINT32_MAX;
}

static bool read_scope(const struct v8 *v, uint64_t info, struct scope *out)
{
	const struct v8_forms *forms = v->forms;
	uint64_t word, n, words[5] = { 0 };
	uint32_t at = 0, off, flags, names;

	*out = (struct scope){ .start = UINT32_MAX };
	if (!v8_field(v, info, forms->scope_flags, &word) ||
	    !v8_field(v, info, forms->scope_flags + SCOPE_VARIABLES, &n))
		return false;
	flags = (uint32_t)(forms->are_flags_small ? word >> V8_SMI_SHIFT : word);
	names = flags >> forms->scope_names;
	n >>= V8_SMI_SHIFT;
	if (n > VARIABLES_MAX)
		return false;
	off = (v->layout.scope_first + (uint32_t)words_of_variables(forms, flags, n)) * 8;
	if (!lang_read(&v->memory, info - 1 + off, words, sizeof(words)))
		return false;
	if (names & SCOPE_HAS_NAME) {
		out->name = words[0];
		at = 2;
	}
	if (names & SCOPE_HAS_INFERRED)
		out->inferred = words[at++];
	if (forms->scope_positions &&
	    !lang_read(&v->memory, info - 1 + forms->scope_positions, words + at, 16))
		return false;
	out->start = start_of(words + at);
	return true;
}

/* ---- functions ---- */

#define ANONYMOUS "(anonymous)"
#define FILE_URL  "file://"

/* Modules have URLs. */
static void cut_url(struct lang_text *file)
{
	size_t n = strlen(FILE_URL);

	if (file->state != TEXT_LATIN1 || file->size <= n || memcmp(file->bytes, FILE_URL, n) != 0)
		return;
	file->size -= (uint32_t)n;
	memmove(file->bytes, file->bytes + n, file->size);
}

static bool read_parts(const struct v8 *v, uint64_t shared, struct v8_function *out)
{
	return v8_type(v, shared) == v->layout.type_shared &&
	       v8_field(v, shared, v->layout.shared_name, &out->name) &&
	       v8_field(v, shared, v->layout.shared_script, &out->script);
}

bool v8_is_function(const struct v8 *v, uint64_t shared, const struct v8_function *known)
{
	struct v8_function now;

	return read_parts(v, shared, &now) && now.name == known->name &&
	       now.script == known->script;
}

static void read_names(const struct v8 *v, const struct v8_function *f, const struct scope *scope,
		       struct lang_code *code)
{
	uint64_t name = scope ? scope->name : f->name;

	read_text(v, name, &code->name);
	if (!code->name.size && scope && v8_is_pointer(scope->inferred))
		read_text(v, scope->inferred, &code->name);
	if (!code->name.size)
		set_text(&code->name, ANONYMOUS);
	code->scope = (struct lang_text){ .state = LANG_TEXT_BYTES };
	code->file = (struct lang_text){ .state = LANG_TEXT_BYTES };
}

static uint32_t check_of(const struct v8_function *f, const struct lang_code *code)
{
	uint64_t hash = hash_u64(f->name) ^ f->script;

	for (uint32_t i = 0; i < code->name.size; i++)
		hash = hash_u64(hash ^ code->name.bytes[i]);
	return (uint32_t)(hash_u64(hash ^ code->first_line) & INT32_MAX);
}

bool v8_read_function(struct v8 *v, uint64_t shared, struct v8_function *out,
		      struct lang_code *code)
{
	struct scope scope;
	bool has_scope;
	uint64_t name;

	if (!read_parts(v, shared, out))
		return false;
	has_scope = v8_type(v, out->name) == v->layout.type_scope;
	if (has_scope && !read_scope(v, out->name, &scope))
		return false;
	code->language = LANGUAGE_JAVASCRIPT;
	code->version = v->version;
	code->pointer = shared;
	code->first_line = code->n_lines = code->lines_size = 0;
	read_names(v, out, has_scope ? &scope : NULL, code);
	if (v8_type(v, out->script) == v->layout.type_script) {
		if (v8_field(v, out->script, v->layout.script_name, &name))
			read_text(v, name, &code->file);
		cut_url(&code->file);
		if (has_scope && scope.start != UINT32_MAX)
			code->first_line = v8_line_in(v, out->script, scope.start);
		v8_read_table(v, v8_bytecode_of(v, shared), out->script, code);
	}
	code->check = check_of(out, code);
	return true;
}
