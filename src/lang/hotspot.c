/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detection of HotSpot, and its tables of structures. */
#include "lang/hotspot.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"
#include "lang/loop.h"

/* ---- the file ---- */

/* The version is in the process's memory (hotspot_open()). */
enum lang_detected hotspot_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
				  size_t why_size)
{
	struct elf_symbol fields, types, code, field_size, type_size;
	uint64_t base;

	if (!elf_symbol_exported(elf, "gHotSpotVMStructs", &fields) ||
	    !elf_symbol_exported(elf, "gHotSpotVMTypes", &types) ||
	    !elf_symbol_exported(elf, "gHotSpotVMStructEntryArrayStride", &field_size) ||
	    !elf_symbol_exported(elf, "gHotSpotVMTypeEntryArrayStride", &type_size) ||
	    !elf_symbol_exported(elf, "JNI_CreateJavaVM", &code))
		return LANG_NONE;
	out->language = LANGUAGE_JAVA;
	out->is_aarch64 = elf->machine == EM_AARCH64;
	if (elf->machine != EM_X86_64 && !out->is_aarch64)
		return lang_refuse(elf, out, why, why_size);
	if (!loop_base(elf, code.link_addr, &base))
		return lang_refuse_for(out, "was built in a way that assay does not know", why,
				       why_size);
	out->state = fields.link_addr - base;
	out->code_type = types.link_addr - base;
	out->hotspot.field_size = field_size.link_addr - base;
	out->hotspot.type_size = type_size.link_addr - base;
	return LANG_FOUND;
}

/* ---- a process ---- */

