/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/jitdump.h"

#include <byteswap.h>

#include "base/reader.h"

#define MAGIC         0x4a695444u /* "JiTD", in the order of the writer */
#define HEADER_SIZE   40
#define PREFIX_SIZE   16
#define CLOCK_IS_ARCH 1u

enum record_type { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE, CODE_UNWINDING_INFO };

struct record {
	uint32_t type;
	uint64_t time_ns, file_off;
	struct reader body;
};

static uint32_t get_u32(const struct jitdump *d, struct reader *r)
{
	uint32_t v = reader_u32(r);

	return d->is_swapped ? bswap_32(v) : v;
}

static uint64_t get_u64(const struct jitdump *d, struct reader *r)
{
	uint64_t v = reader_u64(r);

	return d->is_swapped ? bswap_64(v) : v;
}

bool jitdump_has_magic(const void *bytes, size_t size)
{
	uint32_t magic = 0;

	if (size >= HEADER_SIZE)
		memcpy(&magic, bytes, sizeof(magic));
	return magic == MAGIC || magic == bswap_32(MAGIC);
}

void jitdump_init(struct jitdump *d)
{
	*d = (struct jitdump){ 0 };
	strings_init(&d->strings);
}

void jitdump_fini(struct jitdump *d)
{
	vec_fini(&d->codes);
	vec_fini(&d->lines);
	intmap_fini(&d->by_index);
	strings_fini(&d->strings);
}

/* The size of the header, 0 while it is not whole. */
static size_t take_header(struct jitdump *d, struct reader r)
{
	size_t left = reader_left(&r);
	uint32_t magic, size;

	if (left < HEADER_SIZE)
		return 0;
	magic = reader_u32(&r);
	d->is_swapped = magic == bswap_32(MAGIC);
	d->is_broken = magic != MAGIC && !d->is_swapped;
	get_u32(d, &r); /* version */
	size = get_u32(d, &r);
	get_u64(d, &r); /* ELF machine, padding */
	d->pid = get_u32(d, &r);
	get_u64(d, &r); /* time */
	d->is_arch_clock = get_u64(d, &r) & CLOCK_IS_ARCH;
	if (size < HEADER_SIZE || size > 4096)
		d->is_broken = true;
	d->has_header = !d->is_broken && size <= left;
	return d->has_header ? size : 0;
}

static void jitdump_add_code(struct jitdump *d, const struct jitdump_code *code)
{
	if (!d->leaves_moves)
		*intmap_put(&d->by_index, code->index, NULL) = (uint32_t)d->codes.n;
	vec_push(&d->codes, *code);
}

/* The code with this number is at another address from now on. */
static void jitdump_move(struct jitdump *d, const struct jitdump_code *to)
{
	const uint32_t *from = intmap_find(&d->by_index, to->index);
	struct jitdump_code code;

	if (!from || to->addr + d->codes.data[*from].size < to->addr) {
		d->n_bad++;
		return;
	}
	code = d->codes.data[*from];
	code.addr = to->addr;
	code.from_ns = to->from_ns;
	jitdump_add_code(d, &code);
}

void jitdump_take(struct jitdump *d, const struct jitdump_code *code, const char *name)
{
	struct jitdump_code copy = *code;

	if (code->is_move) {
		jitdump_move(d, code);
		return;
	}
	copy.name = strings_add(&d->strings, name);
	jitdump_add_code(d, &copy);
}

/* A function's bytes follow its name. */
static void take_load(struct jitdump *d, struct record *r)
{
	const uint8_t *start = r->body.at - PREFIX_SIZE;
	struct jitdump_code code = { .from_ns = r->time_ns };
	const char *name;

	get_u64(d, &r->body); /* pid, tid */
	get_u64(d, &r->body); /* vma */
	code.addr = get_u64(d, &r->body);
	code.size = get_u64(d, &r->body);
	code.index = get_u64(d, &r->body);
	name = reader_cstr(&r->body);
	if (r->body.bad || code.size > reader_left(&r->body) || code.addr + code.size < code.addr) {
		d->n_bad++;
		return;
	}
	code.name = strings_add(&d->strings, name);
	code.file_off = r->file_off + (uint64_t)(r->body.at - start);
	if (d->debug_n && d->debug_addr == code.addr) {
		code.first_line = d->debug_first;
		code.n_lines = d->debug_n;
	}
	d->debug_n = 0;
	jitdump_add_code(d, &code);
}

