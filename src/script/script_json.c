/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row as one line of JSON; docs/script.md has the keys. All numbers but addresses are numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "perfdata/regs.h"
#include "perfdata/tracepoint.h"
#include "pt/synth_raw.h"
#include "report/json_put.h"
#include "script/script.h"
#include "script/script_fields.h"

/* What of a place is kept as text (script_place_keep()). */
enum { KEY_FIRST = 0x100, KEY_FURTHER };

/* Numbers of 64 bits are more than JSON readers keep: addresses are texts. */
static void put_address(struct buf *out, const char *key, uint64_t v)
{
	json_put_key(out, key);
	buf_printf(out, "\"0x%" PRIx64 "\"", v);
}

static void put_place(struct script_printer *p, struct code_addr code)
{
	const struct script_place *place = script_place(p->places, code);
	size_t start = p->out.len;
	/* With a comma before it or not. */
	uint32_t key = p->out.data[start - 1] == '{' ? KEY_FIRST : KEY_FURTHER;

	if (place->text_key == key) {
		buf_bytes(&p->out, place->text, place->text_len);
		return;
	}
	if (place->kind != IMAGE_UNKNOWN) {
		json_put_text(&p->out, "image", place->dso);
		put_address(&p->out, "image_offset", code.offset);
	}
	if (place->symbol) {
		json_put_text(&p->out, "symbol", place->symbol);
		json_put_number(&p->out, "symbol_offset", place->symbol_off);
	}
	script_place_keep(p->places, place, key, p->out.data + start, p->out.len - start);
}

static void put_frames(struct script_printer *p, const struct script_row *row)
{
	uint32_t n = p->options->hides_chains ? 1 : MIN(row->n_frames, p->options->max_stack);

	json_put_key(&p->out, "frames");
	buf_u8(&p->out, '[');
	for (uint32_t i = 0; i < n; i++) {
		buf_str(&p->out, i ? ",{" : "{");
		if (row->addr)
			put_address(&p->out, "address", row->addr[i]);
		put_place(p, row->code[i]);
		buf_u8(&p->out, '}');
	}
	buf_u8(&p->out, ']');
}

static void put_branch_end(struct script_printer *p, const struct script_row *row, const char *key,
			   uint64_t addr)
{
	json_put_key(&p->out, key);
	buf_u8(&p->out, '{');
	put_address(&p->out, "address", addr);
	put_place(p, row->resolve(row->context, addr));
	buf_u8(&p->out, '}');
}

static void put_branches(struct script_printer *p, const struct script_row *row)
{
	struct buf *out = &p->out;

	json_put_key(out, "branches");
	buf_u8(out, '[');
	for (uint32_t i = 0; i < row->extra->n_branches; i++) {
		const struct branch *b = &row->extra->branches[i];

		buf_str(out, i ? ",{" : "{");
		put_branch_end(p, row, "from", b->from);
		put_branch_end(p, row, "to", b->to);
		if (b->flags & 3) {
			json_put_key(out, "predicted");
			buf_str(out, b->flags & 2 ? "true" : "false");
		}
		json_put_number(out, "cycles", b->flags >> 4 & 0xffff);
		buf_u8(out, '}');
	}
	buf_u8(out, ']');
}

static void put_registers(struct script_printer *p, const char *key,
			  const struct sample_registers *regs)
{
	struct buf *out = &p->out;
	uint32_t at = 0;

	if (!regs->n_values)
		return;
	json_put_key(out, key);
	buf_u8(out, '{');
	for (uint32_t i = 0; i < 64 && at < regs->n_values; i++) {
		const char *name = register_name(i, p->options->is_aarch64);
		bool is_upper = register_is_upper_half(i, p->options->is_aarch64);
		char key_text[16];

		if (!(regs->mask >> i & 1))
			continue;
		snprintf(key_text, sizeof(key_text), "%s%s", name ? name : "",
			 is_upper ? "_high" : "");
		if (name)
			put_address(out, key_text, regs->values[at]);
		at++;
	}
	buf_u8(out, '}');
}

/* The tracepoint's own text, and its fields by name. */
static void put_trace(struct script_printer *p, const struct script_row *row)
{
	const struct sample_extra *x = row->extra;
	struct buf *out = &p->out, text = { 0 };

	tracepoint_print(row->trace, x->raw, x->raw_size, &text);
	json_put_text(out, "trace", buf_cstr(&text));
	json_put_key(out, "fields");
	buf_u8(out, '{');
	for (uint32_t i = 0; i < tracepoint_n_fields(row->trace); i++) {
		bool is_number;

		text.len = 0;
		is_number = tracepoint_field_value(row->trace, i, x->raw, x->raw_size, &text);
		json_put_key(out, tracepoint_field_name(row->trace, i));
		if (is_number)
			buf_str(out, buf_cstr(&text));
		else
			json_put_string(out, buf_cstr(&text));
	}
	buf_u8(out, '}');
	buf_fini(&text);
}

