/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "processes/processes.h"

#include <string.h>

#include "base/error.h"
#include "cli/output.h"

enum processes_format processes_format_find(const char *name)
{
	if (!strcmp(name, "html"))
		return PROCESSES_HTML;
	if (!strcmp(name, "csv"))
		return PROCESSES_CSV;
	return strcmp(name, "json") ? PROCESSES_TEXT : PROCESSES_JSON;
}

/* A page is written all at once, or not at all. */
static int print_page(struct process_report *r, const char *path, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	process_report_print_html(r, out);
	fclose(out);
	return output_whole(path ? path : "-", text, size, err);
}

int processes_print(struct process_report *r, const struct processes_output *o, struct error *err)
{
	bool is_text = o->format == PROCESSES_TEXT;
	struct text_style style;
	struct output out;
	int result;

	if (o->format == PROCESSES_HTML)
		return print_page(r, o->path, err);
	result = output_open(&out, o->path, is_text && !o->no_pager, err);
	if (result < 0)
		return result;
	style = (struct text_style){
		.width = o->wide || o->path ? 0 : output_width(&out),
		.with_colour = output_has_colour(&out),
		.is_ascii = !output_is_utf8(),
	};
	if (is_text)
		process_report_print_text(r, &style, out.file);
	else if (o->format == PROCESSES_CSV)
		process_report_print_csv(r, o->is_csv_raw, out.file);
	else
		process_report_print_json(r, out.file);
	return output_close(&out, err);
}
