/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV by RFC 4180, with plain newlines as on any Unix: a line of column names, then
 * one line for every row and event. The header's facts are not in it.
 */
#include <inttypes.h>

#include "base/buf.h"
#include "base/csv.h"
#include "report/csv.h"
#include "report/data.h"

static void csv_put_value(struct buf *line, const struct value *v, bool is_raw)
{
	switch (v->kind) {
	case VALUE_NONE:
		break;
	case VALUE_COUNT:
	case VALUE_PERIOD:
		buf_printf(line, "%" PRIu64, v->number);
		break;
	case VALUE_PERCENT:
		buf_printf(line, "%.4f", v->percent);
		break;
	case VALUE_TEXT:
		csv_put_text(line, v->text, is_raw);
		break;
	}
}

static void put_line(const struct report *r, uint32_t row, uint32_t lane, bool is_raw,
		     struct buf *line)
{
	line->len = 0;
	for (size_t i = 0; i < r->columns.n; i++) {
		struct value v;

		column_value(r, r->columns.column[i], row, lane, &v);
		if (i)
			buf_u8(line, ',');
		csv_put_value(line, &v, is_raw);
	}
	buf_u8(line, '\n');
}

static void print_csv(const struct report *r, const struct text_style *style, FILE *out)
{
	struct buf line = { 0 };

	for (size_t i = 0; i < r->columns.n; i++)
		fprintf(out, "%s%s", i ? "," : "", r->columns.column[i]->key);
	fputc('\n', out);
	for (uint32_t row = 0; row < r->rows.list.n; row++)
		for (uint32_t lane = 0; lane < r->rows.n_lanes && data_has_row(r, row); lane++) {
			if (!data_has_lane(r, row, lane))
				continue;
			put_line(r, row, lane, style->is_csv_raw, &line);
			fwrite(line.data, 1, line.len, out);
		}
	buf_fini(&line);
}

const struct report_format csv_format = {
	.name = "csv",
	.help = "comma-separated values, a line of column names first",
	.is_for_programs = true,
	.print = print_csv,
};
