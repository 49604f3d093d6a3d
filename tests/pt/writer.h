/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the packets of a processor for a known flow; it does not know where the flow comes from.
 * The caller reports every instruction that changes the flow. The writer compresses addresses and
 * returns, fills TNTs, and adds PSBs and time packets.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct pt_packet;

/* What an instruction does to the flow; OTHER: nothing. */
enum branch_kind {
	BRANCH_NONE,
	BRANCH_COND,
	BRANCH_JUMP,
	BRANCH_CALL,
	BRANCH_JUMP_INDIRECT,
	BRANCH_CALL_INDIRECT,
	BRANCH_RETURN,
	BRANCH_SYSTEM, /* leaves user space: syscall, int */
};

struct writer_options {
	bool has_tsc, has_mtc, has_cyc, no_ret_compression;
	bool defer_tips; /* let TIPs wait for the TNT before them to fill */
	bool long_tnt;   /* TNTs of up to 47 directions */
	bool no_tnt;
	bool says_packets;  /* of PTWRITE and power events */
	bool has_pip;       /* the machine and the address space are told */
	bool is_of_cpu;     /* tracing is not off in between: MTCs go on, and no TSC is written */
	uint64_t cbr;       /* core to bus ratio; 0: 20, as the recording's base frequency */
	uint64_t psb_bytes; /* a PSB after so many bytes; 0: 2048 */
	uint32_t ctc_numerator, ctc_denominator; /* TSC ticks a CTC tick: numerator / denominator */
	uint32_t mtc_shift;                      /* an MTC each 2^shift CTC ticks */
};

enum { WRITER_STACK = 64 };

struct writer {
	struct writer_options options;
	struct buf out;
	uint64_t last_ip, ip; /* ip: of the next instruction; 0 while not tracing */
	uint64_t bits;        /* the TNT that fills, the oldest at bit 63 */
	uint32_t n_bits;
	uint64_t tips[64]; /* deferred */
	uint32_t n_tips;
	uint64_t stack[WRITER_STACK]; /* for compressed returns; a ring */
	uint32_t top, depth;
	size_t last_psb;
	uint64_t tsc; /* now: set by the caller, never back */
	uint64_t cycles, ctc_sent;
	uint8_t width; /* of the code: 32, 64; set by the caller before writer_enable() */
	bool in_transaction;
	bool is_guest; /* with has_pip: the NR bit */
	uint64_t cr3;
	bool interrupts_on; /* as MODE.Exec says */
};

void writer_init(struct writer *w, const struct writer_options *options);
void writer_fini(struct writer *w);

/* Tracing begins at an address (TIP.PGE), and ends because of the last instruction (TIP.PGD). */
void writer_enable(struct writer *w, uint64_t ip);
void writer_disable(struct writer *w);

/*
 * One instruction has run: `size` bytes at w->ip, and the next is at `to`. A SYSTEM one is followed
 * by writer_disable().
 */
void writer_instruction(struct writer *w, enum branch_kind kind, uint32_t size, uint64_t to);

/* The next instruction, a far branch, leads to code of another width. */
void writer_change_width(struct writer *w, uint8_t width);

/* An interrupt, fault or signal before the instruction at w->ip; writer_enable() follows. */
void writer_interrupt(struct writer *w);

/*
 * The same with event trace: a page fault at `fault` (0: an interrupt), and the return before
 * writer_enable(). writer_flag(): the instruction at w->ip changes the interrupt flag.
 */
void writer_interrupt_event(struct writer *w, uint8_t vector, uint64_t fault);
void writer_return_event(struct writer *w, bool interrupts_on);
void writer_flag(struct writer *w, bool interrupts_on);

/*
 * The guest that runs exits at the instruction at w->ip, and this machine goes on at `to`; or the
 * instruction at w->ip enters the guest at `to`.
 */
void writer_vm_exit(struct writer *w, uint64_t to);
void writer_vm_entry(struct writer *w, uint64_t to);

/* Another address space, told by a PIP. */
void writer_cr3(struct writer *w, uint64_t cr3);

/* The buffer was full: what was pending is lost, and tracing goes on at `ip`. */
void writer_overflow(struct writer *w, uint64_t ip);

/*
 * A PEBS record at w->ip, of counter 2, with all groups. The value of item N of group G is salt <<
 * 16 | G << 8 | N, except for addresses, times and latencies.
 */
void writer_pebs(struct writer *w, uint64_t salt);

/* Of w->ip, behind a packet that has no address itself; and where an aborted transaction goes on.
 */
void writer_fup(struct writer *w);
void writer_tip(struct writer *w, uint64_t to);

/* Writes out what is pending. */
void writer_flush(struct writer *w);

void writer_packet(struct writer *w, const struct pt_packet *p);
