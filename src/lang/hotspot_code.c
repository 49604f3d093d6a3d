/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HotSpot's code cache: from an address to its blob, and to the methods that are inlined there. */
#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/reader.h"
#include "lang/hotspot.h"
#include "lang/hotspot_insn.h"
#include "lang/hotspot_number.h"

/* ---- blobs ---- */

#define SEGMENT_FREE 0xff
#define HOPS_MAX     64

#define HEADER_MAX 512 /* of a blob, as far as it is read */

/* The beginning of a blob in memory: a number in it, or zeros. */
struct blob_header {
	uint8_t bytes[HEADER_MAX];
	size_t size;
};

static uint64_t header_number(const struct blob_header *b, uint64_t at, size_t size)
{
	uint64_t value = 0;

	if (at <= b->size && size <= b->size - at)
		memcpy(&value, b->bytes + at, size);
	return value;
}

static uint64_t header_word(const struct blob_header *b, uint64_t at)
{
	return header_number(b, at, sizeof(uint64_t));
}

static uint32_t header_int(const struct blob_header *b, uint64_t at)
{
	return (uint32_t)header_number(b, at, sizeof(uint32_t));
}

static const struct {
	const char *name;
	enum hotspot_kind kind;
} blob_kinds[] = {
	{ "nmethod", HOTSPOT_COMPILED },        { "native nmethod", HOTSPOT_NATIVE },
	{ "Interpreter", HOTSPOT_INTERPRETER }, { "I2C/C2I adapters", HOTSPOT_FRAMELESS },
	{ "vtable chunks", HOTSPOT_FRAMELESS }, { "MethodHandles adapters", HOTSPOT_FRAMELESS },
};

static enum hotspot_kind kind_of_blob(const char *name, uint32_t frame_size)
{
	for (size_t i = 0; i < ARRAY_SIZE(blob_kinds); i++)
		if (!strcmp(name, blob_kinds[i].name))
			return blob_kinds[i].kind;
	return frame_size ? HOTSPOT_STUB : HOTSPOT_STUBS;
}

static bool read_blob_name(const struct hotspot *h, uint64_t addr, char out[HOTSPOT_NAME_SIZE])
{
	size_t n = MIN((size_t)HOTSPOT_NAME_SIZE - 1, (size_t)(4096 - (addr & 4095)));

	memset(out, 0, HOTSPOT_NAME_SIZE);
	if (!lang_read(&h->memory, addr, out, n))
		return false;
	if (n < HOTSPOT_NAME_SIZE - 1 && !memchr(out, 0, n))
		lang_read(&h->memory, addr + n, out + n, HOTSPOT_NAME_SIZE - 1 - n);
	return out[0] != '\0';
}

/* Fields that change while a method lives do not count. */
static uint64_t identity_of(const struct hotspot *h, const struct blob_header *b,
			    const struct hotspot_blob *blob)
{
	const uint64_t words[] = {
		header_word(b, 0), /* free blocks have their list here */
		header_word(b, h->fields[BLOB_NAME]),
		blob->start,
		blob->end,
		blob->code,
		blob->frame_size,
		blob->complete,
		blob->method,
		blob->method ? header_int(b, h->fields[NMETHOD_ID]) : 0,
	};
	uint64_t hash = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		hash = hash_u64(hash ^ words[i]) + i;
	return hash;
}

#define DATA_APART    (25 << 8) /* since this version, tables are outside of the blob */
#define POINTERS_FROM (9 << 8)  /* since this version and before DATA_APART, some are pointers */

static void read_tables_apart(const struct hotspot *h, const struct blob_header *b,
			      struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;
	uint64_t fixed = header_word(b, f[NMETHOD_IMMUTABLE]);
	uint64_t changing = header_word(b, f[BLOB_MUTABLE]);

	out->pcs = fixed + header_int(b, f[NMETHOD_PCS_OFF]);
	out->scopes = out->pcs_end = fixed + header_int(b, f[NMETHOD_SCOPES_OFF]);
	out->scopes_end = fixed + header_int(b, f[NMETHOD_IMMUTABLE_SIZE]);
	out->metadata = changing + header_int(b, f[BLOB_RELOCATIONS_SIZE]);
	out->metadata_end = changing + header_int(b, f[BLOB_MUTABLE_SIZE]);
}

