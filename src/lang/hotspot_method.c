/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HotSpot's methods: names, files, lines. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/reader.h"
#include "lang/hotspot.h"
#include "lang/hotspot_number.h"
#include "lang/language.h"

/* ---- proofs ---- */

/* Notes what is read. */
struct recording {
	const struct lang_memory *memory;
	struct hotspot_proof *proof;
	bool is_full;
};

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t size)
{
	for (uint64_t word; size;
	     bytes += MIN(size, sizeof(word)), size -= MIN(size, sizeof(word))) {
		word = 0;
		memcpy(&word, bytes, MIN(size, sizeof(word)));
		hash = hash_u64(hash ^ word);
	}
	return hash;
}

static void note(struct recording *r, uint64_t addr, const void *bytes, size_t size)
{
	struct hotspot_proof *p = r->proof;

	if (p->n == HOTSPOT_PROOF_MAX || p->size + size > HOTSPOT_PROOF_BYTES_MAX) {
		r->is_full = true;
		return;
	}
	p->ranges[p->n++] = (struct lang_range){ addr, (uint32_t)size };
	p->size += (uint32_t)size;
	p->hash = hash_bytes(p->hash, bytes, size);
}

static bool read_and_note(void *context, uint64_t addr, void *out, size_t size)
{
	struct recording *r = context;

	if (!lang_read(r->memory, addr, out, size))
		return false;
	note(r, addr, out, size);
	return true;
}

bool hotspot_is_proof(const struct hotspot_proof *proof, const uint8_t *bytes)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < proof->n; bytes += proof->ranges[i++].size)
		hash = hash_bytes(hash, bytes, proof->ranges[i].size);
	return proof->n && hash == proof->hash;
}

/* ---- symbols ---- */

/* The text of a symbol, cut at the room for it. */
static bool read_symbol(const struct hotspot *h, uint64_t symbol, struct lang_text *out)
{
	uint16_t length;

	out->state = LANG_TEXT_BYTES;
	if (!lang_read(&h->memory, symbol + h->fields[SYMBOL_LENGTH], &length, sizeof(length)))
		return false;
	out->size = MIN((uint32_t)length, (uint32_t)LANG_TEXT_MAX);
	return !out->size ||
	       lang_read(&h->memory, symbol + h->fields[SYMBOL_BODY], out->bytes, out->size);
}

/* The symbol of an entry of a constant pool. */
static bool read_entry(const struct hotspot *h, uint64_t pool, uint32_t index,
		       struct lang_text *out)
{
	uint32_t length;
	uint64_t symbol;

	return lang_read(&h->memory, pool + h->fields[POOL_LENGTH], &length, sizeof(length)) &&
	       index > 0 && index < length &&
	       lang_read_word(&h->memory, pool + h->fields[POOL_SIZE] + (uint64_t)index * 8,
			      &symbol) &&
	       read_symbol(h, symbol & ~(uint64_t)1, out);
}

/* ---- methods ---- */

#define METHODS_CHUNK 256

/*
 * Whether the method is among those of the class. Nothing else is proof that it is one. Of the
 * list, its own entry alone is noted.
 */
static bool is_listed(const struct hotspot *h, struct recording *r, uint64_t class, uint64_t method)
{
	uint64_t list, chunk[METHODS_CHUNK];
	uint32_t n;

	if (!lang_read_word(&h->memory, class + h->fields[CLASS_METHODS], &list) ||
	    !lang_read(&h->memory, list + h->fields[ARRAY_LENGTH], &n, sizeof(n)) || n > UINT16_MAX)
		return false;
	for (uint32_t i = 0; i < n; i += METHODS_CHUNK) {
		uint32_t size = MIN(n - i, (uint32_t)METHODS_CHUNK);
		uint64_t at = list + h->fields[METHODS_DATA] + (uint64_t)i * 8;

		if (!lang_read(r->memory, at, chunk, size * sizeof(*chunk)))
			return false;
		for (uint32_t k = 0; k < size; k++) {
			if (chunk[k] != method)
				continue;
			note(r, at + (uint64_t)k * 8, &chunk[k], sizeof(chunk[k]));
			return true;
		}
	}
	return false;
}

static bool read_parts(const struct hotspot *h, uint64_t method, struct hotspot_method *out)
{
	return lang_read_word(&h->memory, method + h->fields[METHOD_CONST], &out->constant) &&
	       lang_read_word(&h->memory, out->constant + h->fields[CONST_POOL], &out->pool);
}

