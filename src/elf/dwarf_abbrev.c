/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/dwarf_form.h"

#include <stdlib.h>

/*
 * An entry's shape is a short program; adjacent unneeded attributes are one skip. Most entries
 * (types, variables, parameters) need two or three steps.
 */
enum op_kind {
	OP_SKIP,   /* `arg` bytes */
	OP_ULEB,   /* a number of bytes that end */
	OP_CSTR,   /* a string */
	OP_BLOCK1, /* length, then that many bytes */
	OP_BLOCK2,
	OP_BLOCK4,
	OP_BLOCK, /* length as ULEB128 */
	OP_INDIRECT,
	OP_GET,   /* attribute `slot` in `form` */
	OP_CONST, /* attribute `slot` is constants[arg] */
};

struct op {
	uint8_t kind, slot;
	uint16_t form;
	uint32_t arg;
};

struct shape {
	uint64_t code;
	uint16_t tag;
	bool has_children, is_bad;
	uint32_t first_op, n_ops;
	uint8_t plain; /* bytes of a plain entry (dwarf_skip_plain()), and … */
	uint8_t block; /* … then a block of OP_BLOCK or OP_BLOCK1, whose kind this is; 0: none */
};

#define NOT_PLAIN UINT8_MAX

struct dwarf_abbrevs {
	VEC(struct shape) shapes; /* by code */
	VEC(struct op) ops;
	VEC(int64_t) constants;
	size_t n_bytes;
};

/* More attributes than any compiler gives an entry; a bound, as some take no bytes. */
#define MAX_ATTRIBUTES 128

static int slot_of(uint64_t attribute)
{
	switch (attribute) {
#define X(id, number) \
	case number:  \
		return DWARF_AT_##id;
		DWARF_ATTRIBUTES(X)
#undef X
	case 0x2007: /* MIPS_linkage_name */
		return DWARF_AT_LINKAGE_NAME;
	case 0x2130:
		return DWARF_AT_DWO_NAME;
	case 0x2131:
		return DWARF_AT_GNU_DWO_ID;
	case 0x2132:
		return DWARF_AT_GNU_RANGES_BASE;
	case 0x2133:
		return DWARF_AT_ADDR_BASE;
	}
	return -1;
}

/* The tags of which something is wanted: bits by enum dwarf_attribute. */
static uint32_t wanted_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_skeleton_unit:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
		return UINT32_MAX;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return 1U << DWARF_AT_SIBLING;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return 1U << DWARF_AT_SIBLING;
	default:
		return 0;
	}
}

/* How a form is skipped; false for one that is not known. */
static bool skip_of(uint64_t form, const struct dwarf_unit *u, struct op *out)
{
	uint32_t off = u->is_64 ? 8 : 4;

#define FIXED(n) (*out = (struct op){ .kind = OP_SKIP, .arg = (n) }, true)
#define KIND(k)  (*out = (struct op){ .kind = (k) }, true)
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return FIXED(0);
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return FIXED(1);
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return FIXED(2);
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return FIXED(3);
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return FIXED(4);
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return FIXED(8);
	case DW_FORM_data16:
		return FIXED(16);
	case DW_FORM_addr:
		return FIXED(u->addr_size);
	case DW_FORM_ref_addr:
		return FIXED(u->version <= 2 ? u->addr_size : off);
	case DW_FORM_strp:
	case DW_FORM_sec_offset:
	case DW_FORM_strp_sup:
	case DW_FORM_line_strp:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return FIXED(off);
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return KIND(OP_ULEB);
	case DW_FORM_string:
		return KIND(OP_CSTR);
	case DW_FORM_block1:
		return KIND(OP_BLOCK1);
	case DW_FORM_block2:
		return KIND(OP_BLOCK2);
	case DW_FORM_block4:
		return KIND(OP_BLOCK4);
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return KIND(OP_BLOCK);
	case DW_FORM_indirect:
		return KIND(OP_INDIRECT);
	}
#undef FIXED
#undef KIND
	return false;
}