static void read_deoptimised(const struct hotspot *h, const struct blob_header *b,
			     struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;

	out->true_pc_at = header_int(b, f[NMETHOD_ORIG_PC]);
	if (h->version >= POINTERS_FROM && h->version < DATA_APART) {
		out->deopt[0] = header_word(b, f[NMETHOD_DEOPT]);
		out->deopt[1] = header_word(b, f[NMETHOD_DEOPT_MH]);
		return;
	}
	out->deopt[0] = out->start + header_int(b, f[NMETHOD_DEOPT_OFF]);
	out->deopt[1] = out->start + header_int(b, f[NMETHOD_DEOPT_MH_OFF]);
}

static void read_tables(const struct hotspot *h, const struct blob_header *b,
			struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;

	out->method = header_word(b, f[NMETHOD_METHOD]);
	read_deoptimised(h, b, out);
	if (h->version >= DATA_APART) {
		read_tables_apart(h, b, out);
		return;
	}
	if (h->version < POINTERS_FROM)
		out->scopes = out->start + header_int(b, f[NMETHOD_SCOPES_OFF]);
	else
		out->scopes = header_word(b, f[NMETHOD_SCOPES]);
	out->scopes_end = out->pcs = out->start + header_int(b, f[NMETHOD_PCS_OFF]);
	out->pcs_end = out->start + header_int(b, f[NMETHOD_PCS_END_OFF]);
	out->metadata = out->start + header_int(b, f[NMETHOD_METADATA_OFF]);
	out->metadata_end = out->end;
}

static bool tables_are_sound(const struct hotspot *h, const struct hotspot_blob *b)
{
	bool are_apart = h->version >= DATA_APART;

	return b->pcs <= b->pcs_end && b->metadata < b->metadata_end &&
	       b->scopes <= b->scopes_end &&
	       (are_apart || (b->pcs_end <= b->end && b->scopes > b->start));
}

/* Where the instructions are. */
static void read_extent(const struct hotspot *h, const struct blob_header *b,
			struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;

	out->complete = header_int(b, f[BLOB_COMPLETE]);
	if (h->version >= POINTERS_FROM && h->version < DATA_APART) {
		out->code = header_word(b, f[BLOB_CODE]);
		out->code_end = header_word(b, f[BLOB_CODE_END]);
		return;
	}
	if (h->version >= DATA_APART)
		out->complete = (uint32_t)(int16_t)out->complete; /* 2 bytes */
	out->code = out->start + header_int(b, f[BLOB_CODE_OFF]);
	out->code_end = out->start + header_int(b, f[BLOB_CODE_END_OFF]);
}

/* The block of a blob is in use, and `length` segments long. */
static bool take_block(const struct hotspot *h, uint64_t start, uint32_t length, uint8_t is_used,
		       struct hotspot_blob *out)
{
	const struct hotspot_heap *heap = hotspot_heap_of(h, start);
	uint64_t block = start - h->fields[BLOCK_SIZE], size;

	if (!heap || is_used != 1)
		return false;
	size = (uint64_t)length << heap->shift;
	*out = (struct hotspot_blob){ .start = start, .end = block + size };
	return size <= heap->end - block && size > h->fields[BLOCK_SIZE];
}

/* Of the bytes of a blob, as far as they have fields. */
static size_t header_size(const struct hotspot *h, uint64_t start, uint64_t end)
{
	uint64_t size = MIN(end - start, (uint64_t)HEADER_MAX), last = 0;

	for (int i = BLOB_NAME; i <= NMETHOD_ORIG_PC; i++)
		last = MAX(last, h->fields[i]);
	return (size_t)MIN(size, last + sizeof(uint64_t));
}

