/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program, and the processor, write into the trace beside the flow. */
#include "pt/packet.h"
#include "trace.h"

#define PACKET(...) (&(struct pt_packet){ __VA_ARGS__ })

static void ptwrite(struct writer *w, uint64_t value, bool has_ip)
{
	writer_packet(w, PACKET(.type = PT_PTWRITE, .payload = value, .flag = has_ip));
	if (has_ip)
		writer_fup(w);
}

static void transaction(struct writer *w, bool is_begin, bool aborts)
{
	w->in_transaction = is_begin;
	writer_packet(w, PACKET(.type = PT_MODE_TSX, .payload = is_begin | (uint64_t)aborts << 1));
	writer_fup(w);
}

/* Into a sleep, which the next packet ends. */
static void sleep_begins(struct writer *w, uint64_t n)
{
	writer_packet(w, PACKET(.type = PT_MWAIT, .payload = (n & 1) << 32 | 0x20));
	writer_packet(w, PACKET(.type = PT_PWRE, .payload = 0x1000));
	writer_packet(w, PACKET(.type = PT_EXSTOP, .flag = true));
	writer_fup(w);
}

void say_packets(struct tracer *t, struct task *task)
{
	struct writer *w = task->writer;
	uint64_t n = t->steps / t->packets_each, ip = w->ip;

	if (!ip || t->steps % t->packets_each)
		return;
	switch (n % 8) {
	case 0:
		ptwrite(w, n << 33 | n, true);
		break;
	case 1:
		ptwrite(w, n, false);
		break;
	case 2:
	case 4:
		transaction(w, true, false);
		break;
	case 3:
		transaction(w, false, false);
		break;
	case 5:
		transaction(w, false, true);
		writer_tip(w, ip);
		tell(t, task, ip, ip);
		break;
	case 6:
		sleep_begins(w, n);
		break;
	default:
		writer_packet(w, PACKET(.type = PT_PWRX, .payload = 0x100 | (n & 0xf)));
	}
}
