/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot's structures, where every pointer leads to bytes of the input: blobs, scopes, ways out of
 * frames, methods, line tables. The input is repeated over all addresses.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "input_memory.h"
#include "lang/code.h"
#include "lang/hotspot.h"
#include "lang/hotspot_number.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define HEAP_START 0x7f0000000000u
#define HEAP_SIZE  0x40000u

/* Offsets as in JDK 17, as far as they matter. */
static void fill_fields(struct hotspot *h)
{
	static const struct {
		enum hotspot_field field;
		uint64_t value;
	} fields[] = {
		{ BLOCK_SIZE, 16 },
		{ BLOCK_USED, 8 },
		{ BLOB_NAME, 96 },
		{ BLOB_FRAME_SIZE, 28 },
		{ BLOB_COMPLETE, 20 },
		{ BLOB_CODE, 32 },
		{ BLOB_CODE_END, 40 },
		{ BLOB_CODE_OFF, 36 },
		{ BLOB_CODE_END_OFF, 40 },
		{ BLOB_MUTABLE, 16 },
		{ BLOB_MUTABLE_SIZE, 48 },
		{ BLOB_RELOCATIONS_SIZE, 28 },
		{ NMETHOD_METHOD, 112 },
		{ NMETHOD_ID, 304 },
		{ NMETHOD_SCOPES, 120 },
		{ NMETHOD_PCS_OFF, 268 },
		{ NMETHOD_PCS_END_OFF, 272 },
		{ NMETHOD_METADATA_OFF, 260 },
		{ NMETHOD_IMMUTABLE, 96 },
		{ NMETHOD_IMMUTABLE_SIZE, 160 },
		{ NMETHOD_SCOPES_OFF, 200 },
		{ PC_SIZE, 16 },
		{ PC_SCOPE, 4 },
		{ METHOD_CONST, 8 },
		{ CONST_SIZE, 48 },
		{ CONST_POOL, 8 },
		{ CONST_NAME, 34 },
		{ CONST_CODE_SIZE, 32 },
		{ CONST_FLAGS, 28 },
		{ POOL_SIZE, 72 },
		{ POOL_LENGTH, 60 },
		{ POOL_CLASS, 24 },
		{ POOL_FILE, 54 },
		{ CLASS_NAME, 24 },
		{ CLASS_POOL, 232 },
		{ CLASS_METHODS, 408 },
		{ METHODS_DATA, 8 },
		{ SYMBOL_LENGTH, 4 },
		{ SYMBOL_BODY, 6 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		h->fields[fields[i].field] = fields[i].value;
}

static void use_blob(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX];
	const uint64_t registers[33] = { [30] = pc };
	enum hotspot_answer returned = HOTSPOT_NOT_ASKED;
	uint8_t bytes[HOTSPOT_BLOB_BYTES_MAX];
	enum hotspot_nearness near;

	if (blob->code > blob->code_end || blob->end - blob->start > HEAP_SIZE)
		__builtin_trap();
	if (hotspot_scopes(h, blob, pc, scopes, &near) > HOTSPOT_SCOPES_MAX ||
	    hotspot_leaves(h, blob, pc, true, leaves) > HOTSPOT_LEAVES_MAX ||
	    hotspot_leaves(h, blob, pc, false, leaves) > HOTSPOT_LEAVES_MAX)
		__builtin_trap();
	hotspot_is_innermost(h, pc, blob->method, registers, &returned);
	if (hotspot_blob_range(h, blob).size <= sizeof(bytes) &&
	    lang_read(&h->memory, pc, bytes, sizeof(bytes)))
		hotspot_is_blob(h, blob, bytes);
}

static void use_flow(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	uint32_t work = HOTSPOT_FLOW_WORK;
	struct hotspot_flow *flow = hotspot_flow_new(h, blob, &work);

	if (flow && (hotspot_flow_scopes(flow, pc - blob->code, scopes) > HOTSPOT_SCOPES_MAX ||
		     hotspot_flow_scopes(flow, blob->code_end - blob->code, scopes)))
		__builtin_trap();
	hotspot_flow_free(flow);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct lang_code code;
	struct hotspot h = { .memory = { read_input, NULL, NULL },
			     .heaps = { { HEAP_START, HEAP_START + HEAP_SIZE, 0x1000, 7 } },
			     .n_heaps = 1 };
	struct hotspot_method method;
	struct hotspot_blob blob;
	uint64_t pc;

	if (size < 16)
		return 0;
	input.bytes = bytes;
	input.size = size;
	input.n_reads = 0;
	fill_fields(&h);
	h.version = (bytes[0] & 8 ? 8u : bytes[0] & 2 ? 25u : bytes[0] & 1 ? 21u : 17u) << 8;
	h.is_aarch64 = bytes[0] & 16;
	pc = HEAP_START + (bytes[1] | (uint64_t)bytes[2] << 8);
	if (hotspot_find_blob(&h, pc, &blob))
		use_blob(&h, &blob, pc);
	/* Tables that a sound header would not lead to. */
	blob = (struct hotspot_blob){ .kind = bytes[3] % (HOTSPOT_STUB + 1),
				      .start = HEAP_START,
				      .end = HEAP_START + HEAP_SIZE,
				      .code = HEAP_START + 0x100,
				      .code_end = HEAP_START + 0x2000,
				      .frame_size = bytes[4],
				      .complete = bytes[5],
				      .method = HEAP_START + bytes[6],
				      .scopes = HEAP_START + 0x10000,
				      .scopes_end = HEAP_START + 0x11000,
				      .pcs = HEAP_START + 0x11000,
				      .pcs_end = HEAP_START + 0x11000 + 16 * bytes[7],
				      .metadata = HEAP_START + 0x300,
				      .metadata_end = HEAP_START + HEAP_SIZE };
	use_blob(&h, &blob, blob.code + (pc & 0xfff));
	use_flow(&h, &blob, blob.code + (pc & 0xfff));
	memset(&code, 0, sizeof(code));
	if (hotspot_read_method(&h, pc, &method, &code)) {
		if (code.n_lines > LANG_LINES_MAX || code.name.size > LANG_TEXT_MAX ||
		    code.scope.size > LANG_TEXT_MAX || code.file.size > LANG_TEXT_MAX)
			__builtin_trap();
		hotspot_is_method(&h, pc, &method);
		hotspot_bci(&method, pc);
		java_line(&code, UINT32_MAX);
	}
	return 0;
}
