/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of samples that were made of a processor trace, in perf's words and widths
 * (perf-intel-pt and perf-script in its documentation).
 */
#include <elf.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "event/trace_error.h"
#include "pt/code.h"
#include "pt/flow.h"
#include "pt/insn.h"
#include "pt/synth_raw.h"
#include "script/script.h"
#include "symbol/disasm.h"

enum { SYNTH_WIDTH = 34 };

/* ---- flags ---- */

static const char *script_flags_name(uint32_t flags)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} names[] = {
		{ PT_F_CALL, "call" },
		{ PT_F_RETURN, "return" },
		{ PT_F_COND, "jcc" },
		{ 0, "jmp" },
		{ PT_F_CALL | PT_F_INTERRUPT, "int" },
		{ PT_F_RETURN | PT_F_INTERRUPT, "iret" },
		{ PT_F_CALL | PT_F_SYSTEM, "syscall" },
		{ PT_F_RETURN | PT_F_SYSTEM, "sysret" },
		{ PT_F_ASYNC, "async" },
		{ PT_F_CALL | PT_F_ASYNC | PT_F_INTERRUPT, "hw int" },
		{ PT_F_TX_ABORT, "tx abrt" },
		{ PT_F_BEGIN, "tr strt" },
		{ PT_F_END, "tr end" },
		{ PT_F_CALL | PT_F_VM_ENTRY, "vmentry" },
		{ PT_F_CALL | PT_F_ASYNC | PT_F_VM_EXIT, "vmexit" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (flags == (names[i].flags | PT_F_BRANCH))
			return names[i].name;
	return NULL;
}

static void put_letters(struct buf *out, uint32_t flags)
{
	static const char letters[] = "bcrosyiABExghDt";
	char text[sizeof(letters)] = "";
	size_t n = 0;

	for (size_t i = 0; letters[i]; i++)
		if (flags >> i & 1)
			text[n++] = letters[i];
	buf_printf(out, "  %-21s ", text);
}

void script_format_flags(struct buf *out, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} ends[] = { { PT_F_BEGIN, "tr strt " }, { PT_F_END, "tr end  " } };
	const uint32_t states = PT_F_IN_TX | PT_F_INTERRUPTS_OFF | PT_F_INTERRUPTS_CHANGE;
	uint32_t rest = flags & ~states;
	char state[8] = "";
	const char *name;

	if (flags & states)
		snprintf(state, sizeof(state), "(%s%s%s)", flags & PT_F_IN_TX ? "x" : "",
			 flags & PT_F_INTERRUPTS_OFF ? "D" : "",
			 flags & PT_F_INTERRUPTS_CHANGE ? "t" : "");
	name = script_flags_name(rest);
	if (name) {
		buf_printf(out, "  %-15s%6s ", name, state);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		name = rest & ends[i].flag ? script_flags_name(rest & ~ends[i].flag) : NULL;
		if (name) {
			buf_printf(out, "  %s%-7s%6s ", ends[i].name, name, state);
			return;
		}
	}
	put_letters(out, flags);
}

/* All of them have the same width, and a program has few: each is formatted once. */
void script_put_flags(struct script_printer *p, uint32_t flags)
{
	struct script_flags_text *known = &p->flags_texts[flags % ARRAY_SIZE(p->flags_texts)];
	size_t start = p->out.len;

	if (known->is_known && known->flags == flags) {
		buf_bytes(&p->out, known->text, sizeof(known->text));
		return;
	}
	script_format_flags(&p->out, flags);
	if (p->out.len - start != sizeof(known->text))
		return;
	known->is_known = true;
	known->flags = flags;
	memcpy(known->text, p->out.data + start, sizeof(known->text));
}

/* ---- events of the trace alone ---- */

static void put_cbr(struct buf *out, uint32_t flags, uint32_t khz)
{
	uint32_t cbr = flags & 0xff, ratio = flags >> 16 & 0xff;

	buf_printf(out, " cbr: %2u freq: %4u MHz ", cbr, khz / 1000 + (khz % 1000 >= 500));
	if (ratio)
		buf_printf(out, "(%3u%%) ", (5 + 1000 * cbr / ratio) / 10);
}

