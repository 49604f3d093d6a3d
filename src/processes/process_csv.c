/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process report for spreadsheets: the summary of all processes, and the account. */
#include <inttypes.h>

#include "base/csv.h"
#include "processes/process_report.h"

static void process_csv_put_seconds(const struct process_report *r, struct buf *out,
				    const struct process_row *row)
{
	uint64_t ns = process_report_kernel_ns(r, row);
	double percent;

	buf_u8(out, ',');
	if (r->processes.basis != TIME_NONE)
		buf_printf(out, "%.9f", processes_seconds(&r->processes, &row->all));
	buf_u8(out, ',');
	if (ns != CPU_TIME_UNKNOWN)
		buf_printf(out, "%.9f", (double)ns / 1e9);
	buf_u8(out, ',');
	if (account_deviation(&r->processes, &row->all, ns, &percent))
		buf_printf(out, "%.2f", percent);
	buf_u8(out, '\n');
}

static void process_csv_put_process(const struct process_report *r, struct buf *out,
				    const struct process_row *row, bool is_raw)
{
	buf_str(out, "process,");
	if (row == &r->hidden)
		buf_printf(out, "other (%" PRIu32 ")", r->n_hidden);
	else
		csv_put_text(out, process_name(&r->processes, row), is_raw);
	buf_u8(out, ',');
	if (row != &r->hidden && process_pid(&r->processes, row) >= 0)
		buf_printf(out, "%" PRId32, process_pid(&r->processes, row));
	for (int c = 0; c < N_CONTEXTS; c++)
		buf_printf(out, ",%" PRIu64, row->by[c].samples);
	process_csv_put_seconds(r, out, row);
}

static void process_csv_put_account(const struct account *a, struct buf *out)
{
	for (int i = 0; i < N_ACCOUNT_ROWS; i++)
		if (a->ns[i] != INT64_MIN)
			buf_printf(out, "account,%s,,,,,,,%s%" PRIu64 ".%09" PRIu64 ",,\n",
				   account_rows[i].key, a->ns[i] < 0 ? "-" : "",
				   (uint64_t)imaxabs(a->ns[i]) / 1000000000,
				   (uint64_t)imaxabs(a->ns[i]) % 1000000000);
	buf_printf(out, "account,all,,,,,,,%" PRIu64 ".%09" PRIu64 ",,\n",
		   a->capacity_ns / 1000000000, a->capacity_ns % 1000000000);
	buf_printf(out, "children,all,,,,,,,,%" PRIu64 ".%09" PRIu64 ",\n",
		   a->times.children_ns / 1000000000, a->times.children_ns % 1000000000);
	buf_printf(out, "no process,all,,,,,,,,%" PRIu64 ".%09" PRIu64 ",\n",
		   a->times.rest_ns / 1000000000, a->times.rest_ns % 1000000000);
}

void process_report_print_csv(const struct process_report *r, bool is_raw, FILE *out)
{
	struct buf text = { 0 };

	buf_str(&text, "part,name,pid");
	for (int c = 0; c < N_CONTEXTS; c++)
		buf_printf(&text, ",%s", sample_context_names[c]);
	buf_str(&text, ",seconds,kernel_seconds,deviation_percent\n");
	for (uint32_t i = 0; i < r->processes.rows.n; i++)
		if (r->is_shown[i])
			process_csv_put_process(r, &text, &r->processes.rows.data[i], is_raw);
	if (r->n_hidden)
		process_csv_put_process(r, &text, &r->hidden, is_raw);
	if (r->account.is_known)
		process_csv_put_account(&r->account, &text);
	fwrite(text.data, 1, text.len, out);
	buf_fini(&text);
}