/* ---- names ---- */

/* "java/util/HashMap" is java.util.HashMap. Hidden classes end with an address, which is cut. */
static void make_class_name(struct lang_text *text)
{
	uint8_t *plus = memchr(text->bytes, '+', text->size);

	if (plus)
		text->size = (uint32_t)(plus - text->bytes);
	for (uint32_t i = 0; i < text->size; i++)
		if (text->bytes[i] == '/')
			text->bytes[i] = '.';
}

/* The file of a class is in the folder of its package. */
static void add_package(const struct lang_text *class, struct lang_text *file)
{
	const uint8_t *end = memrchr(class->bytes, '/', class->size);
	uint32_t n = end ? (uint32_t)(end + 1 - class->bytes) : 0;
	uint32_t kept = MIN(file->size, (uint32_t)LANG_TEXT_MAX - n);

	memmove(file->bytes + n, file->bytes, kept);
	memcpy(file->bytes, class->bytes, n);
	file->size = n + kept;
}

#define FILE_IN_POOL (15 << 8) /* since this version, the pool has the file's name */

static bool read_names(const struct hotspot *h, const struct hotspot_method *m, uint64_t class,
		       struct lang_code *code)
{
	bool is_in_class = h->version < FILE_IN_POOL;
	uint64_t file_at =
		is_in_class ? class + h->fields[CLASS_FILE] : m->pool + h->fields[POOL_FILE];
	uint16_t name, file;
	uint64_t symbol;

	code->file = (struct lang_text){ .state = LANG_TEXT_BYTES };
	if (!lang_read(&h->memory, m->constant + h->fields[CONST_NAME], &name, sizeof(name)) ||
	    !read_entry(h, m->pool, name, &code->name) || !code->name.size ||
	    !lang_read_word(&h->memory, class + h->fields[CLASS_NAME], &symbol) ||
	    !read_symbol(h, symbol, &code->scope) || !code->scope.size ||
	    !lang_read(&h->memory, file_at, &file, sizeof(file)))
		return false;
	if (file && (!read_entry(h, m->pool, file, &code->file)))
		return false;
	if (code->file.size)
		add_package(&code->scope, &code->file);
	make_class_name(&code->scope);
	return true;
}

/* ---- lines ---- */

#define HAS_LINES 1 /* ConstMethod's flags */

/* The table has no length: it ends by a zero. What can be read is taken, in pieces. */
static void read_lines(const struct hotspot *h, const struct hotspot_method *m,
		       struct lang_code *code)
{
	uint64_t at = m->code + m->code_size;
	uint32_t flags = 0;

	code->n_lines = code->lines_size = 0;
	if (!lang_read(&h->memory, m->constant + h->fields[CONST_FLAGS], &flags,
		       sizeof(uint16_t)) ||
	    !(flags & HAS_LINES))
		return;
	while (code->n_lines < LANG_LINES_MAX) {
		uint32_t size = MIN((uint32_t)(256 - (at & 255)), LANG_LINES_MAX - code->n_lines);

		if (!lang_read(&h->memory, at, code->lines + code->n_lines, size))
			break;
		code->n_lines += size;
		at += size;
		if (java_table_size(code) < code->n_lines)
			break;
	}
	code->n_lines = code->lines_size = java_table_size(code);
}

static uint64_t hash_of(uint64_t hash, const struct lang_text *text)
{
	for (uint32_t i = 0; i < text->size; i++)
		hash = hash_u64(hash ^ text->bytes[i]);
	return hash;
}

/* Its class, if the method belongs to it. */
static bool find_class(const struct hotspot *h, struct recording *r, uint64_t method,
		       struct hotspot_method *out, uint64_t *class)
{
	uint64_t pool;
	uint16_t size;

	if (!read_parts(h, method, out) ||
	    !lang_read_word(&h->memory, out->pool + h->fields[POOL_CLASS], class) ||
	    !lang_read_word(&h->memory, *class + h->fields[CLASS_POOL], &pool) ||
	    pool != out->pool || !is_listed(h, r, *class, method) ||
	    !lang_read(&h->memory, out->constant + h->fields[CONST_CODE_SIZE], &size, sizeof(size)))
		return false;
	out->code_size = size;
	out->code = out->constant + h->fields[CONST_SIZE];
	return true;
}

/* All but the lines. */
static bool identify(const struct hotspot *h, uint64_t method, struct hotspot_method *out,
		     struct lang_code *code)
{
	struct recording r = { .memory = &h->memory, .proof = &out->proof };
	struct hotspot noted = *h;
	uint64_t class;