static void keep_word(const struct blob_header *b, uint64_t at, size_t size,
		      struct hotspot_blob *out)
{
	assert(out->n_words < HOTSPOT_WORDS_MAX);
	out->words[out->n_words++] =
		known_word(out->start + at, KNOWN_ALL >> (8 - size), header_number(b, at, size));
}

/* A compilation has a number of its own. Other code has the numbers of its identity. */
static void keep_words(const struct hotspot *h, const struct blob_header *b,
		       struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;
	bool has_pointers = h->version >= POINTERS_FROM && h->version < DATA_APART;
	uint64_t begin_at = f[has_pointers ? BLOB_CODE : BLOB_CODE_OFF];
	uint64_t end_at = f[has_pointers ? BLOB_CODE_END : BLOB_CODE_END_OFF];
	size_t size = has_pointers ? sizeof(uint64_t) : sizeof(uint32_t);

	out->n_words = 0;
	keep_word(b, 0, sizeof(uint64_t), out);
	if (out->method) {
		keep_word(b, f[NMETHOD_ID], sizeof(uint32_t), out);
		return;
	}
	keep_word(b, f[BLOB_NAME], sizeof(uint64_t), out);
	keep_word(b, f[BLOB_FRAME_SIZE], sizeof(uint32_t), out);
	keep_word(b, f[BLOB_COMPLETE], h->version >= DATA_APART ? 2 : sizeof(uint32_t), out);
	keep_word(b, begin_at, size, out);
	keep_word(b, end_at, size, out);
}

/* All but its name, which tells its kind. */
static void take_header(const struct hotspot *h, const struct blob_header *b,
			struct hotspot_blob *out)
{
	out->frame_size = header_int(b, h->fields[BLOB_FRAME_SIZE]);
	read_extent(h, b, out);
	if (out->kind <= HOTSPOT_NATIVE)
		read_tables(h, b, out);
	out->identity = identity_of(h, b, out);
	keep_words(h, b, out);
}

#define BLOCK_MAX 64 /* bytes before a blob; they are 16 */

static_assert(HEADER_MAX + BLOCK_MAX <= HOTSPOT_BLOB_BYTES_MAX,
	      "readers have this room for a blob");

struct lang_range hotspot_blob_range(const struct hotspot *h, const struct hotspot_blob *blob)
{
	uint64_t before = h->fields[BLOCK_SIZE];
	size_t size = (size_t)before + header_size(h, blob->start, blob->end);

	if (before > BLOCK_MAX)
		return (struct lang_range){ 0 };
	return (struct lang_range){ blob->start - before, (uint32_t)size };
}

bool hotspot_is_blob(const struct hotspot *h, const struct hotspot_blob *blob, const uint8_t *bytes)
{
	const uint64_t *f = h->fields;
	struct lang_range range = hotspot_blob_range(h, blob);
	struct blob_header block = { .size = MIN((size_t)range.size, (size_t)f[BLOCK_SIZE]) };
	struct blob_header b = { .size = range.size - block.size };
	struct hotspot_blob now;

	if (!range.size)
		return false;
	memcpy(block.bytes, bytes, block.size);
	memcpy(b.bytes, bytes + block.size, b.size);
	if (!take_block(h, blob->start, header_int(&block, f[BLOCK_LENGTH]),
			(uint8_t)header_number(&block, f[BLOCK_USED], 1), &now))
		return false;
	now.kind = blob->kind; /* its name is part of the identity */
	take_header(h, &b, &now);
	return now.identity == blob->identity;
}