/* In the order of enum hotspot_field; names that changed have several rows. field NULL: a size. */
static const struct hotspot_row {
	enum hotspot_field to;
	const char *type, *field;
} rows[] = {
	{ CODE_HEAPS, "CodeCache", "_heaps" },
	{ CODE_HEAPS, "CodeCache", "_heap" }, /* 8 */
	{ VM_MAJOR, "Abstract_VM_Version", "_vm_major_version" },
	{ CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address" },
	{ LIST_LENGTH, "GrowableArrayBase", "_len" },
	{ LIST_LENGTH, "GenericGrowableArray", "_len" }, /* before 16 */
	{ LIST_DATA, "GrowableArray<int>", "_data" },
	{ HEAP_MEMORY, "CodeHeap", "_memory" },
	{ HEAP_SEGMENTS, "CodeHeap", "_segmap" },
	{ HEAP_SHIFT, "CodeHeap", "_log2_segment_size" },
	{ SPACE_LOW, "VirtualSpace", "_low_boundary" },
	{ SPACE_HIGH, "VirtualSpace", "_high_boundary" },
	{ BLOCK_SIZE, "HeapBlock", NULL },
	{ BLOCK_LENGTH, "HeapBlock::Header", "_length" },
	{ BLOCK_USED, "HeapBlock::Header", "_used" },
	{ BLOB_NAME, "CodeBlob", "_name" },
	{ BLOB_FRAME_SIZE, "CodeBlob", "_frame_size" },
	{ BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset" },
	{ BLOB_CODE, "CodeBlob", "_code_begin" },
	{ BLOB_CODE_END, "CodeBlob", "_code_end" },
	{ BLOB_CODE_OFF, "CodeBlob", "_code_offset" },
	{ BLOB_CODE_END_OFF, "CodeBlob", "_data_offset" },
	{ BLOB_MUTABLE, "CodeBlob", "_mutable_data" },
	{ BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size" },
	{ BLOB_RELOCATIONS_SIZE, "CodeBlob", "_relocation_size" },
	{ NMETHOD_METHOD, "CompiledMethod", "_method" },
	{ NMETHOD_METHOD, "nmethod", "_method" },
	{ NMETHOD_ID, "nmethod", "_compile_id" },
	{ NMETHOD_SCOPES, "CompiledMethod", "_scopes_data_begin" },
	{ NMETHOD_PCS_OFF, "nmethod", "_scopes_pcs_offset" },
	{ NMETHOD_PCS_END_OFF, "nmethod", "_dependencies_offset" },
	{ NMETHOD_METADATA_OFF, "nmethod", "_metadata_offset" },
	{ NMETHOD_IMMUTABLE, "nmethod", "_immutable_data" },
	{ NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size" },
	{ NMETHOD_SCOPES_OFF, "nmethod", "_scopes_data_offset" },
	{ NMETHOD_DEOPT, "CompiledMethod", "_deopt_handler_begin" },
	{ NMETHOD_DEOPT_MH, "CompiledMethod", "_deopt_mh_handler_begin" },
	{ NMETHOD_DEOPT_OFF, "nmethod", "_deopt_handler_offset" },
	{ NMETHOD_DEOPT_OFF, "nmethod", "_deoptimize_offset" }, /* 8 */
	{ NMETHOD_DEOPT_MH_OFF, "nmethod", "_deopt_mh_handler_offset" },
	{ NMETHOD_DEOPT_MH_OFF, "nmethod", "_deoptimize_mh_offset" }, /* 8 */
	{ NMETHOD_ORIG_PC, "nmethod", "_orig_pc_offset" },
	{ PC_SIZE, "PcDesc", NULL },
	{ PC_OFFSET, "PcDesc", "_pc_offset" },
	{ PC_SCOPE, "PcDesc", "_scope_decode_offset" },
	{ METHOD_CONST, "Method", "_constMethod" },
	{ CONST_SIZE, "ConstMethod", NULL },
	{ CONST_POOL, "ConstMethod", "_constants" },
	{ CONST_NAME, "ConstMethod", "_name_index" },
	{ CONST_CODE_SIZE, "ConstMethod", "_code_size" },
	{ CONST_FLAGS, "ConstMethod", "_flags" },
	{ CONST_FLAGS, "ConstMethod", "_flags._flags" }, /* 21 */
	{ POOL_SIZE, "ConstantPool", NULL },
	{ POOL_LENGTH, "ConstantPool", "_length" },
	{ POOL_CLASS, "ConstantPool", "_pool_holder" },
	{ POOL_FILE, "ConstantPool", "_source_file_name_index" },
	{ CLASS_FILE, "InstanceKlass", "_source_file_name_index" },
	{ CLASS_NAME, "Klass", "_name" },
	{ CLASS_POOL, "InstanceKlass", "_constants" },
	{ CLASS_METHODS, "InstanceKlass", "_methods" },
	{ ARRAY_LENGTH, "Array<int>", "_length" },
	{ METHODS_DATA, "Array<Method*>", "_data" },
	{ SYMBOL_LENGTH, "Symbol", "_length" },
	{ SYMBOL_BODY, "Symbol", "_body" },
	{ SYMBOL_COUNT, "Symbol", "_refcount" },          /* before 13 */
	{ SYMBOL_COUNT, "Symbol", "_hash_and_refcount" }, /* in its lower half */
};

/* The tables of a version have some 1,500 entries. */
#define ENTRIES_MAX 8192
#define NAME_MAX_   48 /* longer names are none of ours */

/* A NUL-terminated text, cut at the room for it. */
static bool read_name(const struct lang_memory *m, uint64_t addr, char out[NAME_MAX_])
{
	size_t n = MIN((size_t)NAME_MAX_ - 1, (size_t)(4096 - (addr & 4095)));

	memset(out, 0, NAME_MAX_);
	if (!lang_read(m, addr, out, n))
		return false;
	if (n < NAME_MAX_ - 1 && !memchr(out, 0, n))
		lang_read(m, addr + n, out + n, NAME_MAX_ - 1 - n);
	return true;
}

/* Entries of the tables (vmStructs.hpp), the same in all versions. An empty type ends a table. */
struct field_entry {
	uint64_t type, field, text; /* C strings */
	int32_t is_static, pad;
	uint64_t offset, address;
};

struct type_entry {
	uint64_t type, super; /* C strings */
	int32_t is_oop, is_integer, is_unsigned, pad;
	uint64_t size;
};

struct table_reading {
	struct hotspot *hotspot;
	bool has[N_HOTSPOT_FIELDS];
	bool has_one_heap; /* as 8 has, and no other version */
};

static void take_entry(struct table_reading *t, const char *type, const char *field, uint64_t value)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct hotspot_row *row = &rows[i];

		if (t->has[row->to] || !row->field != !field || strcmp(row->type, type) != 0 ||
		    (field && strcmp(row->field, field) != 0))
			continue;
		t->has[row->to] = true;
		t->has_one_heap |= row->to == CODE_HEAPS && !strcmp(field, "_heap");
		t->hotspot->fields[row->to] = value;
	}
}

static bool is_wanted(const char *type)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].type, type))
			return true;
	return false;
}