/* A column of the text, without what only makes it a column. */
static void put_words(struct buf *out, const char *key, struct buf *column)
{
	char *to = (char *)column->data;

	for (const char *at = buf_cstr(column); *at; at++)
		if (*at != ' ' || (to > (char *)column->data && to[-1] != ' '))
			*to++ = *at;
	while (to > (char *)column->data && to[-1] == ' ')
		to--;
	*to = '\0';
	json_put_text(out, key, (char *)column->data);
	column->len = 0;
}

/* What is only known of samples that were made of a processor trace. */
static void put_traced(struct script_printer *p, const struct script_row *row)
{
	uint64_t fields = p->options->fields.of_type[script_type(row->attr)];
	const struct sample_extra *x = row->extra;
	struct buf *out = &p->out, column = { 0 };

	if (script_is_branch(row->attr) && x->addr && row->resolve)
		put_branch_end(p, row, "target", x->addr);
	if (x->flags) {
		script_format_flags(&column, x->flags);
		put_words(out, "flags", &column);
	}
	if (row->attr->type == PT_SYNTH_TYPE && x->raw) {
		script_put_synth(&column, row->attr->config, x->raw, x->raw_size);
		put_words(out, "synth", &column);
	}
	if (x->cycles) {
		json_put_number(out, "instructions", x->insns);
		json_put_number(out, "cycles", x->cycles);
	}
	if (fields & FIELD_BIT(CALLINDENT) && script_is_branch(row->attr))
		json_put_number(out, "depth", x->depth);
	if (fields & FIELD_BIT(INSN) && x->insn_size) {
		script_put_bytes(&column, x);
		json_put_text(out, "insn", buf_cstr(&column) + strlen(" insn: "));
	}
	if (fields & FIELD_BIT(DISASM) && x->insn_size) {
		column.len = 0;
		script_put_disasm(p, row, &column);
		json_put_text(out, "disasm", buf_cstr(&column));
	}
	buf_fini(&column);
}

static void put_extra(struct script_printer *p, const struct script_row *row)
{
	const struct sample_extra *x = row->extra;
	uint64_t type = row->attr->sample_type;

	if (type & PERF_SAMPLE_ADDR)
		put_address(&p->out, "address", x->addr);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		put_address(&p->out, "physical_address", x->phys_addr);
	if (type & PERF_SAMPLE_DATA_SRC)
		put_address(&p->out, "data_source", x->data_src);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		json_put_number(&p->out, "weight", x->weight);
	if (type & PERF_SAMPLE_CGROUP)
		json_put_number(&p->out, "cgroup_id", x->cgroup);
	if (x->n_branches && row->resolve)
		put_branches(p, row);
	put_registers(p, "user_registers", &x->user);
	put_registers(p, "interrupted_registers", &x->interrupted);
	if (row->trace && x->raw)
		put_trace(p, row);
	if (p->options->is_trace)
		put_traced(p, row);
}

void script_print_json(struct script_printer *p, const struct script_row *row)
{
	static const char *const modes[] = {
		[MODE_USER] = "user",
		[MODE_KERNEL] = "kernel",
		[MODE_GUEST] = "guest",
		[MODE_UNKNOWN] = "unknown",
	};
	struct buf *out = &p->out;
	uint64_t type = row->attr->sample_type;

	buf_u8(out, '{');
	json_put_text(out, "comm", row->comm);
	json_put_key(out, "pid");
	buf_printf(out, "%d", row->pid);
	json_put_key(out, "tid");
	buf_printf(out, "%d", row->tid);
	if (type & PERF_SAMPLE_CPU)
		json_put_number(out, "cpu", row->cpu);
	if (type & PERF_SAMPLE_TIME)
		json_put_number(out, "time_ns", row->time_ns);
	json_put_text(out, "event", row->event);
	json_put_number(out, "samples", row->samples);
	json_put_number(out, "period", row->period);
	if (row->addr)
		json_put_text(out, "mode", modes[row->mode]);
	if (type & PERF_SAMPLE_CGROUP)
		json_put_text(out, "cgroup", row->cgroup);
	put_frames(p, row);
	if (row->extra)
		put_extra(p, row);
	buf_str(out, "}\n");
}