static void take_move(struct jitdump *d, struct record *r)
{
	struct jitdump_code to = { .from_ns = r->time_ns, .is_move = true };

	get_u64(d, &r->body); /* pid, tid */
	get_u64(d, &r->body); /* vma */
	get_u64(d, &r->body); /* the old address: of the code with this number */
	to.addr = get_u64(d, &r->body);
	get_u64(d, &r->body); /* the size, which can't change */
	to.index = get_u64(d, &r->body);
	if (r->body.bad)
		d->n_bad++;
	else if (d->leaves_moves)
		jitdump_add_code(d, &to);
	else
		jitdump_move(d, &to);
}

static void jitdump_take_lines(struct jitdump *d, struct record *r)
{
	uint64_t n;

	d->debug_addr = get_u64(d, &r->body);
	n = get_u64(d, &r->body);
	d->debug_first = (uint32_t)d->lines.n;
	d->debug_n = 0;
	for (uint64_t i = 0; i < n && !r->body.bad; i++) {
		uint64_t addr = get_u64(d, &r->body);
		struct jitdump_line line = { .code_off = addr - d->debug_addr };
		const char *file;

		line.line = get_u32(d, &r->body);
		get_u32(d, &r->body); /* discriminator */
		file = reader_cstr(&r->body);
		if (r->body.bad)
			break;
		/* "\377" alone: the file of the entry before (perf's agents write it so). */
		line.file = !strcmp(file, "\377") && d->debug_n ? d->lines.data[d->lines.n - 1].file
								: strings_add(&d->strings, file);
		vec_push(&d->lines, line);
		d->debug_n++;
	}
	d->n_bad += r->body.bad;
}

static void jitdump_take_record(struct jitdump *d, struct record *r)
{
	switch (r->type) {
	case CODE_LOAD:
		take_load(d, r);
		break;
	case CODE_MOVE:
		take_move(d, r);
		break;
	case CODE_DEBUG_INFO:
		if (!d->skips_lines)
			jitdump_take_lines(d, r);
		break;
	case CODE_CLOSE:
		d->is_closed = true;
		break;
	case CODE_UNWINDING_INFO: /* the code is unwound by frame pointers */
		break;
	default:
		d->n_unknown++;
	}
}

uint64_t jitdump_memory(const struct jitdump *d)
{
	return d->codes.n * sizeof(*d->codes.data) + d->lines.n * sizeof(*d->lines.data) +
	       d->by_index.n_slots * sizeof(*d->by_index.slots) + strings_memory(&d->strings);
}

size_t jitdump_feed(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t file_off)
{
	size_t at = 0;

	if (!d->has_header && !d->is_broken)
		at = take_header(d, reader_over(bytes, size));
	while (d->has_header && !d->is_broken && size - at >= PREFIX_SIZE) {
		struct reader r = reader_over(bytes + at, size - at);
		struct record record = { .type = get_u32(d, &r), .file_off = file_off + at };
		uint32_t record_size = get_u32(d, &r);

		record.time_ns = get_u64(d, &r);
		d->is_broken = record_size < PREFIX_SIZE;
		if (d->is_broken || record_size > size - at)
			break;
		record.body = reader_over(r.at, record_size - PREFIX_SIZE);
		jitdump_take_record(d, &record);
		at += record_size;
	}
	return at;
}

uint32_t jitdump_record_size(const struct jitdump *d, const uint8_t *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);

	get_u32(d, &r); /* type */
	return size < PREFIX_SIZE ? 0 : get_u32(d, &r);
}