/* Types follow each other in the tables, so that most entries need no look at their names. */
static bool read_fields(struct table_reading *t, uint64_t table)
{
	const struct lang_memory *m = &t->hotspot->memory;
	char type[NAME_MAX_] = "", field[NAME_MAX_];
	uint64_t type_at = 0;
	bool is_of_us = false;

	for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
		struct field_entry e;

		if (!lang_read(m, table + i * sizeof(e), &e, sizeof(e)))
			return false;
		if (!e.type)
			return true;
		if (type_at != e.type) {
			type_at = e.type;
			if (!read_name(m, type_at, type))
				return false;
			is_of_us = is_wanted(type);
		}
		if (!is_of_us)
			continue;
		if (!read_name(m, e.field, field))
			return false;
		take_entry(t, type, field, e.is_static ? e.address : e.offset);
	}
	return false;
}

static bool read_types(struct table_reading *t, uint64_t table)
{
	const struct lang_memory *m = &t->hotspot->memory;
	char type[NAME_MAX_];

	for (uint32_t i = 0; i < ENTRIES_MAX; i++) {
		struct type_entry e;

		if (!lang_read(m, table + i * sizeof(e), &e, sizeof(e)))
			return false;
		if (!e.type)
			return true;
		if (!read_name(m, e.type, type))
			return false;
		take_entry(t, type, NULL, e.size);
	}
	return false;
}

static bool read_int(const struct lang_memory *m, uint64_t addr, uint32_t *out)
{
	return lang_read(m, addr, out, sizeof(*out));
}

/* ---- the code heaps ---- */

#define HEAP_BYTES_MAX ((uint64_t)4 << 30)
#define SHIFT_MIN      4
#define SHIFT_MAX      16

static bool read_heap(const struct hotspot *h, uint64_t at, struct hotspot_heap *out)
{
	const uint64_t *f = h->fields;
	uint64_t memory = at + f[HEAP_MEMORY];

	return lang_read_word(&h->memory, memory + f[SPACE_LOW], &out->start) &&
	       lang_read_word(&h->memory, memory + f[SPACE_HIGH], &out->end) &&
	       lang_read_word(&h->memory, at + f[HEAP_SEGMENTS] + f[SPACE_LOW], &out->segments) &&
	       read_int(&h->memory, at + f[HEAP_SHIFT], &out->shift) && out->start < out->end &&
	       out->end - out->start <= HEAP_BYTES_MAX && out->shift >= SHIFT_MIN &&
	       out->shift <= SHIFT_MAX;
}

#define MANY_HEAPS (9 << 8) /* since this version */

bool hotspot_read_heaps(struct hotspot *h)
{
	const uint64_t *f = h->fields;
	uint64_t list, data, at;
	uint32_t n;

	h->n_heaps = 0;
	if (!lang_read_word(&h->memory, f[CODE_HEAPS], &list) || !list)
		return false;
	if (h->version < MANY_HEAPS) {
		h->n_heaps = read_heap(h, list, &h->heaps[0]);
		return h->n_heaps;
	}
	if (!read_int(&h->memory, list + f[LIST_LENGTH], &n) || n > HOTSPOT_HEAPS_MAX ||
	    !lang_read_word(&h->memory, list + f[LIST_DATA], &data))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (lang_read_word(&h->memory, data + (uint64_t)i * sizeof(data), &at) &&
		    read_heap(h, at, &h->heaps[h->n_heaps]))
			h->n_heaps++;
	return h->n_heaps > 0;
}

const struct hotspot_heap *hotspot_heap_of(const struct hotspot *h, uint64_t pc)
{
	for (uint32_t i = 0; i < h->n_heaps; i++)
		if (pc >= h->heaps[i].start && pc < h->heaps[i].end)
			return &h->heaps[i];
	return NULL;
}

/* ---- opening ---- */

/* The major versions whose structures assay knows; each runs in `make check-languages`. */
static const uint32_t known_versions[] = { 8, 11, 17, 21, 25 };

#define FIRST_ON_AARCH64 17

#define VM_OF_8 25

