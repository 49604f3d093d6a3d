/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_frames.h"

#include <elf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "elf/elf_packed.h"

/* Pointer encodings (LSB Core 5.0 section 10.5.1): a format, and the base of the value. */
enum {
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,

	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_BASE = 0x70,
	PE_INDIRECT = 0x80,
};

/* FDEs may name their CIEs in any order, each read anew: real ones have 5 to 30 bytes. */
#define LONGEST_CIE 1024

static uint64_t read_value(struct reader *r, uint8_t encoding, bool is_64)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
		return is_64 ? reader_u64(r) : reader_u32(r);
	case PE_UDATA2:
		return reader_u16(r);
	case PE_UDATA4:
		return reader_u32(r);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)reader_u16(r);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)reader_u32(r);
	case PE_UDATA8:
	case PE_SDATA8:
		return reader_u64(r);
	default: /* LEB128 forms and unknown ones: no producer uses them here */
		r->bad = true;
		return 0;
	}
}

/*
 * `data` is the base of PE_DATAREL. An indirect pointer needs a running process, so it is bad here.
 */
static uint64_t read_pointer(const struct elf_frames *f, struct reader *r, uint8_t encoding,
			     uint64_t data)
{
	uint64_t at = f->link_addr + (uint64_t)(r->at - f->base);
	uint64_t value = read_value(r, encoding, f->elf->is_64);

	if ((encoding & PE_BASE) == PE_PCREL)
		value += at;
	else if ((encoding & PE_BASE) == PE_DATAREL)
		value += data;
	else if ((encoding & PE_BASE) != 0)
		r->bad = true;
	if (encoding & PE_INDIRECT)
		r->bad = true;
	return f->elf->is_64 ? value : (uint32_t)value;
}

uint64_t elf_frames_address(const struct elf_frames *f, const struct elf_cie *cie, struct reader *r)
{
	return read_pointer(f, r, cie->encoding, 0);
}

/* What the letters behind 'z' say. False for one that is not known. */
static bool read_augmentation(const struct elf_frames *f, const char *letters, struct reader *r,
			      struct elf_cie *cie)
{
	for (const char *c = letters; *c && !r->bad; c++) {
		switch (*c) {
		case 'R':
			cie->encoding = reader_u8(r);
			break;
		case 'L':
			reader_u8(r);
			break;
		case 'P':
			read_value(r, reader_u8(r), f->elf->is_64);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* AArch64: return addresses are signed with the B key, */
		case 'G': /* stacks are tagged: neither changes where things are */
			break;
		default:
			return false;
		}
	}
	return !r->bad;
}

/* `r` stands behind the CIE's id. */
static bool read_cie(const struct elf_frames *f, struct reader r, struct elf_cie *cie)
{
	uint8_t version = reader_u8(&r);
	const char *augmentation;
	struct reader extra;
	uint64_t size;

	cie->encoding = PE_ABSPTR;
	/* "zPLRS" is as long as they get; an FDE must not make us look through a megabyte. */
	if (!memchr(r.at, 0, MIN(reader_left(&r), (size_t)16)) ||
	    (version != 1 && version != 3 && version != 4))
		return false;
	augmentation = reader_cstr(&r);
	if (version == 4 && (reader_u8(&r) != (f->elf->is_64 ? 8 : 4) || reader_u8(&r) != 0))
		return false; /* sizes of addresses and of segment selectors */
	cie->code_align = reader_uleb(&r);
	cie->data_align = reader_sleb128(&r);
	cie->return_register = version == 1 ? reader_u8(&r) : reader_uleb(&r);
	if (augmentation[0] == 'z') {
		cie->has_augmentation = true;
		size = reader_uleb(&r);
		if (size > reader_left(&r))
			return false;
		extra = reader_over(reader_bytes(&r, (size_t)size), (size_t)size);
		if (!read_augmentation(f, augmentation + 1, &extra, cie))
			return false;
	} else if (augmentation[0]) {
		return false;
	}
	cie->program = r;
	return !r.bad && reader_left(&r) <= LONGEST_CIE;
}

/*
 * The reader over the record at `r`, without its length; `r` moves behind it.
 * False at the end. DWARF has a 64-bit form, announced by a length of -1.
 */
static bool next_record(struct reader *r, struct reader *record, bool *is_wide)
{
	uint64_t length = reader_u32(r);

	*is_wide = length == UINT32_MAX;
	if (*is_wide)
		length = reader_u64(r);
	if (r->bad || length == 0 || length > reader_left(r))
		return false;
	*record = reader_over(reader_bytes(r, (size_t)length), (size_t)length);
	return true;
}

/* .eh_frame ids have 4 bytes always. */
static uint64_t read_id(const struct elf_frames *f, struct reader *r, bool is_wide)
{
	return f->is_debug && is_wide ? reader_u64(r) : reader_u32(r);
}

static bool is_cie_id(const struct elf_frames *f, uint64_t id, bool is_wide)
{
	if (!f->is_debug)
		return id == 0;
	return id == (is_wide ? UINT64_MAX : UINT32_MAX);
}

/*
 * Where the record of the CIE starts that an FDE names: in .eh_frame so many
 * bytes before the id, in .debug_frame so many behind the section's start. NULL: nowhere.
 */