/* What a CFE packet said, and the EVD packets before it: the SDM's names of their types. */
static void script_trace_put_event(struct buf *out, uint32_t word, const uint8_t *raw, size_t size)
{
	static const char *const types[32] = { NULL,     "INTR",        "IRET",     "SMI",
					       "RSM",    "SIPI",        "INIT",     "VMENTRY",
					       "VMEXIT", "VMEXIT_INTR", "SHUTDOWN", NULL,
					       "UINT",   "UIRET" };
	static const char *const data[64] = { "PFA", "VMXQ", "VMXR" };
	uint32_t type = word & 31, n = word >> 16;

	buf_str(out, " cfe: ");
	if (types[type])
		buf_str(out, types[type]);
	else
		buf_printf(out, "%u", type);
	buf_printf(out, " IP: %u vector: %u", word >> 7 & 1, word >> 8 & 0xff);
	for (uint32_t i = 0; i < n && size >= 4 + (i + 1) * (size_t)16; i++) {
		uint32_t of = raw[4 + i * 16] & 63;
		uint64_t v;

		memcpy(&v, raw + 4 + i * 16 + 8, sizeof(v));
		if (data[of])
			buf_printf(out, " %s: %#" PRIx64, data[of], v);
		else
			buf_printf(out, " EVD_%u: %#" PRIx64, of, v);
	}
}