/* Fields that some versions lack: the others are in all. */
static const struct {
	enum hotspot_field field;
	uint32_t first, last; /* major versions that have it */
} partial[] = {
	{ BLOB_CODE, 9, 22 },
	{ BLOB_CODE_END, 9, 22 },
	{ NMETHOD_SCOPES, 9, 22 },
	{ NMETHOD_PCS_END_OFF, 0, 22 },
	{ NMETHOD_METADATA_OFF, 0, 22 },
	{ CLASS_FILE, 0, 14 },
	{ POOL_FILE, 15, UINT32_MAX },
	{ PC_SIZE, 0, 22 },
	{ BLOB_CODE_OFF, 25, UINT32_MAX },
	{ BLOB_CODE_END_OFF, 25, UINT32_MAX },
	{ BLOB_MUTABLE, 25, UINT32_MAX },
	{ BLOB_MUTABLE_SIZE, 25, UINT32_MAX },
	{ BLOB_RELOCATIONS_SIZE, 25, UINT32_MAX },
	{ NMETHOD_IMMUTABLE, 25, UINT32_MAX },
	{ NMETHOD_IMMUTABLE_SIZE, 25, UINT32_MAX },
	{ NMETHOD_SCOPES_OFF, 25, UINT32_MAX },
	{ NMETHOD_DEOPT, 9, 22 },
	{ NMETHOD_DEOPT_MH, 9, 22 },
	{ NMETHOD_DEOPT_OFF, 25, UINT32_MAX },
	{ NMETHOD_DEOPT_MH_OFF, 25, UINT32_MAX },
};

/* Of those since 25, 8 has these, too. */
static bool is_in_8(enum hotspot_field field)
{
	return field == BLOB_CODE_OFF || field == BLOB_CODE_END_OFF ||
	       field == NMETHOD_SCOPES_OFF || field == NMETHOD_DEOPT_OFF ||
	       field == NMETHOD_DEOPT_MH_OFF;
}

static bool has_field(enum hotspot_field field, uint32_t major)
{
	if (major == 8 && is_in_8(field))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(partial); i++)
		if (partial[i].field == field)
			return major >= partial[i].first && major <= partial[i].last;
	return true;
}

#define PC_SIZE_SINCE_25 16 /* PcDesc: four numbers of 4 bytes */

static bool has_all(const struct table_reading *t, uint32_t major)
{
	for (int i = 0; i < N_HOTSPOT_FIELDS; i++)
		if (!t->has[i] && has_field((enum hotspot_field)i, major))
			return false;
	if (!t->has[PC_SIZE])
		t->hotspot->fields[PC_SIZE] = PC_SIZE_SINCE_25;
	return true;
}

enum hotspot_state hotspot_open(struct hotspot *out, const struct lang_memory *memory,
				const struct lang_runtime *runtime, uint64_t base)
{
	struct table_reading t = { .hotspot = out };
	uint64_t fields, types, field_size, type_size;
	bool is_known = false;
	uint32_t major;

	*out = (struct hotspot){ .memory = *memory, .is_aarch64 = runtime->is_aarch64 };
	if (!lang_read_word(memory, base + runtime->state, &fields) ||
	    !lang_read_word(memory, base + runtime->code_type, &types) || !fields || !types ||
	    !lang_read_word(memory, base + runtime->hotspot.field_size, &field_size) ||
	    !lang_read_word(memory, base + runtime->hotspot.type_size, &type_size) || !type_size)
		return HOTSPOT_NOT_YET;
	if (field_size != sizeof(struct field_entry) || type_size != sizeof(struct type_entry))
		return HOTSPOT_UNKNOWN;
	if (!read_fields(&t, fields) || !read_types(&t, types))
		return HOTSPOT_NOT_YET;
	if (!t.has[VM_MAJOR] || !read_int(memory, out->fields[VM_MAJOR], &major))
		return HOTSPOT_UNKNOWN;
	if (t.has_one_heap) /* the virtual machine of 8 has a number of its own */
		major = major == VM_OF_8 ? 8 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(known_versions); i++)
		is_known |= known_versions[i] == major;
	if (!is_known || (out->is_aarch64 && major < FIRST_ON_AARCH64) || !has_all(&t, major))
		return HOTSPOT_UNKNOWN;
	out->version = major << 8;
	if (!lang_read_word(memory, out->fields[CALL_STUB_RETURN], &out->call_stub_return) ||
	    !out->call_stub_return || !hotspot_read_heaps(out))
		return HOTSPOT_NOT_YET;
	return HOTSPOT_READY;
}
