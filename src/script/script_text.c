/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A row as perf script prints it. Widths and separators are those of perf 6.1, found by
 * comparison (tests/compare_script.py): what reads perf's output reads ours.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/utf8.h"
#include "event/data_source.h"
#include "perfdata/regs.h"
#include "perfdata/tracepoint.h"
#include "pt/code.h"
#include "pt/synth_raw.h"
#include "script/script.h"
#include "script/script_columns.h"

/* Places. */

static void script_text_put_symbol(struct buf *out, const struct script_place *place,
				   bool with_offset)
{
	if (!place->symbol) {
		buf_str(out, "[unknown]");
		return;
	}
	utf8_append_visible(out, place->symbol);
	if (!with_offset)
		return;
	buf_str(out, "+0x");
	script_put_hex(out, place->symbol_off, 0);
}

static void put_dso(struct buf *out, const struct script_place *place)
{
	buf_str(out, " (");
	utf8_append_visible(out, place->dso);
	buf_u8(out, ')');
}

/* perf's "FILE:LINE" without directories, or the image and address where no line is known. */
static void script_text_put_line(struct script_printer *p, const struct script_place *place,
				 struct code_addr code, uint64_t addr)
{
	bool is_file = place->kind == IMAGE_FILE || place->kind == IMAGE_VDSO;
	const char *file;
	uint32_t line;

	if (script_place_line(p->places, code, &file, &line)) {
		buf_str(&p->out, "\n  ");
		utf8_append_visible(&p->out, path_file_name(file));
		buf_printf(&p->out, ":%" PRIu32, line);
		return;
	}
	buf_str(&p->out, "\n  ");
	utf8_append_visible(&p->out, path_file_name(place->dso));
	buf_printf(&p->out, "[%" PRIx64 "]", is_file ? code.offset : addr);
}

/* The text behind an address: the name and the image of the place. */
static void put_kept_place(struct script_printer *p, uint64_t fields,
			   const struct script_place *place)
{
	/* The same places come again and again: their text is made once. */
	uint32_t key = 1 | !!(fields & FIELD_BIT(SYM)) << 1 | !!(fields & FIELD_BIT(SYMOFF)) << 2 |
		       !!(fields & FIELD_BIT(DSO)) << 3;
	size_t start = p->out.len;

	if (place->text_key == key) {
		buf_bytes(&p->out, place->text, place->text_len);
		return;
	}
	if (fields & FIELD_BIT(SYM)) {
		buf_u8(&p->out, ' ');
		script_text_put_symbol(&p->out, place, fields & FIELD_BIT(SYMOFF));
	}
	if (fields & FIELD_BIT(DSO))
		put_dso(&p->out, place);
	script_place_keep(p->places, place, key, p->out.data + start, p->out.len - start);
}

/* The same for an address, whose source line may be wanted, too. */
static void script_text_put_place(struct script_printer *p, uint64_t fields, struct code_addr code,
				  uint64_t addr)
{
	const struct script_place *place;

	if (!(fields & (FIELD_BIT(SYM) | FIELD_BIT(DSO) | FIELD_BIT(SRCLINE))))
		return;
	place = script_place(p->places, code);
	put_kept_place(p, fields, place);
	if (fields & FIELD_BIT(SRCLINE))
		script_text_put_line(p, place, code, addr);
}

/* What such an address is the name of changes with the mappings alone, not with time. */
static bool is_lasting(const struct script_place *place)
{
	return place->kind == IMAGE_FILE || place->kind == IMAGE_VDSO ||
	       place->kind == IMAGE_KERNEL;
}

void script_make_end(struct script_printer *p, uint64_t fields, const struct script_row *row,
		     uint64_t addr)
{
	struct script_end_text *known = script_end_text(p, addr);
	uint32_t generation = script_end_generation(row, addr);
	size_t start = p->out.len, len;
	const struct script_place *place;

	script_put_hex(&p->out, addr, 16);
	if (!(fields & (FIELD_BIT(SYM) | FIELD_BIT(DSO))))
		return;
	place = script_place(p->places, row->resolve(row->context, addr));
	put_kept_place(p, fields, place);
	len = p->out.len - start;
	if (!generation || !is_lasting(place) || len > sizeof(known->text))
		return;
	if (known->generation && known->generation == script_end_generation(row, known->addr))
		known = script_end_beside(p, known);
	known->addr = addr;
	known->generation = generation;
	known->len = (uint32_t)len;
	memcpy(known->text, p->out.data + start, len);
}