bool hotspot_read_blob(const struct hotspot *h, uint64_t start, struct hotspot_blob *out)
{
	const uint64_t *f = h->fields;
	uint64_t block = start - f[BLOCK_SIZE];
	struct blob_header b;
	uint32_t length;
	uint8_t is_used;

	if (!hotspot_heap_of(h, start) ||
	    !lang_read(&h->memory, block + f[BLOCK_LENGTH], &length, sizeof(length)) ||
	    !lang_read(&h->memory, block + f[BLOCK_USED], &is_used, sizeof(is_used)) ||
	    !take_block(h, start, length, is_used, out))
		return false;
	b.size = header_size(h, start, out->end);
	if (!lang_read(&h->memory, start, b.bytes, b.size) ||
	    !read_blob_name(h, header_word(&b, f[BLOB_NAME]), out->name))
		return false;
	out->kind = kind_of_blob(out->name, header_int(&b, f[BLOB_FRAME_SIZE]));
	take_header(h, &b, out);
	return out->code > start && out->code <= out->code_end && out->code_end <= out->end &&
	       out->frame_size <= (out->end - start) + UINT16_MAX &&
	       (out->kind != HOTSPOT_COMPILED || tables_are_sound(h, out));
}

bool hotspot_find_blob(const struct hotspot *h, uint64_t pc, struct hotspot_blob *out)
{
	const struct hotspot_heap *heap = hotspot_heap_of(h, pc);
	uint64_t i = heap ? (pc - heap->start) >> heap->shift : 0;

	for (int hops = 0; heap && hops < HOPS_MAX; hops++) {
		uint8_t back;

		if (!lang_read(&h->memory, heap->segments + i, &back, 1) || back == SEGMENT_FREE ||
		    back > i)
			return false;
		if (!back)
			return hotspot_read_blob(h,
						 heap->start + (i << heap->shift) +
							 h->fields[BLOCK_SIZE],
						 out) &&
			       pc >= out->code && pc < out->code_end;
		i -= back;
	}
	return false;
}

/* ---- scopes ---- */

struct pc_desc {
	int32_t off;
	uint32_t scope; /* 0: it is no place in the code */
};

#define PC_DESC_MAX  64
#define NO_PLACE_OFF INT32_MAX /* the last descriptor's */

static bool read_desc(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t i,
		      struct pc_desc *out)
{
	uint64_t at = blob->pcs + i * h->fields[PC_SIZE];

	if (!lang_read(&h->memory, at + h->fields[PC_OFFSET], &out->off, sizeof(out->off)) ||
	    !lang_read(&h->memory, at + h->fields[PC_SCOPE], &out->scope, sizeof(out->scope)))
		return false;
	if (out->off < 0 || out->off == NO_PLACE_OFF)
		out->scope = 0;
	return true;
}

/* The first descriptor at or behind an offset, and the one before it. They are in its order. */
static bool find_descs(const struct hotspot *h, const struct hotspot_blob *blob, int32_t off,
		       struct pc_desc *before, struct pc_desc *behind)
{
	uint64_t size = h->fields[PC_SIZE];
	uint64_t first = 0, n;

	if (size < 8 || size > PC_DESC_MAX)
		return false;
	n = (blob->pcs_end - blob->pcs) / size;
	for (uint64_t end = n; first < end;) {
		uint64_t middle = first + (end - first) / 2;

		if (!read_desc(h, blob, middle, behind))
			return false;
		if (behind->off < off)
			first = middle + 1;
		else
			end = middle;
	}
	*before = *behind = (struct pc_desc){ -1, 0 };
	return (!first || read_desc(h, blob, first - 1, before)) &&
	       (first == n || read_desc(h, blob, first, behind));
}

#define SCOPE_BYTES 16 /* sender, method and bci: three numbers */

/* A chain of scopes, the innermost first; 0: it is not sound. Callers come before in the data. */
static uint32_t read_scopes(const struct hotspot *h, const struct hotspot_blob *blob, uint32_t at,
			    struct hotspot_scope out[HOTSPOT_SCOPES_MAX])
{
	uint32_t n = 0;

