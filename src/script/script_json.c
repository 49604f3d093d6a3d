/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A row as one line of JSON; docs/script.md has the keys. All numbers but addresses are numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "perfdata/regs.h"
#include "perfdata/tracepoint.h"
#include "pt/synth_raw.h"
#include "script/script.h"
#include "script/script_columns.h"
#include "script/script_fields.h"

/* What of a place is kept as text (script_place_keep()). */
enum { KEY_FIRST = 0x100, KEY_FURTHER };

/* Numbers of 64 bits are more than JSON readers keep: addresses are texts. */
static void script_json_put_address(struct buf *out, const char *key, uint64_t v)
{
	json_put_key(out, key);
	buf_str(out, "\"0x");
	script_put_hex(out, v, 0);
	buf_u8(out, '"');
}

static void script_json_put_place(struct script_printer *p, struct code_addr code)
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
		script_json_put_address(&p->out, "image_offset", code.offset);
	}
	if (place->symbol) {
		json_put_text(&p->out, "symbol", place->symbol);
		json_put_number(&p->out, "symbol_offset", place->symbol_off);
	}
	script_place_keep(p->places, place, key, p->out.data + start, p->out.len - start);
}

static void script_json_put_frames(struct script_printer *p, const struct script_row *row)
{
	uint32_t n = p->options->hides_chains ? 1 : MIN(row->n_frames, p->options->max_stack);

	json_put_key(&p->out, "frames");
	buf_u8(&p->out, '[');
	for (uint32_t i = 0; i < n; i++) {
		buf_str(&p->out, i ? ",{" : "{");
		if (row->addr)
			script_json_put_address(&p->out, "address", row->addr[i]);
		script_json_put_place(p, row->code[i]);
		buf_u8(&p->out, '}');
	}
	buf_u8(&p->out, ']');
}

static void script_json_put_branch_end(struct script_printer *p, const struct script_row *row,
				       const char *key, uint64_t addr)
{
	json_put_key(&p->out, key);
	buf_u8(&p->out, '{');
	script_json_put_address(&p->out, "address", addr);
	script_json_put_place(p, row->resolve(row->context, addr));
	buf_u8(&p->out, '}');
}

static void script_json_put_branches(struct script_printer *p, const struct script_row *row)
{
	struct buf *out = &p->out;

	if (!row->extra->n_branches || !row->resolve)
		return;
	json_put_key(out, "branches");
	buf_u8(out, '[');
	for (uint32_t i = 0; i < row->extra->n_branches; i++) {
		const struct branch *b = &row->extra->branches[i];

		buf_str(out, i ? ",{" : "{");
		script_json_put_branch_end(p, row, "from", b->from);
		script_json_put_branch_end(p, row, "to", b->to);
		if (b->flags & 3) {
			json_put_key(out, "predicted");
			buf_str(out, b->flags & 2 ? "true" : "false");
		}
		json_put_number(out, "cycles", b->flags >> 4 & 0xffff);
		buf_u8(out, '}');
	}
	buf_u8(out, ']');
}

static void script_json_put_registers(struct script_printer *p, const char *key,
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
			script_json_put_address(out, key_text, regs->values[at]);
		at++;
	}
	buf_u8(out, '}');
}