/* perf prints a caller's address in its file, the kernel's as it ran. */
static uint64_t chain_addr(const struct script_place *place, struct code_addr code, uint64_t addr)
{
	return place->kind == IMAGE_FILE || place->kind == IMAGE_VDSO ? code.offset : addr;
}

struct inlined {
	struct script_printer *printer;
	uint64_t fields, addr;
	const struct script_place *caller;
};

/* perf counts the offset from the start of the function that has the code. */
static void put_inlined(void *context, const char *function)
{
	const struct inlined *in = context;
	struct buf *out = &in->printer->out;
	struct script_place place = *in->caller;

	place.symbol = function;
	buf_u8(out, '\t');
	script_put_hex(out, in->addr, 16);
	if (in->fields & FIELD_BIT(SYM)) {
		buf_u8(out, ' ');
		script_text_put_symbol(out, &place, in->fields & FIELD_BIT(SYMOFF));
	}
	buf_str(out, " (inlined)\n");
}

static void put_frame(struct script_printer *p, uint64_t fields, struct code_addr code,
		      uint64_t addr)
{
	const struct script_place *place = script_place(p->places, code);
	struct buf *out = &p->out;

	addr = chain_addr(place, code, addr);
	if (p->options->with_inlined) {
		struct inlined in = { p, fields, addr, place };

		script_place_inlined(p->places, code, put_inlined, &in);
	}
	buf_u8(out, '\t');
	script_put_hex(out, addr, 16);
	put_kept_place(p, fields, place);
	if (fields & FIELD_BIT(SRCLINE))
		script_text_put_line(p, place, code, addr);
	buf_u8(out, '\n');
}

static void script_text_put_chain(struct script_printer *p, uint64_t fields,
				  const struct script_row *row)
{
	uint32_t n = MIN(row->n_frames, p->options->max_stack);

	buf_u8(&p->out, '\n');
	for (uint32_t i = 0; i < n; i++) {
		struct code_addr code = script_frame_code(row, i);
		uint64_t addr = row->addr ? row->addr[i] - (row->code[i].offset - code.offset)
					  : code.offset;

		put_frame(p, fields, code, addr);
	}
}

/* Branches. */

static char prediction(uint64_t flags)
{
	return flags & 2 ? 'P' : flags & 1 ? 'M' : '-';
}

static void put_branch_flags(struct buf *out, uint64_t flags)
{
	static const char *const types[] = { "",       "COND",      "UNCOND",   "IND",
					     "CALL",   "IND_CALL",  "RET",      "SYSCALL",
					     "SYSRET", "COND_CALL", "COND_RET", "ERET",
					     "IRQ",    "SERROR",    "NO_TX",    "" };

	buf_u8(out, '/');
	buf_u8(out, (uint8_t)prediction(flags));
	buf_str(out, flags & 4 ? "/X/" : "/-/");
	buf_str(out, flags & 8 ? "A/" : "-/");
	script_put_dec(out, flags >> 4 & 0xffff, 0);
	buf_u8(out, '/');
	buf_str(out, types[flags >> 20 & 15]);
	buf_u8(out, ' ');
}

static void script_text_put_branch_end(struct script_printer *p, uint64_t fields,
				       const struct script_row *row, uint64_t addr)
{
	struct code_addr code = row->resolve(row->context, addr);
	const struct script_place *place = script_place(p->places, code);

	if (fields & FIELD_BIT(BRSTACKSYM)) {
		script_text_put_symbol(&p->out, place, true);
	} else {
		buf_str(&p->out, "0x");
		script_put_hex(&p->out, fields & FIELD_BIT(BRSTACKOFF) ? code.offset : addr, 0);
	}
	if (!(fields & FIELD_BIT(DSO)))
		return;
	buf_u8(&p->out, '(');
	utf8_append_visible(&p->out, place->dso);
	buf_u8(&p->out, ')');
}

