/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer: the processors and threads that it steps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "recording.h"
#include "writer.h"

struct mapping {
	uint64_t start, end;
};

struct instruction {
	uint8_t kind, size; /* enum branch_kind; 0: unreadable */
	bool is_cpuid;
};

struct cpu {
	struct writer writer;
	uint32_t number;
	pid_t pid, tid;  /* on it; 0: none */
	uint64_t end_at; /* of steps: of the turn */
};

struct task {
	pid_t tid, pid;
	struct writer *writer;    /* the task's or its CPU's writer; NULL: it is on no CPU */
	struct cpu *cpu, *was_on; /* was_on: its previous CPU */
	struct instruction at;    /* the instruction at writer->ip */
	int status;               /* of the stop that waits for a CPU; 0: it goes on at `ip` */
	uint64_t ip;
	uint64_t waits_since; /* of steps; 0: it does not */
	bool is_new, is_dead, expects_handler;
	uint8_t width;   /* of its code: 32, 64 */
	bool is_in_call; /* of the system */
	uint32_t leaf;   /* of the CPUID that is stepped over */
};

/* The distance of the kernel's code from a static program's code, with --kernel. */
#define KERNEL_SHIFT 0xffffffff80c00000ULL
/* … and its distance from the addresses in its vmlinux. */
#define VMLINUX_SLIDE 0x2000000ULL

struct tracer {
	struct recording recording;
	struct writer_options options;
	FILE *truth;
	uint64_t tsc, steps, interrupt_each, sample_each, pebs_each, events_each, packets_each;
	uint64_t n_cpus, turn, stall;
	struct cpu *cpus;
	VEC(struct task) tasks;
	VEC(struct mapping) maps; /* the executable ones, of all processes */
	struct intmap code;       /* address → kind, size; one process's at a time */
	pid_t code_pid;
	bool is_kernel, is_pipe;
	uint64_t shift, entry, switch_ip; /* switch_ip: 0: there is none */
	uint8_t code_at_entry[5];
	const char *out, *program, *vmlinux, *module;
};

/* Packets that are of no branch, where they are due (trace_packets.c). */
void say_packets(struct tracer *t, struct task *task);

/* ---- threads (trace_tasks.c) ---- */

void tell(struct tracer *t, const struct task *task, uint64_t from, uint64_t to);
void update_maps(struct tracer *t, const struct task *task);
void hide_vdso(pid_t pid, uint64_t sp);
uint64_t status_field(pid_t tid, const char *field, int base);
void say_comm(struct tracer *t, const struct task *task, bool is_exec);
struct task *find_task(struct tracer *t, pid_t tid);
struct task *add_task(struct tracer *t, pid_t tid);