/* perf shows a value of ptwrite as text, too, if all of it can be printed. */
static void script_put_value_as_text(struct buf *out, uint64_t value)
{
	char text[sizeof(value) + 1] = "";
	size_t n = 0;

	memcpy(text, &value, sizeof(value));
	while (text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	if (n == sizeof(value) || value >> 8 * n == 0)
		buf_printf(out, "%s ", text);
}

void script_put_synth(struct buf *out, uint64_t config, const uint8_t *raw, size_t size)
{
	uint32_t flags = 0, second = 0;
	uint64_t v = 0;
	size_t start = out->len;

	if (raw && size >= 4)
		memcpy(&flags, raw, 4);
	if (raw && size >= 8)
		memcpy(&second, raw + 4, 4);
	if (raw && size >= 12)
		memcpy(&v, raw + 4, 8);
	switch ((enum pt_synth_id)config) {
	case PT_SYNTH_PTWRITE:
		buf_printf(out, " IP: %u payload: %#" PRIx64 " ", flags & 1, v);
		script_put_value_as_text(out, v);
		break;
	case PT_SYNTH_MWAIT:
		buf_printf(out, " hints: %#x extensions: %#x ", (unsigned int)(v & 0xff),
			   (unsigned int)(v >> 32 & 3));
		break;
	case PT_SYNTH_PWRE:
		buf_printf(out, " hw: %u cstate: %u sub-cstate: %u ", (unsigned int)(v >> 7 & 1),
			   (unsigned int)(v >> 12 & 15), (unsigned int)(v >> 8 & 15));
		break;
	case PT_SYNTH_EXSTOP:
		buf_printf(out, " IP: %u ", flags & 1);
		break;
	case PT_SYNTH_PWRX:
		buf_printf(out, " deepest cstate: %u last cstate: %u wake reason: %#x ",
			   (unsigned int)(v & 15), (unsigned int)(v >> 4 & 15),
			   (unsigned int)(v >> 8 & 15));
		break;
	case PT_SYNTH_CBR:
		put_cbr(out, flags, second);
		break;
	case PT_SYNTH_PSB:
		buf_printf(out, " psb offs: %#" PRIx64, v);
		break;
	case PT_SYNTH_EVT:
		script_trace_put_event(out, flags, raw, size);
		break;
	case PT_SYNTH_IFLAG:
		buf_printf(out, " IFLAG: %d->%d %s branch", !(flags & 1), flags & 1,
			   flags & 2 ? "via" : "non");
		break;
	case N_PT_SYNTHS:
		return;
	}
	while (out->len - start < SYNTH_WIDTH)
		buf_u8(out, ' ');
}

void script_put_ipc(struct buf *out, const struct sample_extra *x)
{
	uint64_t hundredths;

	if (!x || !x->insns || !x->cycles)
		return;
	hundredths = x->insns * 100 / x->cycles;
	buf_printf(out, " \t IPC: %" PRIu64 ".%02" PRIu64 " (%" PRIu64 "/%" PRIu64 ") ",
		   hundredths / 100, hundredths % 100, x->insns, x->cycles);
}

void script_put_bytes(struct buf *out, const uint8_t *bytes, uint32_t n)
{
	buf_str(out, " insn:");
	for (uint32_t i = 0; i < MIN(n, SCRIPT_INSN_MAX); i++)
		buf_printf(out, " %02x", bytes[i]);
}

uint32_t script_insn(struct script_printer *p, const struct script_row *row,
		     uint8_t bytes[SCRIPT_INSN_MAX])
{
	const struct sample_extra *x = row->extra;
	unsigned int width = 64;
	struct pt_insn insn;
	size_t n;

	if (x && x->insn_size) {
		n = MIN(x->insn_size, sizeof(x->insn));
		memcpy(bytes, x->insn, n);
		return (uint32_t)n;
	}
	/* A trace's instruction whose bytes in memory are not known; the file has others. */
	if (p->options->is_aarch64 || (x && x->insn_width))
		return 0;
	n = script_place_code(p->places, row->code[0], bytes, SCRIPT_INSN_MAX, &width);
	return pt_insn_read(width, bytes, n, &insn) && insn.size <= n ? insn.size : 0;
}

/* ---- what perf shows below or behind a line ---- */

#define BPF_BYTES 8 /* of a line */

static void put_bpf_line(struct buf *out, const uint8_t *bytes, uint32_t at, uint32_t size,
			 bool *is_text, bool *is_over)
{
	buf_printf(out, "%17s %04" PRIx32 ":", at ? "           " : "BPF output:", at);
	for (uint32_t i = at; i < at + BPF_BYTES; i++)
		if (i < size)
			buf_printf(out, " %02x", bytes[i]);
		else
			buf_str(out, "   ");
	buf_str(out, "  ");
	for (uint32_t i = at; i < at + BPF_BYTES; i++) {
		uint8_t c = i < size ? bytes[i] : ' ';
		bool is_printable = c >= 0x20 && c < 0x7f;

		buf_u8(out, is_printable ? c : '.');
		if (i >= size)
			continue;
		*is_text &= !(*is_over && c) && (is_printable || !c);
		*is_over |= *is_text && !c;
	}
	buf_u8(out, '\n');
}

void script_put_bpf_output(struct buf *out, const uint8_t *bytes, uint32_t size)
{
	bool is_text = true, is_over = false;

	buf_u8(out, '\n');
	for (uint32_t at = 0; at < size; at += BPF_BYTES)
		put_bpf_line(out, bytes, at, size, &is_text, &is_over);
	if (is_text && is_over)
		buf_printf(out, "%17s \"%s\"\n", "BPF string:", (const char *)bytes);
}

void script_put_source(struct script_printer *p, struct code_addr code)
{
	const char *file, *text;
	uint32_t line;
	size_t len;

	if (!script_place_line(p->places, code, &file, &line) ||
	    (p->source_file == file && p->source_line == line))
		return;
	text = script_place_source(p->places, code, file, line, &len);
	if (!text)
		return;
	p->source_file = file;
	p->source_line = line;
	buf_printf(&p->out, "|%-8" PRIu32 " ", line);
	for (size_t i = 0; i < len; i++)
		buf_u8(&p->out,
		       (uint8_t)text[i] >= ' ' || text[i] == '\t' ? (uint8_t)text[i] : '?');
	buf_u8(&p->out, '\n');
}

void script_put_disasm(struct script_printer *p, const struct script_row *row, struct buf *out)
{
	const struct sample_extra *x = row->extra;
	struct disassembler **d;
	struct instruction insn;
	bool is_64;

	if (!x || !x->insn_size)
		return;
	is_64 = x->insn_width == 64;
	d = &p->disassemblers[is_64];
	if (!*d && disassembler_open(is_64 ? EM_X86_64 : EM_386, is_64, d, NULL) < 0)
		return;
	/* Addresses in it are those that it ran at. */
	disassemble(*d, x->insn, MIN(x->insn_size, sizeof(x->insn)),
		    row->addr ? row->addr[0] : row->code[0].offset, &insn);
	buf_str(out, insn.text);
}

/* ---- errors ---- */

static void script_put_error(struct buf *out, const struct event *e, uint64_t addr, uint32_t code,
			     const char *text)
{
	buf_str(out, " instruction trace error type 1");
	if (e->time_ns)
		buf_printf(out, " time %" PRIu64 ".%09" PRIu64, e->time_ns / NS_PER_SECOND,
			   e->time_ns % NS_PER_SECOND);
	buf_printf(out, " cpu %d pid %d tid %d ip %#" PRIx64 " code %u: %s\n", (int)e->cpu, e->pid,
		   e->tid, addr, code, text);
}

static const char *script_error_text(const struct event *e)
{
	return e->trace_error.text ? e->trace_error.text : trace_error_text(e->trace_error.reason);
}

void script_print_error(struct script_printer *p, const struct event *e)
{
	uint32_t code =
		e->trace_error.text ? e->trace_error.code : trace_error_code(e->trace_error.reason);

	script_put_error(&p->out, e, e->trace_error.addr, code, script_error_text(e));
}

/* Up to the members that an error and a recorded stretch have both. */
static void script_json_begin_error(struct buf *out, const struct event *e, const char *text)
{
	buf_str(out, "{\"error\":");
	json_put_string(out, text);
	buf_printf(out, ",\"time_ns\":%" PRIu64 ",\"pid\":%d,\"tid\":%d", e->time_ns, e->pid,
		   e->tid);
	if (e->cpu != UINT32_MAX)
		buf_printf(out, ",\"cpu\":%u", e->cpu);
}

void script_json_error(struct script_printer *p, const struct event *e)
{
	script_json_begin_error(&p->out, e, script_error_text(e));
	buf_printf(&p->out, ",\"address\":\"0x%" PRIx64 "\",\"trace_offset\":%" PRIu64 "}\n",
		   e->trace_error.addr, e->trace_error.offset);
}

static void script_json_unverified(struct buf *out, const struct event *e)
{
	buf_printf(out,
		   "{\"unverified_instructions\":%" PRIu64 ",\"from_ns\":%" PRIu64
		   ",\"time_ns\":%" PRIu64 ",\"pid\":%d,\"tid\":%d,",
		   e->trace_unverified.insns, e->trace_unverified.from_ns, e->time_ns, e->pid,
		   e->tid);
	if (e->cpu != UINT32_MAX)
		buf_printf(out, "\"cpu\":%u,", e->cpu);
	buf_printf(out, "\"trace_offset\":%" PRIu64 ",\"is_confirmed\":%s}\n",
		   e->trace_unverified.offset, e->trace_unverified.is_confirmed ? "true" : "false");
}

static void script_put_time(struct buf *out, const char *word, uint64_t ns)
{
	if (ns)
		buf_printf(out, " %s %" PRIu64 ".%09" PRIu64, word, ns / NS_PER_SECOND,
			   ns % NS_PER_SECOND);
}

void script_print_unverified(struct script_printer *p, const struct event *e)
{
	const char *recorded = e->trace_unverified.text;
	struct buf *out = &p->out;

	if (recorded && p->options->is_json) {
		script_json_begin_error(out, e, recorded);
		buf_str(out, "}\n");
		return;
	}
	if (recorded) {
		script_put_error(out, e, 0, TRACE_ERROR_UNVERIFIED, recorded);
		return;
	}
	if (p->options->is_json) {
		script_json_unverified(out, e);
		return;
	}
	buf_str(out, " instruction trace unverified");
	script_put_time(out, "from", e->trace_unverified.from_ns);
	script_put_time(out, "to", e->time_ns);
	buf_printf(out,
		   " cpu %d pid %d tid %d offset %#" PRIx64 " instructions %" PRIu64
		   ": an error is among them; the address behind them %s\n",
		   (int)e->cpu, e->pid, e->tid, e->trace_unverified.offset,
		   e->trace_unverified.insns,
		   e->trace_unverified.is_confirmed ? "fits" : "does not fit, or is not known");
}