/* The field that comes first of the three is the one that is shown. */
static void script_text_put_branches(struct script_printer *p, uint64_t fields,
				     const struct script_row *row)
{
	const struct sample_extra *x = row->extra;

	if (fields & FIELD_BIT(BRSTACK))
		fields &= ~(FIELD_BIT(BRSTACKSYM) | FIELD_BIT(BRSTACKOFF));
	else if (fields & FIELD_BIT(BRSTACKSYM))
		fields &= ~FIELD_BIT(BRSTACKOFF);
	for (uint32_t i = 0; row->resolve && i < x->n_branches; i++) {
		if (!(fields & FIELD_BIT(BRSTACKSYM)))
			buf_u8(&p->out, ' ');
		script_text_put_branch_end(p, fields, row, x->branches[i].from);
		buf_u8(&p->out, '/');
		script_text_put_branch_end(p, fields, row, x->branches[i].to);
		put_branch_flags(&p->out, x->branches[i].flags);
	}
}

/* The parts of a line. */

static void script_text_put_time(struct script_printer *p, uint64_t ns)
{
	int digits = p->options->with_ns ? 9 : 6;
	uint64_t shown = ns;

	if (p->options->is_relative)
		shown = ns - p->first_ns;
	else if (p->options->is_delta)
		shown = ns - p->last_ns;
	p->last_ns = ns;
	/* 12 columns at least, of which 5 are before the point. */
	script_put_dec(&p->out, shown / NS_PER_SECOND, 5);
	buf_u8(&p->out, '.');
	script_put_zero_padded(&p->out, shown % NS_PER_SECOND / (digits == 9 ? 1 : 1000), digits);
	buf_str(&p->out, ": ");
}

static void put_time_of_day(struct script_printer *p, uint64_t ns)
{
	uint64_t wall = p->options->wall_ns + (ns - p->options->clock_ns);
	time_t seconds = (time_t)(wall / NS_PER_SECOND);
	struct tm tm;
	char text[64];

	localtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	buf_printf(&p->out, "%s.%06" PRIu64 " ", text, (uint64_t)(wall % NS_PER_SECOND / 1000));
}

static void put_misc(struct buf *out, enum cpu_mode mode)
{
	static const char *const letters[] = {
		[MODE_USER] = "U     ",         [MODE_KERNEL] = "K     ",
		[MODE_GUEST_KERNEL] = "G     ", [MODE_GUEST_USER] = "g     ",
		[MODE_HYPERVISOR] = "H     ",   [MODE_UNKNOWN] = "      ",
	};

	buf_str(out, letters[mode]);
}

void script_text_put_start(struct script_printer *p, uint64_t fields, const struct script_row *row,
			   bool is_narrow)
{
	struct buf *out = &p->out;
	bool is_guest = row->extra && row->extra->machine_pid;

	if (fields & FIELD_BIT(MACHINE_PID) && is_guest)
		buf_printf(out, "VM:%5" PRIu32 " ", row->extra->machine_pid);
	if (fields & FIELD_BIT(VCPU) && is_guest)
		buf_printf(out, "VCPU:%03" PRIu32 " ", row->extra->vcpu);
	if (fields & FIELD_BIT(COMM)) {
		script_put_name(p, row->comm, is_narrow ? 0 : 16);
		buf_u8(out, ' ');
	}
	if (fields & FIELD_BIT(PID)) {
		script_put_int(out, row->pid, 5);
		buf_u8(out, fields & FIELD_BIT(TID) ? '/' : ' ');
	}
	if (fields & FIELD_BIT(TID)) {
		size_t at = out->len;

		script_put_int(out, row->tid, fields & FIELD_BIT(PID) ? 0 : 5);
		if (fields & FIELD_BIT(PID))
			script_put_blanks(out, 5 - (int)(out->len - at));
		buf_u8(out, ' ');
	}
	if (fields & FIELD_BIT(CPU)) {
		buf_u8(out, '[');
		if (row->cpu == UINT32_MAX) /* not of a CPU */
			buf_str(out, "-01");
		else if (row->cpu < 1000)
			script_put_zero_padded(out, row->cpu, 3);
		else
			script_put_dec(out, row->cpu, 0);
		buf_str(out, "] ");
	}
	if (fields & FIELD_BIT(MISC))
		put_misc(out, row->mode);
	if (fields & FIELD_BIT(TOD) && p->options->has_wall_clock)
		put_time_of_day(p, row->time_ns);
	if (fields & FIELD_BIT(TIME))
		script_text_put_time(p, row->time_ns);
}

/* Page faults and branches are about their address, which then has a name. */
static bool names_addr(const struct perf_event_attr *attr)
{
	return script_is_branch(attr) || (attr->type == PERF_TYPE_SOFTWARE &&
					  (attr->config == PERF_COUNT_SW_PAGE_FAULTS ||
					   attr->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
					   attr->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ));
}