	while (at) {
		uint8_t bytes[SCOPE_BYTES];
		struct reader r;
		uint32_t sender, method, bci;
		uint64_t left = blob->scopes_end - blob->scopes;

		if (n == HOTSPOT_SCOPES_MAX || at >= left)
			return 0;
		left = MIN(left - at, (uint64_t)SCOPE_BYTES);
		if (!lang_read(&h->memory, blob->scopes + at, bytes, left))
			return 0;
		r = reader_over(bytes, left);
		sender = hotspot_u5(&r, h->version);
		method = hotspot_u5(&r, h->version);
		bci = hotspot_u5(&r, h->version) - 1;
		if (r.bad || !method || sender >= at ||
		    blob->metadata + (uint64_t)method * 8 > blob->metadata_end ||
		    !lang_read_word(&h->memory, blob->metadata + (uint64_t)(method - 1) * 8,
				    &out[n].method))
			return 0;
		out[n++].bci = bci;
		at = sender;
	}
	return n;
}

/* Instructions behind a poll, up to the jump that goes round. */
#define LATCH_INSNS 12
#define LATCH_BYTES (LATCH_INSNS * 8)

/*
 * Whether an address is in a loop whose poll is at an offset of the code. Between the address and
 * the poll is no other place, so the loop is one of the poll's innermost method.
 */
static bool is_in_loop_of(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			  uint64_t poll)
{
	uint64_t at = 0, left = blob->code_end - poll;
	uint8_t bytes[LATCH_BYTES];
	size_t size = MIN(left, (uint64_t)LATCH_BYTES);
	struct pt_insn insn;

	if (poll >= blob->code_end || !lang_read(&h->memory, poll, bytes, size) ||
	    !hotspot_is_poll(h, bytes, size))
		return false;
	for (int i = 0; i < LATCH_INSNS; i++, at += insn.size) {
		if (!hotspot_insn_read(h, bytes + at, size - at, &insn))
			return false;
		if (insn.is_direct && (insn.end == PT_END_COND || insn.end == PT_END_JUMP)) {
			uint64_t target = pt_insn_target(&insn, poll + at);

			if (target >= blob->code && target <= pc)
				return true;
		}
		if (insn.end != PT_END_FALL && insn.end != PT_END_COND)
			return false;
	}
	return false;
}

/* The outer part that two chains have in common, in `b`. Returns its first scope. */
static uint32_t common_part(const struct hotspot_scope *a, uint32_t n_a, struct hotspot_scope *b,
			    uint32_t n_b)
{
	uint32_t k = 0;

	while (k < n_a && k < n_b && a[n_a - 1 - k].method == b[n_b - 1 - k].method) {
		bool is_same = a[n_a - 1 - k].bci == b[n_b - 1 - k].bci;

		k++;
		if (!is_same)
			break;
	}
	return n_b - k;
}

uint32_t hotspot_scopes(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			struct hotspot_scope out[HOTSPOT_SCOPES_MAX], enum hotspot_nearness *near)
{
	struct hotspot_scope other[HOTSPOT_SCOPES_MAX];
	struct pc_desc before, behind;
	uint32_t n = 0, n_before, first;

	*near = HOTSPOT_BETWEEN;
	if (pc - blob->code > INT32_MAX ||
	    !find_descs(h, blob, (int32_t)(pc - blob->code), &before, &behind))
		return 0;
	if (behind.scope)
		n = read_scopes(h, blob, behind.scope, out);
	if (behind.scope && behind.off == (int32_t)(pc - blob->code))
		*near = HOTSPOT_EXACT;
	else if (n && is_in_loop_of(h, blob, pc, blob->code + (uint64_t)behind.off))
		*near = HOTSPOT_IN_LOOP;
	if (*near != HOTSPOT_BETWEEN)
		return n;
	n_before = before.scope ? read_scopes(h, blob, before.scope, other) : 0;
	if (n && n_before) {
		first = common_part(other, n_before, out, n);
		memmove(out, out + first, (n - first) * sizeof(*out));
		n -= first;
	} else if (n) { /* before the first place: the outermost method alone is certain */
		out[0] = out[n - 1];
		n = 1;
	}
	if (n)
		return n;
	out[0] = (struct hotspot_scope){ blob->method, UINT32_MAX };
	return 1;
}
