/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "writer.h"

#include <string.h>

#include "pt/packet.h"
#include "pt/packet_text.h"

#define PACKET(...) (&(struct pt_packet){ __VA_ARGS__ })

void writer_init(struct writer *w, const struct writer_options *options)
{
	*w = (struct writer){ .options = *options, .width = 64 };
	if (!w->options.psb_bytes)
		w->options.psb_bytes = 2048;
	if (!w->options.cbr)
		w->options.cbr = 20;
	if (!w->options.ctc_denominator) {
		w->options.ctc_numerator = 100;
		w->options.ctc_denominator = 2;
	}
}

void writer_fini(struct writer *w)
{
	buf_fini(&w->out);
}

/* The cycles since the last CYC go before a packet that can carry them. */
static void put_cycles(struct writer *w)
{
	if (!w->options.has_cyc || !w->cycles)
		return;
	pt_packet_write(&w->out, PACKET(.type = PT_CYC, .payload = w->cycles));
	w->cycles = 0;
}

/* The shortest form that gives the address; last-IP moves with it. */
static void put_ip(struct writer *w, enum pt_type type, uint64_t ip)
{
	struct pt_packet p = { .type = (uint8_t)type, .payload = ip };
	uint64_t differs = ip ^ w->last_ip;

	if (!(differs >> 16))
		p.count = PT_IP_16;
	else if (!(differs >> 32))
		p.count = PT_IP_32;
	else
		p.count = PT_IP_48_SIGNED;
	w->last_ip = ip;
	pt_packet_write(&w->out, &p);
}

static void flush_tnt(struct writer *w)
{
	if (!w->n_bits)
		return;
	put_cycles(w);
	pt_packet_write(&w->out,
			PACKET(.type = PT_TNT, .count = (uint16_t)w->n_bits, .payload = w->bits));
	w->bits = 0;
	w->n_bits = 0;
}

void writer_flush(struct writer *w)
{
	flush_tnt(w);
	for (uint32_t i = 0; i < w->n_tips; i++)
		put_ip(w, PT_TIP, w->tips[i]);
	w->n_tips = 0;
}

void writer_packet(struct writer *w, const struct pt_packet *p)
{
	writer_flush(w);
	pt_packet_write(&w->out, p);
}

static uint64_t ctc_of(const struct writer *w)
{
	return w->tsc * w->options.ctc_denominator / w->options.ctc_numerator;
}

static void put_tsc(struct writer *w)
{
	uint64_t ctc = ctc_of(w);

	if (!w->options.has_tsc)
		return;
	pt_packet_write(&w->out, PACKET(.type = PT_TSC, .payload = w->tsc));
	if (!w->options.has_mtc)
		return;
	/* The fast counter: TSC ticks since the CTC moved. */
	pt_packet_write(&w->out,
			PACKET(.type = PT_TMA, .payload = ctc & 0xffff,
			       .count = (uint16_t)(w->tsc - ctc * w->options.ctc_numerator /
								    w->options.ctc_denominator)));
	w->ctc_sent = ctc >> w->options.mtc_shift;
}

static void put_mtc(struct writer *w)
{
	uint64_t now = ctc_of(w) >> w->options.mtc_shift;

	if (!w->options.has_mtc || now == w->ctc_sent)
		return;
	writer_flush(w);
	put_cycles(w);
	for (; w->ctc_sent != now; w->ctc_sent++)
		pt_packet_write(&w->out,
				PACKET(.type = PT_MTC, .payload = (w->ctc_sent + 1) & 0xff));
}

static void clear_stack(struct writer *w)
{
	w->top = 0;
	w->depth = 0;
}

static void put_pip(struct writer *w)
{
	if (w->options.has_pip)
		pt_packet_write(&w->out, PACKET(.type = PT_PIP, .payload = w->cr3 >> 5,
						.flag = w->is_guest));
}