static void script_text_put_addr(struct script_printer *p, uint64_t fields,
				 const struct script_row *row)
{
	uint64_t addr = row->extra->addr;

	script_put_hex(&p->out, addr, 16);
	if (fields & (FIELD_BIT(SYM) | FIELD_BIT(DSO)) && names_addr(row->attr) && row->resolve)
		script_text_put_place(p, fields & ~FIELD_BIT(SRCLINE),
				      row->resolve(row->context, addr), addr);
}

static void script_text_put_registers(struct script_printer *p, const struct sample_registers *regs)
{
	struct buf *out = &p->out;
	uint32_t at = 0;

	if (!regs->n_values)
		return;
	buf_printf(out, " ABI:%" PRIu64 " ", regs->abi);
	for (uint32_t i = 0; i < 64 && at < regs->n_values; i++) {
		const char *name = register_name(i, p->options->is_aarch64);

		if (regs->mask >> i & 1)
			buf_printf(out, "%5s:0x%" PRIx64 " ", name ? name : "unknown",
				   regs->values[at++]);
	}
}

static void script_text_put_event(struct script_printer *p, uint64_t fields,
				  const struct script_row *row)
{
	struct buf *out = &p->out;

	if (fields & FIELD_BIT(SAMPLES)) {
		script_put_dec(out, row->samples, 6);
		buf_str(out, row->samples == 1 ? " sample  " : " samples ");
	}
	if (fields & FIELD_BIT(PERIOD)) {
		script_put_dec(out, row->period, 10);
		buf_u8(out, ' ');
	}
	if (fields & FIELD_BIT(EVENT)) {
		script_put_name(p, row->event, p->event_width);
		buf_str(out, ": ");
	}
}

/* As wide as perf's: its column grows with the texts, and its longest text has 99 bytes. */
#define SOURCE_WIDTH_MAX 99
static void script_text_put_source(struct script_printer *p, const struct script_row *row)
{
	size_t start = p->out.len;

	script_put_hex(&p->out, row->extra->data_src, 16);
	buf_u8(&p->out, ' ');
	data_source_put(&p->out, row->extra->data_src);
	p->out.len = MIN(p->out.len, start + SOURCE_WIDTH_MAX);
	p->source_width = MAX(p->source_width, p->out.len - start);
	while (p->out.len - start < p->source_width)
		buf_u8(&p->out, ' ');
}

/* The text before the address of a sample that is no branch. */
static void put_before(struct script_printer *p, uint64_t fields, const struct script_row *row)
{
	struct buf *out = &p->out;

	if (fields & FIELD_BIT(SYNTH) && row->attr->type == PT_SYNTH_TYPE && row->extra)
		script_put_synth(out, row->attr->config, row->extra->raw, row->extra->raw_size);
	/* In a trace a field may be asked for that some events have not. */
	if (!row->extra) {
		if (fields & FIELD_BIT(ADDR))
			script_put_hex(out, 0, 16);
		return;
	}
	if (fields & FIELD_BIT(TRACE) && row->trace && row->extra->raw)
		tracepoint_print(row->trace, row->extra->raw, row->extra->raw_size, out);
	if (fields & FIELD_BIT(ADDR))
		script_text_put_addr(p, fields, row);
	if (fields & FIELD_BIT(DATA_SRC))
		script_text_put_source(p, row);
	if (fields & FIELD_BIT(WEIGHT))
		script_put_dec(out, row->extra->latency, 16);
}

/* Calls indented by how deep they are; the column's width changes seldom. */
static void script_text_put_call(struct script_printer *p, uint64_t fields,
				 const struct script_row *row)
{
	const struct sample_extra *x = row->extra;
	bool is_in = x->flags & (PT_F_CALL | PT_F_BEGIN),
	     is_out = x->flags & (PT_F_RETURN | PT_F_END);
	uint32_t depth = x->depth + !!(x->flags & PT_F_RETURN);
	const struct script_place *place;
	size_t start, len;

	if (fields & FIELD_BIT(DSO) && !(fields & (FIELD_BIT(IP) | FIELD_BIT(ADDR)))) {
		place = script_place(p->places, row->code[0]);
		buf_u8(&p->out, '(');
		script_put_name_left(p, place->dso, (int)p->options->dso_width);
		buf_str(&p->out, ")\t");
	}
	start = p->out.len;
	if (is_in || is_out) {
		uint64_t addr = is_in ? x->addr : row->addr[0];

		place = script_place(p->places,
				     is_in ? row->resolve(row->context, addr) : row->code[0]);
		script_put_blanks(&p->out, (int)depth * 4);
		if (place->symbol)
			utf8_append_visible(&p->out, place->symbol);
		else
			script_put_hex(&p->out, addr, 16);
	}
	len = p->out.len - start;
	if (len > p->indent_width || (len && len + 52 < p->indent_width))
		p->indent_width = (len + 4 + 31) / 32 * 32;
	script_put_blanks(&p->out, (int)(p->indent_width - MIN(len, p->indent_width)));
}

