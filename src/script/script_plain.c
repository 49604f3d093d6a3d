/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "script/script.h"
#include "script/script_fields.h"

/* How a number is written. The first two have perf's layout, which has no name in it. */
enum plain_form {
	PLAIN_ADDRESS,   /* 16 columns of hexadecimal digits; in JSON a string */
	PLAIN_SIZE,      /* bytes, as " 4K"; 0 is " N/A" */
	PLAIN_NAMED_HEX, /* " name=0x5"; in JSON a string */
	PLAIN_NUMBER,    /* " name=5" */
};

static uint64_t get_phys_addr(const struct script_row *row)
{
	return row->extra->phys_addr;
}

static uint64_t get_data_page_size(const struct script_row *row)
{
	return row->extra->data_page_size;
}

static uint64_t get_code_page_size(const struct script_row *row)
{
	return row->extra->code_page_size;
}

static uint64_t get_transaction(const struct script_row *row)
{
	return row->extra->transaction;
}

/* In the order of a line. `needs_extra`: only of samples with struct sample_extra. */
static const struct plain_field {
	enum script_field field;
	enum plain_form form;
	bool needs_extra;
	uint64_t (*get)(const struct script_row *row);
} plain_fields[] = {
	{ FIELD_PHYS_ADDR, PLAIN_ADDRESS, true, get_phys_addr },
	{ FIELD_DATA_PAGE_SIZE, PLAIN_SIZE, true, get_data_page_size },
	{ FIELD_CODE_PAGE_SIZE, PLAIN_SIZE, true, get_code_page_size },
	{ FIELD_TRANSACTION, PLAIN_NAMED_HEX, true, get_transaction },
};

static void put_size(struct buf *out, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	size_t unit = 0;

	for (; bytes && bytes % 1024 == 0 && unit + 1 < sizeof(units) - 1; unit++)
		bytes /= 1024;
	if (!bytes)
		buf_str(out, " N/A");
	else
		buf_printf(out, " %" PRIu64 "%c", bytes, units[unit]);
}

static void put_text(struct buf *out, const struct plain_field *f, uint64_t value)
{
	const char *name = script_field_rows[f->field].name;

	switch (f->form) {
	case PLAIN_ADDRESS:
		buf_printf(out, "%16" PRIx64, value);
		break;
	case PLAIN_SIZE:
		put_size(out, value);
		break;
	case PLAIN_NAMED_HEX:
		buf_printf(out, " %s=0x%" PRIx64, name, value);
		break;
	case PLAIN_NUMBER:
		buf_printf(out, " %s=%" PRIu64, name, value);
		break;
	}
}

void script_put_plain_text(struct buf *out, uint64_t fields, const struct script_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_fields); i++) {
		const struct plain_field *f = &plain_fields[i];

		if (fields >> f->field & 1 && (row->extra || !f->needs_extra))
			put_text(out, f, f->get(row));
	}
}

void script_put_plain_json(struct buf *out, const struct script_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(plain_fields); i++) {
		const struct plain_field *f = &plain_fields[i];
		const struct script_field_row *r = &script_field_rows[f->field];

		if ((r->sample_type && !(row->attr->sample_type & r->sample_type)) ||
		    (f->needs_extra && !row->extra))
			continue;
		/* Readers of JSON keep 53 bits of a number: addresses and bits are strings. */
		if (f->form == PLAIN_ADDRESS || f->form == PLAIN_NAMED_HEX) {
			json_put_key(out, r->json_key);
			buf_printf(out, "\"0x%" PRIx64 "\"", f->get(row));
		} else {
			json_put_number(out, r->json_key, f->get(row));
		}
	}
}