	noted.memory = (struct lang_memory){ read_and_note, &r, NULL };
	out->proof.n = out->proof.size = 0;
	out->proof.hash = 0;
	if (!find_class(&noted, &r, method, out, &class) || !read_names(&noted, out, class, code))
		return false;
	if (r.is_full)
		out->proof.n = 0;
	out->check = (uint32_t)(hash_of(hash_of(hash_u64(out->constant) ^ out->pool, &code->name),
					&code->scope) &
				INT32_MAX);
	return true;
}

bool hotspot_read_method(const struct hotspot *h, uint64_t method, struct hotspot_method *out,
			 struct lang_code *code)
{
	code->language = LANGUAGE_JAVA;
	code->version = h->version;
	code->pointer = method;
	code->first_line = 0;
	if (!identify(h, method, out, code))
		return false;
	code->check = out->check;
	read_lines(h, out, code);
	code->first_line = java_line(code, 0);
	return true;
}

bool hotspot_is_method(const struct hotspot *h, uint64_t method, const struct hotspot_method *known)
{
	static _Thread_local struct lang_code code;
	const struct hotspot_proof *proof = &known->proof;
	uint8_t bytes[HOTSPOT_PROOF_BYTES_MAX];
	struct hotspot_method now;

	if (proof->n && lang_read_many(&h->memory, proof->ranges, proof->n, bytes) == proof->n &&
	    hotspot_is_proof(proof, bytes))
		return true;
	return identify(h, method, &now, &code) && now.check == known->check &&
	       now.code_size == known->code_size;
}

/* ---- words that show that a method is the same ---- */

struct word_reading {
	const struct hotspot *hotspot;
	struct known_word *next;
	bool has_failed;
};

static uint64_t read_known_word(struct word_reading *r, uint64_t at, uint64_t bytes)
{
	uint64_t word = 0;

	r->has_failed |= !lang_read_word(&r->hotspot->memory, at, &word);
	*r->next++ = known_word(at, bytes, word);
	return word;
}

/* The number of its users changes; its length, its random number and its first bytes do not. */
static void read_symbol_word(struct word_reading *r, uint64_t symbol)
{
	uint64_t count_at = r->hotspot->fields[SYMBOL_COUNT];

	r->has_failed |= count_at > sizeof(uint64_t) - sizeof(uint16_t);
	if (!r->has_failed)
		read_known_word(r, symbol, KNOWN_ALL & ~(3u << count_at));
}

bool hotspot_method_words(const struct hotspot *h, uint64_t method,
			  const struct hotspot_method *known,
			  struct known_word out[HOTSPOT_WORDS_MAX])
{
	const uint64_t *f = h->fields;
	uint64_t name_at = (f[CONST_NAME] - f[CONST_CODE_SIZE]) * 8; /* bits of their word */
	struct word_reading r = { h, out, name_at > 64 - 16 };
	uint64_t constant, pool, class, numbers, name;
	uint8_t bytes[HOTSPOT_PROOF_BYTES_MAX];

	if (r.has_failed)
		return false;
	constant = read_known_word(&r, method + f[METHOD_CONST], KNOWN_ALL);
	pool = read_known_word(&r, constant + f[CONST_POOL], KNOWN_ALL);
	numbers = read_known_word(&r, constant + f[CONST_CODE_SIZE], KNOWN_ALL);
	class = read_known_word(&r, pool + f[POOL_CLASS], KNOWN_ALL);
	read_symbol_word(&r, read_known_word(&r, class + f[CLASS_NAME], KNOWN_ALL));
	name = pool + f[POOL_SIZE] + (numbers >> name_at & UINT16_MAX) * 8;
	read_symbol_word(&r, read_known_word(&r, name, KNOWN_ALL) & ~(uint64_t)1);
	assert(r.has_failed || r.next == out + HOTSPOT_WORDS_MAX);
	/* The names were read before these words. */
	return !r.has_failed && constant == known->constant && pool == known->pool &&
	       lang_read_many(&h->memory, known->proof.ranges, known->proof.n, bytes) ==
		       known->proof.n &&
	       hotspot_is_proof(&known->proof, bytes);
}

uint32_t hotspot_bci(const struct hotspot_method *method, uint64_t bcp)
{
	uint64_t bci = bcp - method->code;

	return bci < method->code_size ? (uint32_t)bci : UINT32_MAX;
}