/* Fields that stand at a line's start, before its addresses, and beside those of a branch. */
#define START_FIELDS                                                                   \
	(FIELD_BIT(MACHINE_PID) | FIELD_BIT(VCPU) | FIELD_BIT(COMM) | FIELD_BIT(PID) | \
	 FIELD_BIT(TID) | FIELD_BIT(CPU) | FIELD_BIT(MISC) | FIELD_BIT(TOD) | FIELD_BIT(TIME))
#define BESIDE_BRANCH                                                                   \
	(FIELD_BIT(CALLINDENT) | FIELD_BIT(SYM) | FIELD_BIT(DSO) | FIELD_BIT(SRCLINE) | \
	 FIELD_BIT(IPC) | FIELD_BIT(INSN) | FIELD_BIT(INSNLEN) | FIELD_BIT(SRCCODE) |   \
	 FIELD_BIT(DISASM))
#define BOTH_ADDRESSES (FIELD_BIT(IP) | FIELD_BIT(ADDR))

static void script_text_put_disasm(struct script_printer *p, const struct script_row *row)
{
	if (!row->extra || !row->extra->insn_size)
		return;
	buf_str(&p->out, "\t\t");
	script_put_disasm(p, row, &p->out);
}

/* The source and the target of a branch, on one line. */
static void script_text_put_branch(struct script_printer *p, uint64_t fields,
				   const struct script_row *row)
{
	uint64_t addr = row->addr ? row->addr[0] : row->code[0].offset;

	if (!(fields & BESIDE_BRANCH) && (fields & BOTH_ADDRESSES) == BOTH_ADDRESSES) {
		buf_reserve(&p->out, SCRIPT_ADDRESSES_SIZE);
		script_put_addresses(p->out.data + p->out.len, addr, row->extra->addr);
		p->out.len += SCRIPT_ADDRESSES_SIZE;
		return;
	}
	if (fields & FIELD_BIT(CALLINDENT))
		script_text_put_call(p, fields, row);
	if (fields & FIELD_BIT(IP)) {
		buf_u8(&p->out, ' ');
		script_put_end(p, fields, row, addr);
	}
	if (fields & FIELD_BIT(ADDR) || !p->options->fields.is_set) {
		buf_str(&p->out, " => ");
		script_put_end(p, fields, row, row->extra->addr);
	}
	if (fields & FIELD_BIT(IPC))
		script_put_ipc(&p->out, row->extra);
	if (fields & FIELD_BIT(SRCLINE))
		script_text_put_line(p, script_place(p->places, row->code[0]), row->code[0], addr);
	if (fields & FIELD_BIT(INSNLEN))
		buf_printf(&p->out, " ilen: %u", (unsigned int)row->extra->insn_size);
	if (fields & FIELD_BIT(INSN) && row->extra->insn_size)
		script_put_bytes(&p->out, row->extra->insn, row->extra->insn_size);
	if (fields & FIELD_BIT(DISASM))
		script_text_put_disasm(p, row);
	buf_u8(&p->out, '\n');
	if (fields & FIELD_BIT(SRCCODE))
		script_put_source(p, row->code[0]);
}

static bool is_bpf_output(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_BPF_OUTPUT;
}

static void put_extra(struct script_printer *p, uint64_t fields, const struct script_row *row)
{
	const struct sample_extra *x = row->extra;

	if (fields & FIELD_BIT(IREGS))
		script_text_put_registers(p, &x->interrupted);
	if (fields & FIELD_BIT(UREGS))
		script_text_put_registers(p, &x->user);
	if (fields & (FIELD_BIT(BRSTACK) | FIELD_BIT(BRSTACKSYM) | FIELD_BIT(BRSTACKOFF)))
		script_text_put_branches(p, fields, row);
	if (fields & FIELD_BIT(BPF_OUTPUT) && is_bpf_output(row->attr) && x->raw)
		script_put_bpf_output(&p->out, x->raw, x->raw_size);
}