/* The order of a Skylake: modes, address, time, frequency. */
static void put_psb(struct writer *w)
{
	writer_flush(w);
	pt_packet_write(&w->out, PACKET(.type = PT_PSB));
	w->last_ip = 0;
	clear_stack(w);
	put_pip(w);
	pt_packet_write(&w->out, PACKET(.type = PT_MODE_TSX, .payload = w->in_transaction));
	pt_packet_write(&w->out, PACKET(.type = PT_MODE_EXEC, .payload = w->width,
					.count = w->interrupts_on));
	if (w->ip) {
		pt_packet_write(&w->out,
				PACKET(.type = PT_FUP, .count = PT_IP_48_SIGNED, .payload = w->ip));
		w->last_ip = w->ip;
	}
	put_tsc(w);
	pt_packet_write(&w->out, PACKET(.type = PT_CBR, .payload = w->options.cbr));
	pt_packet_write(&w->out, PACKET(.type = PT_PSBEND));
	w->last_psb = w->out.len;
}

void writer_enable(struct writer *w, uint64_t ip)
{
	writer_flush(w);
	if (!w->out.len)
		put_psb(w);
	else if (w->options.is_of_cpu)
		put_mtc(w);
	else
		put_tsc(w);
	pt_packet_write(&w->out, PACKET(.type = PT_MODE_EXEC, .payload = w->width,
					.count = w->interrupts_on));
	put_cycles(w);
	put_ip(w, PT_TIP_PGE, ip);
	w->ip = ip;
}

void writer_disable(struct writer *w)
{
	writer_flush(w);
	put_cycles(w);
	pt_packet_write(&w->out, PACKET(.type = PT_TIP_PGD));
	w->ip = 0;
}

void writer_interrupt(struct writer *w)
{
	writer_flush(w);
	put_ip(w, PT_FUP, w->ip);
	writer_disable(w);
}

void writer_interrupt_event(struct writer *w, uint8_t vector, uint64_t fault)
{
	writer_flush(w);
	if (fault)
		pt_packet_write(&w->out, PACKET(.type = PT_EVD, .count = 0, .payload = fault));
	pt_packet_write(&w->out, PACKET(.type = PT_CFE, .count = 1, .payload = vector));
	writer_interrupt(w);
}

void writer_return_event(struct writer *w, bool interrupts_on)
{
	pt_packet_write(&w->out, PACKET(.type = PT_CFE, .count = 2));
	w->interrupts_on = interrupts_on;
}

void writer_flag(struct writer *w, bool interrupts_on)
{
	writer_flush(w);
	w->interrupts_on = interrupts_on;
	pt_packet_write(&w->out,
			PACKET(.type = PT_MODE_EXEC, .payload = w->width, .count = interrupts_on));
	put_ip(w, PT_FUP, w->ip);
}

static void change_machine(struct writer *w, bool is_guest, uint64_t to)
{
	w->is_guest = is_guest;
	put_pip(w);
	put_cycles(w);
	put_ip(w, PT_TIP, to);
	w->ip = to;
}

void writer_vm_exit(struct writer *w, uint64_t to)
{
	writer_flush(w);
	put_ip(w, PT_FUP, w->ip);
	change_machine(w, false, to);
}

void writer_vm_entry(struct writer *w, uint64_t to)
{
	writer_flush(w);
	change_machine(w, true, to);
}

void writer_cr3(struct writer *w, uint64_t cr3)
{
	writer_flush(w);
	w->cr3 = cr3;
	put_pip(w);
}

void writer_overflow(struct writer *w, uint64_t ip)
{
	w->bits = 0;
	w->n_bits = 0;
	w->n_tips = 0;
	pt_packet_write(&w->out, PACKET(.type = PT_OVF));
	clear_stack(w);
	/* After an overflow the whole address is written. */
	pt_packet_write(&w->out, PACKET(.type = PT_FUP, .count = PT_IP_48_SIGNED, .payload = ip));
	w->last_ip = ip;
	w->ip = ip;
}

static void put_items(struct writer *w, uint8_t group, uint32_t n, uint64_t salt)
{
	pt_packet_write(&w->out, PACKET(.type = PT_BBP, .payload = group));
	for (uint32_t i = 0; i < n; i++)
		pt_packet_write(&w->out, PACKET(.type = PT_BIP, .count = (uint16_t)i,
						.payload = salt << 16 | group << 8 | i));
}