static void push_skip(struct dwarf_abbrevs *a, const struct shape *s, const struct op *op)
{
	if (op->kind == OP_SKIP && a->ops.n > s->first_op) {
		struct op *last = &a->ops.data[a->ops.n - 1];

		if (last->kind == OP_SKIP) {
			last->arg += op->arg;
			return;
		}
	}
	if (op->kind != OP_SKIP || op->arg)
		vec_push(&a->ops, *op);
}

static void add_attribute(struct dwarf_abbrevs *a, struct shape *s, const struct dwarf_unit *u,
			  uint64_t attribute, uint64_t form, int64_t constant)
{
	int slot = slot_of(attribute);
	struct op skip;

	if (!skip_of(form, u, &skip)) {
		s->is_bad = true;
	} else if (slot < 0 || !(wanted_of(s->tag) >> slot & 1) || skip.kind == OP_INDIRECT ||
		   (skip.kind >= OP_BLOCK1 && skip.kind <= OP_BLOCK)) {
		push_skip(a, s, &skip);
	} else if (form == DW_FORM_implicit_const) {
		vec_push(&a->ops, (struct op){ OP_CONST, (uint8_t)slot, (uint16_t)form,
					       (uint32_t)a->constants.n });
		vec_push(&a->constants, constant);
	} else {
		vec_push(&a->ops, (struct op){ OP_GET, (uint8_t)slot, (uint16_t)form, 0 });
	}
}

/* An entry that is a number of bytes, then perhaps a block (a location): nothing to be read. */
static void mark_plain(const struct dwarf_abbrevs *a, struct shape *s)
{
	const struct op *op = a->ops.data + s->first_op, *end = op + s->n_ops;
	uint64_t bytes = 0;

	s->plain = NOT_PLAIN;
	if (s->has_children || s->is_bad)
		return;
	if (op < end && op->kind == OP_SKIP)
		bytes = op++->arg;
	if (op < end && (op->kind == OP_BLOCK || op->kind == OP_BLOCK1))
		s->block = op++->kind;
	if (op == end && bytes < NOT_PLAIN)
		s->plain = (uint8_t)bytes;
}

static bool parse_shape(struct dwarf_abbrevs *a, const struct dwarf_unit *u, struct reader *r)
{
	struct shape s = { .code = reader_uleb(r), .first_op = (uint32_t)a->ops.n };
	uint64_t tag;

	if (!s.code)
		return false;
	tag = reader_uleb(r);
	s.tag = tag && tag <= UINT16_MAX ? (uint16_t)tag : UINT16_MAX;
	s.has_children = reader_u8(r);
	for (uint32_t i = 0; !r->bad; i++) {
		uint64_t attribute = reader_uleb(r), form = reader_uleb(r);
		int64_t constant = form == DW_FORM_implicit_const ? reader_sleb128(r) : 0;

		if (!attribute && !form)
			break;
		if (i < MAX_ATTRIBUTES)
			add_attribute(a, &s, u, attribute, form, constant);
		else
			s.is_bad = true;
	}
	s.n_ops = (uint32_t)a->ops.n - s.first_op;
	if (!r->bad) {
		mark_plain(a, &s);
		vec_push(&a->shapes, s);
	}
	return !r->bad;
}