static void put_code(struct script_printer *p, uint64_t fields, const struct script_row *row)
{
	uint8_t bytes[SCRIPT_INSN_MAX];
	uint32_t n =
		fields & (FIELD_BIT(INSN) | FIELD_BIT(INSNLEN)) ? script_insn(p, row, bytes) : 0;

	if (fields & FIELD_BIT(INSNLEN))
		buf_printf(&p->out, " ilen: %" PRIu32, n);
	if (fields & FIELD_BIT(INSN) && n)
		script_put_bytes(&p->out, bytes, n);
	if (fields & FIELD_BIT(DISASM))
		script_text_put_disasm(p, row);
	if (fields & FIELD_BIT(IPC))
		script_put_ipc(&p->out, row->extra);
}

static void put_after(struct script_printer *p, uint64_t fields, const struct script_row *row)
{
	if (fields & FIELD_BIT(CGROUP)) { /* in perf's words */
		buf_u8(&p->out, ' ');
		utf8_append_visible(&p->out, *row->cgroup ? row->cgroup : "unknown");
	}
	if (row->extra)
		put_extra(p, fields, row);
	put_code(p, fields, row);
	script_put_plain_text(&p->out, fields, row);
}

/* Fields that are the same of each branch of a thread at a time. */
static void put_common(struct script_printer *p, uint64_t fields, const struct script_row *row,
		       bool is_narrow)
{
	if (fields & START_FIELDS)
		script_text_put_start(p, fields, row, is_narrow);
	script_text_put_event(p, fields, row);
}

static bool is_known_start(const struct script_start_text *known, const struct script_row *row,
			   bool is_narrow)
{
	return known->attr == row->attr && known->generation == row->generation &&
	       known->time_ns == row->time_ns && known->cpu == row->cpu &&
	       known->mode == row->mode && known->period == row->period &&
	       known->is_narrow == is_narrow;
}

/* Between two timing packets there are dozens of branches: they begin with the same text. */
static void put_branch_start(struct script_printer *p, uint64_t fields,
			     const struct script_row *row, bool is_narrow)
{
	struct script_start_text *known = &p->start_text;
	size_t start = p->out.len, len;

	if (is_known_start(known, row, is_narrow)) {
		buf_bytes(&p->out, known->text, known->len);
		return;
	}
	put_common(p, fields, row, is_narrow);
	len = p->out.len - start;
	if (!len || !row->generation || p->options->is_delta || len > sizeof(known->text))
		return;
	known->attr = row->attr;
	known->generation = row->generation;
	known->time_ns = row->time_ns;
	known->cpu = row->cpu;
	known->mode = row->mode;
	known->period = row->period;
	known->is_narrow = is_narrow;
	known->len = (uint32_t)len;
	memcpy(known->text, p->out.data + start, len);
}

void script_print_text(struct script_printer *p, const struct script_row *row)
{
	uint64_t fields = p->options->fields.of_type[script_type(row->attr)];
	bool has_chain = fields & FIELD_BIT(IP) && row->has_chain && !p->options->hides_chains;
	bool is_branch = script_is_branch(row->attr);

	if (!fields)
		return;
	if (is_branch)
		put_branch_start(p, fields, row, has_chain);
	else
		put_common(p, fields, row, has_chain);
	if (fields & FIELD_BIT(FLAGS))
		script_put_flags(p, row->extra ? row->extra->flags : 0);
	if (is_branch && row->extra && row->resolve) {
		script_text_put_branch(p, fields, row);
		return;
	}
	if (!is_branch)
		put_before(p, fields, row);
	if (has_chain) {
		script_text_put_chain(p, fields, row);
	} else if (fields & FIELD_BIT(IP)) {
		uint64_t addr = row->addr ? row->addr[0] : row->code[0].offset;

		buf_u8(&p->out, ' ');
		script_put_hex(&p->out, addr, 16);
		script_text_put_place(p, fields, row->code[0], addr);
	}
	put_after(p, fields, row);
	buf_u8(&p->out, '\n');
	if (fields & FIELD_BIT(SRCCODE))
		script_put_source(p, row->code[0]);
}