static void put_values(struct writer *w, uint8_t group, const uint64_t *values, uint32_t n)
{
	pt_packet_write(&w->out, PACKET(.type = PT_BBP, .payload = group));
	for (uint32_t i = 0; i < n; i++)
		pt_packet_write(&w->out,
				PACKET(.type = PT_BIP, .count = (uint16_t)i, .payload = values[i]));
}

/* Latencies are of both forms, or there is none but the cycles of a transaction. */
void writer_pebs(struct writer *w, uint64_t salt)
{
	const uint64_t latencies[] = { 77, 55ULL << 32 | 99, 0 };
	const uint64_t basic[] = { w->ip, 1 << 2, w->tsc };
	const uint64_t memory[] = { 0x7f0000000000 + salt, 3, latencies[salt % 3],
				    (salt % 2 ? 0x0aULL : 0x04ULL) << 32 | 31 };

	writer_flush(w);
	put_values(w, 4, basic, w->options.has_tsc ? 3 : 2);
	put_values(w, 5, memory, 4);
	put_items(w, 1, 18, salt);
	put_items(w, 8, 24, salt);
	put_items(w, 9, 5, salt | 1ULL << 47);
	put_items(w, 16, 32, salt);
	pt_packet_write(&w->out, PACKET(.type = PT_BEP, .flag = true));
	put_ip(w, PT_FUP, w->ip);
}

void writer_change_width(struct writer *w, uint8_t width)
{
	w->width = width;
	writer_packet(w, PACKET(.type = PT_MODE_EXEC, .payload = width, .count = w->interrupts_on));
}

void writer_fup(struct writer *w)
{
	put_ip(w, PT_FUP, w->ip);
}

void writer_tip(struct writer *w, uint64_t to)
{
	put_ip(w, PT_TIP, to);
	w->ip = to;
}

static void put_direction(struct writer *w, bool taken)
{
	if (w->options.no_tnt)
		return;
	w->bits |= (uint64_t)taken << (63 - w->n_bits);
	if (++w->n_bits == (w->options.long_tnt ? 47 : 6))
		writer_flush(w);
}

static void put_tip(struct writer *w, uint64_t to)
{
	if (w->options.defer_tips && w->n_bits && w->n_tips < 64) {
		w->tips[w->n_tips++] = to;
		return;
	}
	writer_flush(w);
	put_cycles(w);
	put_ip(w, PT_TIP, to);
}

static void push(struct writer *w, uint64_t address)
{
	w->stack[w->top++ % WRITER_STACK] = address;
	if (w->depth < WRITER_STACK)
		w->depth++;
}

/*
 * Decoders differ in whether an uncompressed return takes an entry off the stack. After one, the
 * entries below are not used, so all decoders give the same result.
 */
static void put_return(struct writer *w, uint64_t to)
{
	if (!w->options.no_ret_compression && w->depth &&
	    w->stack[(w->top - 1) % WRITER_STACK] == to) {
		w->top--;
		w->depth--;
		put_direction(w, true);
		return;
	}
	clear_stack(w);
	writer_flush(w);
	put_cycles(w);
	put_ip(w, PT_TIP, to);
}

void writer_instruction(struct writer *w, enum branch_kind kind, uint32_t size, uint64_t to)
{
	uint64_t next = w->ip + size;

	w->ip = to;
	w->cycles += 1;
	switch (kind) {
	case BRANCH_COND:
		put_direction(w, to != next);
		break;
	case BRANCH_CALL_INDIRECT:
		push(w, next);
		put_tip(w, to);
		break;
	case BRANCH_CALL:
		if (to != next) /* that only gets the address */
			push(w, next);
		break;
	case BRANCH_JUMP_INDIRECT:
		put_tip(w, to);
		break;
	case BRANCH_RETURN:
		put_return(w, to);
		break;
	case BRANCH_NONE:
	case BRANCH_JUMP:
	case BRANCH_SYSTEM:
		break;
	}
	if (kind == BRANCH_SYSTEM)
		return;
	put_mtc(w);
	if (w->out.len - w->last_psb >= w->options.psb_bytes)
		put_psb(w);
}
