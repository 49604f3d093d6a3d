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
		uint64_t next = type == UINT16_MAX ? v8_moved(v, string) : string;

		if (type >= v->layout.type_nonstring && next == string)
			return false;
		if (next == string)
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

/* Strings of a cons string that are still to be read, and those that are read in all. */
#define CONS_DEPTH 16
#define CONS_PARTS 48

/* The two parts of a cons string. */
static bool read_cons(const struct v8 *v, uint64_t string, uint64_t *first, uint64_t *second)
{
	uint16_t type = v8_is_pointer(string) ? v8_type(v, string) : UINT16_MAX;

	return type < v->layout.type_nonstring && (type & STRING_KIND_MASK) == STRING_CONS &&
	       v8_field(v, string, STRING_DATA, first) &&
	       v8_field(v, string, STRING_SECOND, second);
}

/* Each character gets two bytes. Characters that have no room are cut. */
static void widen(struct lang_text *text)
{
	uint32_t n = MIN(text->size, (uint32_t)LANG_TEXT_MAX / 2);

	for (uint32_t i = n; i-- > 0;) {
		text->bytes[2 * i] = text->bytes[i];
		text->bytes[2 * i + 1] = 0;
	}
	text->state = TEXT_UTF16;
	text->size = 2 * n;
}

/* False: the part can't be read. */
static bool add_part(const struct v8 *v, const struct v8_string *part, struct lang_text *out)
{
	uint64_t size = MIN((uint64_t)part->n << part->is_wide, (uint64_t)LANG_TEXT_MAX);
	struct lang_text added = { .state = part->is_wide ? TEXT_UTF16 : TEXT_LATIN1,
				   .size = (uint32_t)size };

	if (!size)
		return true;
	if (!lang_read(&v->memory, part->at, added.bytes, size))
		return false;
	if (added.state != out->state)
		widen(part->is_wide ? out : &added);
	size = MIN(added.size, LANG_TEXT_MAX - out->size);
	memcpy(out->bytes + out->size, added.bytes, size);
	out->size += (uint32_t)size;
	return true;
}

/* A string in parts, such as the name that V8 infers for `Module.load = function () {}`. */
static bool read_parts_of_text(const struct v8 *v, uint64_t string, struct lang_text *out)
{
	uint64_t strings[CONS_DEPTH] = { string };
	struct v8_string flat;
	int n = 1;

	out->state = TEXT_LATIN1;
	for (int i = 0; n && i < CONS_PARTS && out->size < LANG_TEXT_MAX; i++) {
		string = strings[--n];
		if (v8_flat_string(v, string, &flat)) {
			if (!add_part(v, &flat, out))
				return false;
		} else if (n + 2 > CONS_DEPTH ||
			   !read_cons(v, string, &strings[n + 1], &strings[n])) {
			return false;
		} else {
			n += 2;
		}
	}
	return !n || out->size == LANG_TEXT_MAX;
}

static bool read_text(const struct v8 *v, uint64_t string, struct lang_text *out)
{
	struct v8_string flat;
	uint64_t size;

	*out = (struct lang_text){ .state = LANG_TEXT_BYTES };
	if (!v8_flat_string(v, string, &flat)) {
		if (v8_is_pointer(string) && read_parts_of_text(v, string, out))
			return true;
		*out = (struct lang_text){ .state = LANG_TEXT_BYTES };
		return false;
	}
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
#define EVAL_FILE "(eval)"
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

/* False: it is a string that can't be read, or an object that can't. Another object is no name. */
static bool read_name(const struct v8 *v, uint64_t name, struct lang_text *out)
{
	uint16_t type;

	if (read_text(v, name, out) || !v8_is_pointer(name))
		return true;
	type = v8_type(v, name);
	return type >= v->layout.type_nonstring && type != UINT16_MAX;
}

/* False: a name can't be read, so the function has none. */
static bool read_names(const struct v8 *v, const struct v8_function *f, const struct scope *scope,
		       struct lang_code *code)
{
	if (!read_name(v, scope ? scope->name : f->name, &code->name))
		return false;
	if (!code->name.size && scope && !read_name(v, scope->inferred, &code->name))
		return false;
	if (!code->name.size)
		set_text(&code->name, ANONYMOUS);
	code->scope = (struct lang_text){ .state = LANG_TEXT_BYTES };
	code->file = (struct lang_text){ .state = LANG_TEXT_BYTES };
	return true;
}

/*
 * Code of eval() and of new Function() is a script without a name, or with that of its sourceURL. A
 * name that can't be read is no file.
 */
static void read_file(const struct v8 *v, uint64_t script, struct lang_text *out)
{
	uint64_t name;

	if (!v8_field(v, script, v->layout.script_name, &name) || !read_name(v, name, out))
		return;
	cut_url(out);
	if (!out->size)
		set_text(out, EVAL_FILE);
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

	if (!read_parts(v, shared, out))
		return false;
	has_scope = v8_type(v, out->name) == v->layout.type_scope;
	if (has_scope && !read_scope(v, out->name, &scope))
		return false;
	code->language = LANGUAGE_JAVASCRIPT;
	code->version = v->version;
	code->pointer = shared;
	code->first_line = code->n_lines = code->lines_size = 0;
	if (!read_names(v, out, has_scope ? &scope : NULL, code))
		return false;
	if (v8_type(v, out->script) == v->layout.type_script) {
		read_file(v, out->script, &code->file);
		if (has_scope && scope.start != UINT32_MAX)
			code->first_line = v8_line_in(v, out->script, scope.start);
		v8_read_table(v, v8_bytecode_of(v, shared), out->script, code);
	}
	code->check = check_of(out, code);
	return true;
}