/* The tracepoint's own text, and its fields by name. */
static void script_json_put_trace(struct script_printer *p, const struct script_row *row)
{
	const struct sample_extra *x = row->extra;
	struct buf *out = &p->out, text = { 0 };

	if (!row->trace || !x->raw)
		return;
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

/* ---- the fields, a function each; script_fields.h has their keys ---- */

static const char *script_json_key_of(enum script_field field)
{
	return script_field_rows[field].json_key;
}

static void script_json_put_number(struct buf *out, enum script_field field, uint64_t number)
{
	json_put_number(out, script_json_key_of(field), number);
}

static bool is_chosen(const struct script_printer *p, const struct script_row *row,
		      enum script_field field)
{
	return p->options->fields.of_type[script_type(row->attr)] >> field & 1;
}

static void put_comm(struct script_printer *p, const struct script_row *row)
{
	json_put_text(&p->out, script_json_key_of(FIELD_COMM), row->comm);
}

static void put_pid(struct script_printer *p, const struct script_row *row)
{
	json_put_key(&p->out, script_json_key_of(FIELD_PID));
	buf_printf(&p->out, "%d", row->pid);
}

static void put_tid(struct script_printer *p, const struct script_row *row)
{
	json_put_key(&p->out, script_json_key_of(FIELD_TID));
	buf_printf(&p->out, "%d", row->tid);
}

static void script_json_put_cpu(struct script_printer *p, const struct script_row *row)
{
	script_json_put_number(&p->out, FIELD_CPU, row->cpu);
}

static void script_json_put_time(struct script_printer *p, const struct script_row *row)
{
	script_json_put_number(&p->out, FIELD_TIME, row->time_ns);
}

static void put_wall_time(struct script_printer *p, const struct script_row *row)
{
	const struct script_options *o = p->options;

	if (o->has_wall_clock && is_chosen(p, row, FIELD_TOD))
		script_json_put_number(&p->out, FIELD_TOD,
				       o->wall_ns + (row->time_ns - o->clock_ns));
}

static void put_event_name(struct script_printer *p, const struct script_row *row)
{
	json_put_text(&p->out, script_json_key_of(FIELD_EVENT), row->event);
}

static void script_json_put_samples(struct script_printer *p, const struct script_row *row)
{
	script_json_put_number(&p->out, FIELD_SAMPLES, row->samples);
}

static void script_json_put_period(struct script_printer *p, const struct script_row *row)
{
	script_json_put_number(&p->out, FIELD_PERIOD, row->period);
}

/* Sessions do not keep it. */
static void script_json_put_mode(struct script_printer *p, const struct script_row *row)
{
	static const char *const modes[] = {
		[MODE_USER] = "user",
		[MODE_KERNEL] = "kernel",
		[MODE_GUEST_KERNEL] = "guest-kernel",
		[MODE_GUEST_USER] = "guest-user",
		[MODE_HYPERVISOR] = "hypervisor",
		[MODE_UNKNOWN] = "unknown",
	};

	if (row->addr)
		json_put_text(&p->out, script_json_key_of(FIELD_MISC), modes[row->mode]);
}

static void script_json_put_cgroup(struct script_printer *p, const struct script_row *row)
{
	json_put_text(&p->out, script_json_key_of(FIELD_CGROUP), row->cgroup);
}

static void script_json_put_source_line(struct script_printer *p, const struct script_row *row)
{
	const char *file;
	uint32_t line;

	if (!is_chosen(p, row, FIELD_SRCLINE) ||
	    !script_place_line(p->places, row->code[0], &file, &line))
		return;
	json_put_text(&p->out, "file", file);
	script_json_put_number(&p->out, FIELD_SRCLINE, line);
}

static void script_json_put_addr(struct script_printer *p, const struct script_row *row)
{
	script_json_put_address(&p->out, script_json_key_of(FIELD_ADDR), row->extra->addr);
}

static void put_data_source(struct script_printer *p, const struct script_row *row)
{
	script_json_put_address(&p->out, script_json_key_of(FIELD_DATA_SRC), row->extra->data_src);
}

static void script_json_put_weight(struct script_printer *p, const struct script_row *row)
{
	script_json_put_number(&p->out, FIELD_WEIGHT, row->extra->weight);
}

static void put_cgroup_id(struct script_printer *p, const struct script_row *row)
{
	json_put_number(&p->out, "cgroup_id", row->extra->cgroup);
}

static void put_user_registers(struct script_printer *p, const struct script_row *row)
{
	script_json_put_registers(p, script_json_key_of(FIELD_UREGS), &row->extra->user);
}

static void put_interrupted_registers(struct script_printer *p, const struct script_row *row)
{
	script_json_put_registers(p, script_json_key_of(FIELD_IREGS), &row->extra->interrupted);
}

/* The fields that only samples of a processor trace have. */

static void script_json_put_target(struct script_printer *p, const struct script_row *row)
{
	if (script_is_branch(row->attr) && row->extra->addr && row->resolve)
		script_json_put_branch_end(p, row, "target", row->extra->addr);
}

static void script_json_put_flags(struct script_printer *p, const struct script_row *row)
{
	struct buf column = { 0 };

	if (!row->extra->flags)
		return;
	script_format_flags(&column, row->extra->flags);
	put_words(&p->out, script_json_key_of(FIELD_FLAGS), &column);
	buf_fini(&column);
}

static void put_synth(struct script_printer *p, const struct script_row *row)
{
	struct buf column = { 0 };

	if (row->attr->type != PT_SYNTH_TYPE || !row->extra->raw)
		return;
	script_put_synth(&column, row->attr->config, row->extra->raw, row->extra->raw_size);
	put_words(&p->out, script_json_key_of(FIELD_SYNTH), &column);
	buf_fini(&column);
}

static void put_ipc(struct script_printer *p, const struct script_row *row)
{
	if (!row->extra->cycles)
		return;
	script_json_put_number(&p->out, FIELD_IPC, row->extra->insns);
	json_put_number(&p->out, "cycles", row->extra->cycles);
}

static void put_depth(struct script_printer *p, const struct script_row *row)
{
	if (is_chosen(p, row, FIELD_CALLINDENT) && script_is_branch(row->attr))
		script_json_put_number(&p->out, FIELD_CALLINDENT, row->extra->depth);
}

static void put_insn(struct script_printer *p, const struct script_row *row)
{
	struct buf column = { 0 };

	if (!is_chosen(p, row, FIELD_INSN) || !row->extra->insn_size)
		return;
	script_put_bytes(&column, row->extra->insn, row->extra->insn_size);
	json_put_text(&p->out, script_json_key_of(FIELD_INSN),
		      buf_cstr(&column) + strlen(" insn: "));
	buf_fini(&column);
}

static void put_insn_size(struct script_printer *p, const struct script_row *row)
{
	uint8_t bytes[SCRIPT_INSN_MAX];

	if (is_chosen(p, row, FIELD_INSNLEN))
		script_json_put_number(&p->out, FIELD_INSNLEN, script_insn(p, row, bytes));
}

static void put_guest(struct script_printer *p, const struct script_row *row)
{
	if (!row->extra->machine_pid)
		return;
	script_json_put_number(&p->out, FIELD_MACHINE_PID, row->extra->machine_pid);
	script_json_put_number(&p->out, FIELD_VCPU, row->extra->vcpu);
}

static void put_source(struct script_printer *p, const struct script_row *row)
{
	const char *file, *text;
	uint32_t line;
	size_t len;
	char *copy;

	if (!is_chosen(p, row, FIELD_SRCCODE) ||
	    !script_place_line(p->places, row->code[0], &file, &line))
		return;
	text = script_place_source(p->places, row->code[0], file, line, &len);
	if (!text)
		return;
	copy = xstrndup(text, len);
	json_put_text(&p->out, script_json_key_of(FIELD_SRCCODE), copy);
	free(copy);
}

static void put_bpf_output(struct script_printer *p, const struct script_row *row)
{
	struct buf column = { 0 };

	if (row->attr->type != PERF_TYPE_SOFTWARE || row->attr->config != PERF_COUNT_SW_BPF_OUTPUT)
		return;
	for (uint32_t i = 0; row->extra->raw && i < row->extra->raw_size; i++)
		buf_printf(&column, "%s%02x", i ? " " : "", row->extra->raw[i]);
	json_put_text(&p->out, script_json_key_of(FIELD_BPF_OUTPUT), buf_cstr(&column));
	buf_fini(&column);
}

static void script_json_put_disasm(struct script_printer *p, const struct script_row *row)
{
	struct buf column = { 0 };

	if (!is_chosen(p, row, FIELD_DISASM) || !row->extra->insn_size)
		return;
	script_put_disasm(p, row, &column);
	json_put_text(&p->out, script_json_key_of(FIELD_DISASM), buf_cstr(&column));
	buf_fini(&column);
}

/*
 * In the order of an object. A field is put if the sample's format has its bit (script_fields.h),
 * and, for rows of extra or of a trace, if there are such. What a frame or a branch has (ip, sym,
 * symoff, dso, brstacksym, brstackoff) comes with these.
 */
static const struct {
	enum script_field field;
	enum { OF_ANY, OF_EXTRA, OF_TRACE } of;
	void (*put)(struct script_printer *p, const struct script_row *row);
} json_fields[] = {
	{ FIELD_COMM, OF_ANY, put_comm },
	{ FIELD_PID, OF_ANY, put_pid },
	{ FIELD_TID, OF_ANY, put_tid },
	{ FIELD_CPU, OF_ANY, script_json_put_cpu },
	{ FIELD_TIME, OF_ANY, script_json_put_time },
	{ FIELD_TOD, OF_ANY, put_wall_time },
	{ FIELD_EVENT, OF_ANY, put_event_name },
	{ FIELD_SAMPLES, OF_ANY, script_json_put_samples },
	{ FIELD_PERIOD, OF_ANY, script_json_put_period },
	{ FIELD_MISC, OF_ANY, script_json_put_mode },
	{ FIELD_CGROUP, OF_ANY, script_json_put_cgroup },
	{ FIELD_SYM, OF_ANY, script_json_put_frames },
	{ FIELD_SRCLINE, OF_ANY, script_json_put_source_line },
	{ FIELD_INSNLEN, OF_ANY, put_insn_size },
	{ FIELD_SRCCODE, OF_ANY, put_source },
	{ FIELD_BPF_OUTPUT, OF_EXTRA, put_bpf_output },
	{ FIELD_MACHINE_PID, OF_EXTRA, put_guest },
	{ FIELD_ADDR, OF_EXTRA, script_json_put_addr },
	{ FIELD_DATA_SRC, OF_EXTRA, put_data_source },
	{ FIELD_WEIGHT, OF_EXTRA, script_json_put_weight },
	{ FIELD_CGROUP, OF_EXTRA, put_cgroup_id },
	{ FIELD_BRSTACK, OF_EXTRA, script_json_put_branches },
	{ FIELD_UREGS, OF_EXTRA, put_user_registers },
	{ FIELD_IREGS, OF_EXTRA, put_interrupted_registers },
	{ FIELD_TRACE, OF_EXTRA, script_json_put_trace },
	{ FIELD_FLAGS, OF_TRACE, script_json_put_flags },
	{ FIELD_FLAGS, OF_TRACE, script_json_put_target },
	{ FIELD_SYNTH, OF_TRACE, put_synth },
	{ FIELD_IPC, OF_TRACE, put_ipc },
	{ FIELD_CALLINDENT, OF_TRACE, put_depth },
	{ FIELD_INSN, OF_TRACE, put_insn },
	{ FIELD_DISASM, OF_TRACE, script_json_put_disasm },
};

void script_print_json(struct script_printer *p, const struct script_row *row)
{
	struct buf *out = &p->out;

	buf_u8(out, '{');
	for (size_t i = 0; i < ARRAY_SIZE(json_fields); i++) {
		uint64_t bit = script_field_rows[json_fields[i].field].sample_type;

		if (bit && !(row->attr->sample_type & bit) && json_fields[i].field != FIELD_PID &&
		    json_fields[i].field != FIELD_TID)
			continue;
		if ((json_fields[i].of != OF_ANY && !row->extra) ||
		    (json_fields[i].of == OF_TRACE && !p->options->is_trace))
			continue;
		json_fields[i].put(p, row);
	}
	script_put_plain_json(out, row);
	buf_str(out, "}\n");
}