static int by_code(const void *a, const void *b)
{
	const struct shape *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

struct dwarf_abbrevs *dwarf_abbrevs_new(const struct dwarf_unit *u)
{
	struct dwarf_abbrevs *a = xcalloc(1, sizeof(*a));
	struct reader r = dwarf_at(&u->file->section[DWARF_ABBREV], u->abbrev_off);
	const uint8_t *start = r.at;
	bool is_sorted = true;

	while (parse_shape(a, u, &r))
		;
	a->n_bytes = (size_t)(r.at - start);
	for (size_t i = 1; i < a->shapes.n && is_sorted; i++)
		is_sorted = a->shapes.data[i - 1].code < a->shapes.data[i].code;
	if (!is_sorted)
		qsort(a->shapes.data, a->shapes.n, sizeof(*a->shapes.data), by_code);
	return a;
}

void dwarf_abbrevs_free(struct dwarf_abbrevs *a)
{
	if (!a)
		return;
	vec_fini(&a->shapes);
	vec_fini(&a->ops);
	vec_fini(&a->constants);
	free(a);
}

size_t dwarf_abbrevs_bytes(const struct dwarf_abbrevs *a)
{
	return a->n_bytes;
}

static const struct shape *find_shape(const struct dwarf_abbrevs *a, uint64_t code)
{
	struct shape key = { .code = code };

	if (code - 1 < a->shapes.n && a->shapes.data[code - 1].code == code)
		return &a->shapes.data[code - 1];
	if (!a->shapes.n)
		return NULL;
	return bsearch(&key, a->shapes.data, a->shapes.n, sizeof(key), by_code);
}

static void skip_uleb(struct reader *r)
{
	while (r->at < r->end)
		if (!(*r->at++ & 0x80))
			return;
	r->bad = true;
}

static void skip_bytes(struct reader *r, uint64_t n)
{
	if (n <= reader_left(r))
		r->at += n;
	else
		reader_bytes(r, SIZE_MAX);
}

static void skip_indirect(struct reader *r, const struct dwarf_unit *u);

static inline void skip(struct reader *r, const struct dwarf_unit *u, const struct op *op)
{
	switch (op->kind) {
	case OP_SKIP:
		skip_bytes(r, op->arg);
		break;
	case OP_ULEB:
		skip_uleb(r);
		break;
	case OP_CSTR:
		reader_cstr(r);
		break;
	case OP_BLOCK1:
		skip_bytes(r, reader_u8(r));
		break;
	case OP_BLOCK2:
		skip_bytes(r, reader_u16(r));
		break;
	case OP_BLOCK4:
		skip_bytes(r, reader_u32(r));
		break;
	case OP_BLOCK:
		skip_bytes(r, reader_uleb(r));
		break;
	default:
		skip_indirect(r, u);
	}
}

/* The form stands in the entry. One that is indirect again, or a constant, makes no sense. */
static void skip_indirect(struct reader *r, const struct dwarf_unit *u)
{
	uint64_t form = reader_uleb(r);
	struct op op;

	if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || !skip_of(form, u, &op))
		skip_bytes(r, SIZE_MAX);
	else
		skip(r, u, &op);
}

void dwarf_skip_plain(struct reader *r, const struct dwarf_unit *u)
{
	const struct dwarf_abbrevs *a = u->abbrevs;
	const uint8_t *at = r->at, *end = r->end;

	/* dwarf_die_read() handles entries near the end and unusual ones. */
	while (end - at > 2 * NOT_PLAIN) {
		uint64_t code = *at;
		const struct shape *s;
		const uint8_t *next = at + 1;

		if (code >= 0x80) {
			if (next[0] >= 0x80)
				break;
			code = (code & 0x7f) | (uint64_t)*next++ << 7;
		}
		if (code - 1 >= a->shapes.n)
			break;
		s = &a->shapes.data[code - 1];
		if (s->plain == NOT_PLAIN || s->code != code)
			break;
		next += s->plain;
		if (s->block) {
			if (*next >= 0x80)
				break;
			next += 1 + *next;
		}
		at = next;
	}
	r->at = at;
}

bool dwarf_die_read(struct reader *r, const struct dwarf_unit *u, struct dwarf_die *out)
{
	const struct dwarf_abbrevs *a = u->abbrevs;
	const struct shape *s;
	uint64_t code;

	if (r->at == r->end)
		return false;
	code = *r->at < 0x80 ? *r->at++ : reader_uleb(r);
	out->set = 0;
	out->tag = 0;
	out->has_children = false;
	if (!code)
		return !r->bad;
	s = find_shape(a, code);
	if (!s || s->is_bad)
		return false;
	out->tag = s->tag;
	out->has_children = s->has_children;
	for (const struct op *op = a->ops.data + s->first_op, *end = op + s->n_ops; op < end;
	     op++) {
		if (op->kind < OP_GET) {
			skip(r, u, op);
			continue;
		}
		out->form[op->slot] = op->form;
		out->raw[op->slot] = op->kind == OP_CONST ? (uint64_t)a->constants.data[op->arg]
							  : dwarf_read_form(r, u, op->form);
		out->set |= 1U << op->slot;
	}
	return !r->bad;
}