static const uint8_t *cie_of(const struct elf_frames *f, const uint8_t *id_at, uint64_t id)
{
	size_t here = (size_t)(id_at - f->base);

	if (f->is_debug)
		return id < f->size ? f->base + id : NULL;
	return id <= here ? id_at - id : NULL;
}

static void load_cie(const struct elf_frames *f, const uint8_t *at, struct elf_cie *cie)
{
	struct reader r = reader_over(at, (size_t)(f->base + f->size - at)), record;
	bool is_wide;

	*cie = (struct elf_cie){ .at = at };
	cie->is_usable = next_record(&r, &record, &is_wide) &&
			 is_cie_id(f, read_id(f, &record, is_wide), is_wide) &&
			 read_cie(f, record, cie);
}

static bool is_loaded(const struct elf_file *elf, uint64_t link_addr)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && link_addr - s.link_addr < s.mem_size)
			return true;
	return false;
}

/*
 * Free Pascal's .debug_frame has eight bytes where an FDE names its CIE, though its length has
 * four. An address that is read behind the first four has no low half then, but behind all there is
 * one of code. `r` stands behind the four.
 */
static bool has_wide_id(const struct elf_frames *f, struct reader r)
{
	uint64_t link_addr;

	if (!f->is_debug || !f->elf->is_64 || reader_u32(&r))
		return false;
	link_addr = reader_u64(&r);
	return !r.bad && is_loaded(f->elf, link_addr);
}

static bool read_fde(struct elf_frames_it *it, struct reader r, struct elf_fde *out)
{
	const struct elf_cie *cie = &it->cie;
	uint64_t size;

	out->cie = cie;
	if (has_wide_id(it->frames, r))
		reader_bytes(&r, 4);
	out->link_addr = read_pointer(it->frames, &r, cie->encoding, 0);
	out->size = read_value(&r, cie->encoding, it->frames->elf->is_64);
	if (cie->has_augmentation) {
		size = reader_uleb(&r);
		if (size > reader_left(&r))
			return false;
		reader_bytes(&r, (size_t)size);
	}
	out->program = r;
	return !r.bad;
}

void elf_frames_begin(struct elf_frames_it *it, const struct elf_frames *frames)
{
	*it = (struct elf_frames_it){
		.frames = frames,
		.all = reader_over(frames->base, frames->size),
	};
}

bool elf_frames_next(struct elf_frames_it *it, struct elf_fde *out)
{
	const struct elf_frames *f = it->frames;
	struct reader record;
	bool is_wide;

	while (next_record(&it->all, &record, &is_wide)) {
		const uint8_t *id_at = record.at, *cie;
		uint64_t id = read_id(f, &record, is_wide);

		if (record.bad || is_cie_id(f, id, is_wide))
			continue; /* a CIE is read when the first FDE names it */
		cie = cie_of(f, id_at, id);
		if (!cie)
			continue;
		if (cie != it->cie.at)
			load_cie(f, cie, &it->cie);
		if (it->cie.is_usable && read_fde(it, record, out))
			return true;
	}
	return false;
}

/* .eh_frame by way of PT_GNU_EH_FRAME, which names .eh_frame_hdr. */
static bool frames_of_header(const struct elf_file *elf, struct elf_frames *out)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < elf->n_segments; i++) {
		struct elf_frames header = { .elf = elf };
		struct reader r;
		uint8_t encoding;
		uint64_t at;

		if (!elf_segment(elf, i, &s) || s.type != PT_GNU_EH_FRAME)
			continue;
		r = elf_bytes_at(elf, s.link_addr);
		header.base = r.at;
		header.link_addr = s.link_addr;
		if (reader_u8(&r) != 1)
			continue;
		encoding = reader_u8(&r);
		reader_u16(&r); /* encodings of the table */
		at = read_pointer(&header, &r, encoding, s.link_addr);
		if (r.bad)
			continue;
		r = elf_bytes_at(elf, at);
		*out = (struct elf_frames){
			.elf = elf,
			.base = r.at,
			.size = reader_left(&r),
			.link_addr = at,
		};
		return true;
	}
	return false;
}

static void frames_of_section(const struct elf_file *elf, const struct elf_section *s,
			      struct elf_frames *out)
{
	struct reader r = elf_section_bytes(elf, s);

	*out = (struct elf_frames){
		.elf = elf,
		.base = r.at,
		.size = reader_left(&r),
		.link_addr = s->link_addr,
	};
}

bool elf_frames_eh(const struct elf_file *elf, struct elf_frames *out)
{
	struct elf_section s;

	if (!elf_section_named(elf, ".eh_frame", &s))
		return frames_of_header(elf, out);
	frames_of_section(elf, &s, out);
	return true;
}

bool elf_frames_debug(const struct elf_file *elf, struct elf_frames *out)
{
	uint64_t budget = elf_unpack_budget(elf);
	struct elf_section s;

	if (!elf_section_named(elf, ".debug_frame", &s) &&
	    !elf_section_named(elf, ".zdebug_frame", &s))
		return false;
	frames_of_section(elf, &s, out);
	out->is_debug = true;
	if (elf_section_is_packed(elf, &s)) {
		out->unpacked = elf_section_unpack(elf, &s, &budget, &out->size);
		out->base = out->unpacked;
	}
	return out->base != NULL;
}

void elf_frames_fini(struct elf_frames *f)
{
	free(f->unpacked);
	*f = (struct elf_frames){ 0 };
}
