/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator of tests: runs a program step by step under ptrace. It writes the Intel PT trace
 * that a processor would have recorded, with perf's side band, and the true flow.
 *
 * Usage: trace [OPTIONS] OUT TRUTH PROGRAM [ARG…]
 *   --tsc --mtc --cyc        time packets            --no-retcomp   a TIP for each return
 *   --defer --long           deferred TIPs, long TNTs
 *   --psb N                  a PSB each N bytes      --interrupt N  an interrupt each N steps
 *   --cbr N                  the core's frequency, of 20
 *   --sample N               only pieces of trace in samples of another event, each N steps
 *   --vmlinux FILE           with --kernel: its code is in FILE, and OUT is a file
 *   --build-ids              records of mapped files have build ids
 *   --no-side-band           without records of mappings and threads
 *   --pipe                   the output of perf record -o -
 *   --events N               event trace: each N steps a fault or interrupt, between them flags
 *   --pebs N                 a PEBS record each N steps
 *   --packets N              of PTWRITE, TSX and power events, each N steps another
 *   --no-tnt                 no directions of branches; with --no-retcomp
 *   --module FUNCTION        with --kernel: a kernel module of 4 KB begins at FUNCTION
 *   --cpus N                 a buffer for each of N CPUs, on which threads take turns
 *   --turn N                 a turn ends after N steps if another waits (200)
 *   --stall N                with --kernel: a CPU stands still for N ticks before a switch
 *   --switch                 records of turns are PERF_RECORD_SWITCH, or
 *   --tracepoint             sched:sched_switch; else PERF_RECORD_SWITCH_CPU_WIDE
 *   --kernel                 the code of a static program counts as the kernel's. OUT is a
 *                            directory with a copy of kcore, whose first bytes are from before
 *                            the kernel changed them. With CPUs, a thread that calls
 *                            __switch_to() ends its turn. The trace continues there with a
 *                            thread that ended its turn before.
 *
 * TRUTH gets a line for each taken branch, in the order of time: "TID FROM => TO". FROM or TO is 0
 * where tracing begins or ends. The program does not use the vdso, which has no file. Its
 * environment and its CPUID are always the same, so a program of one thread has the same trace on
 * each machine.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "classify.h"
#include "elf/elf_file.h"
#include "elf/elf_symbols.h"
#include "kcore.h"
#include "trace.h"

/* The kernel's selector of 32-bit code (asm/segment.h). */
enum { USER_CS_32 = 0x23 };

static void die(const char *what)
{
	fprintf(stderr, "trace: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct instruction decode(struct tracer *t, const struct task *task, uint64_t ip)
{
	struct instruction in = { 0 };
	uint8_t bytes[16] = { 0 };
	uint32_t *known;
	bool is_new;
	ssize_t n;

	if (t->code_pid != task->pid)
		intmap_clear(&t->code);
	t->code_pid = task->pid;
	known = intmap_put(&t->code, ip, &is_new);
	if (!is_new)
		return (struct instruction){ (uint8_t)(*known >> 8), (uint8_t)*known,
					     *known >> 16 };
	ip -= t->shift;
	/* Up to the end of the page, where the next one may not be there. */
	n = process_vm_readv(task->tid, &(struct iovec){ bytes, sizeof(bytes) }, 1,
			     &(struct iovec){ (void *)ip, sizeof(bytes) }, 1, 0);
	if (n <= 0)
		n = process_vm_readv(task->tid, &(struct iovec){ bytes, 16 - (ip & 15) }, 1,
				     &(struct iovec){ (void *)ip, 16 - (ip & 15) }, 1, 0);
	if (n > 0)
		in.kind = (uint8_t)classify(task->width, bytes, (size_t)n, &in.size);
	in.is_cpuid = n > 1 && bytes[0] == 0x0f && bytes[1] == 0xa2;
	*known = (uint32_t)in.is_cpuid << 16 | (uint32_t)in.kind << 8 | in.size;
	return in;
}

/*
 * Answers CPUID as a processor with the features that all x86-64 have. So libc picks the same
 * functions on each machine. A libc that needs more would refuse to run; there the processor
 * answers.
 */
static void answer_cpuid(pid_t tid, uint32_t leaf, struct user_regs_struct *regs)
{
#ifndef __SSE3__
	regs->rax = leaf == 0 ? 1 : leaf == 1 ? 0xf41 : leaf >> 31 ? 0x80000001 : 0;
	regs->rbx = regs->rcx = regs->rdx = 0;
	if (leaf == 0) { /* "GenuineIntel" */
		regs->rbx = 0x756e6547;
		regs->rdx = 0x49656e69;
		regs->rcx = 0x6c65746e;
	}
	if (leaf == 1) /* FPU, TSC, MSR, PAE, CX8, CMOV, MMX, FXSR, SSE, SSE2 */
		regs->rdx = 0x07808171;
	if (leaf == 0x80000001) /* SYSCALL, NX, long mode */
		regs->rdx = 0x20100800;
	ptrace(PTRACE_SETREGS, tid, 0, regs);
#else
	(void)tid, (void)leaf, (void)regs;
#endif
}

static void enable(struct tracer *t, struct task *task, uint64_t ip)
{
	task->writer->tsc = t->tsc;
	task->writer->width = task->width;
	writer_enable(task->writer, ip);
	tell(t, task, 0, ip);
	task->at = decode(t, task, ip);
}

static void interrupt(struct tracer *t, struct task *task)
{
	uint64_t ip = task->writer->ip;

	task->writer->tsc = t->tsc;
	writer_interrupt(task->writer);
	tell(t, task, ip, 0);
}

static bool is_due(const struct tracer *t, uint64_t each)
{
	return each && t->steps % each == 0;
}

/* What event trace tells: each second time a fault, each third return without interrupts. */
static void event(struct tracer *t, struct task *task, uint64_t ip)
{
	uint64_t n = t->steps / t->events_each;
	struct writer *w = task->writer;

	if (!w->ip)
		return;
	if (t->steps % t->events_each == t->events_each / 2 && n % 4 == 3 &&
	    task->at.kind == BRANCH_NONE)
		writer_flag(w, !w->interrupts_on);
	if (!is_due(t, t->events_each))
		return;
	writer_interrupt_event(w, n % 2 ? 14 : (uint8_t)n, n % 2 ? 0x7f0000000000 + n : 0);
	tell(t, task, ip, 0);
	t->tsc += 1000;
	writer_return_event(w, n % 3 != 0);
	enable(t, task, ip);
}

/* The instruction at writer->ip has run; the next one is at `ip`. */
static void step(struct tracer *t, struct task *task, uint64_t ip)
{
	struct writer *w = task->writer;
	uint64_t from = w->ip, next = from + task->at.size;

	/* Not yet: a string instruction that goes on. */
	if (ip == from && task->at.kind == BRANCH_NONE)
		return;
	w->tsc = t->tsc;
	if (task->width != w->width)
		writer_change_width(w, task->width);
	writer_instruction(w, task->at.kind, task->at.size, ip);
	if (ip != next || (task->at.kind != BRANCH_NONE && task->at.kind != BRANCH_COND))
		tell(t, task, from, ip);
	task->at = decode(t, task, ip);
	if (is_due(t, t->pebs_each) && w->ip)
		writer_pebs(w, t->steps);
	if (t->events_each)
		event(t, task, ip);
	if (t->packets_each)
		say_packets(t, task);
	if (is_due(t, t->interrupt_each) || is_due(t, t->sample_each)) {
		interrupt(t, task);
		if (is_due(t, t->sample_each)) {
			writer_flush(w);
			recording_sample(&t->recording, task->pid, task->tid, t->tsc, ip, &w->out);
		}
		t->tsc += 1000;
		enable(t, task, ip);
	}
}

/* What the kernel's first instruction was before it changed it, and is in the end: a NOP. */
static const uint8_t nop[5] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static uint64_t find_function(const char *program, const char *name);

static void tell_module(struct tracer *t)
{
	if (t->module)
		recording_module(&t->recording, find_function(t->program, t->module) + t->shift,
				 4096, "/lib/modules/6.1.0/kernel/net/snd-probe.ko.xz");
}

static void become_kernel(struct tracer *t, uint64_t entry)
{
	if (t->vmlinux) {
		vmlinux_write(t->vmlinux, t->program, t->shift - VMLINUX_SLIDE,
			      &t->recording.kernel_build_id);
		recording_kernel(&t->recording, KERNEL_TEXT, 1 << 24);
		tell_module(t);
		return;
	}
	t->entry = entry;
	kcore_write(t->out, t->program, t->shift, entry, nop, t->code_at_entry, sizeof(nop));
	recording_kernel(&t->recording, KERNEL_TEXT, 1 << 24);
	recording_poke(&t->recording, t->tsc, entry, nop, t->code_at_entry, sizeof(nop));
}

/* ---- turns ---- */

/* In the traced kernel's __switch_to, where only another that comes there lets it go on. */
static bool is_in_switch(const struct tracer *t, const struct task *task)
{
	return t->switch_ip && !task->status && task->ip == t->switch_ip;
}

static struct task *longest_waiting(struct tracer *t, bool in_switch)
{
	struct task *longest = NULL;

	vec_foreach (&t->tasks, task)
		if (task->waits_since && !task->is_dead && is_in_switch(t, task) == in_switch &&
		    (!longest || task->waits_since < longest->waits_since))
			longest = task;
	return longest;
}

static void wait_for_cpu(struct tracer *t, struct task *task, int status)
{
	task->status = status;
	task->waits_since = t->steps;
}

/* Another thread is on the CPU from here on; 0: none. The kernel's own work takes time. */
static void give_cpu(struct tracer *t, struct cpu *cpu, struct task *task)
{
	const struct recording_thread before = { cpu->pid, cpu->tid };
	struct recording_thread now = { 0 };

	if (task)
		now = (struct recording_thread){ task->pid, task->tid };
	t->recording.cpu = cpu->number;
	recording_switch(&t->recording, t->tsc, before, now);
	cpu->pid = now.pid;
	cpu->tid = now.tid;
	cpu->end_at = t->steps + t->turn;
	if (!task)
		return;
	task->waits_since = 0;
	task->cpu = cpu;
	task->writer = &cpu->writer;
}

static void leave_cpu(struct task *task)
{
	task->was_on = task->cpu;
	task->cpu = NULL;
	task->writer = NULL;
}

static void go_on(struct tracer *t, struct task *task, int status);

/* Who waits gets a CPU that nobody is on. */
static void fill_cpus(struct tracer *t)
{
	for (uint64_t i = 0; i < t->n_cpus; i++) {
		struct cpu *cpu = &t->cpus[i];

		while (!cpu->tid) {
			struct task *next = longest_waiting(t, false);

			if (!next)
				next = longest_waiting(t, true);
			if (!next)
				break;
			t->tsc += 400;
			give_cpu(t, cpu, next);
			t->tsc += 600;
			go_on(t, next, next->status);
		}
	}
}

/* A turn that is over, where others wait. */
static bool ends_turn(struct tracer *t, struct task *task)
{
	struct cpu *cpu = task->cpu;

	if (!cpu || t->steps < cpu->end_at || !longest_waiting(t, false))
		return false;
	task->ip = task->writer->ip;
	interrupt(t, task);
	leave_cpu(task);
	wait_for_cpu(t, task, 0);
	t->tsc += 300;
	give_cpu(t, cpu, NULL);
	return true;
}

/*
 * A thread calls __switch_to() and gives its CPU to another thread in there. A thread from another
 * CPU arrives later than the distance of MTC packets; else it would be on both CPUs at the same
 * time.
 */
static struct task *switch_to(struct tracer *t, struct task *last)
{
	struct task *next = longest_waiting(t, true);
	struct cpu *cpu = last->cpu;

	if (next->was_on != cpu)
		t->tsc += 2000;
	leave_cpu(last);
	last->ip = t->switch_ip;
	wait_for_cpu(t, last, 0);
	/* The record about it was earlier. */
	t->tsc -= 30;
	give_cpu(t, cpu, next);
	t->tsc += 30 + t->stall;
	next->at = last->at;
	return next;
}

/* Nobody is in there: it waits, and that it called is not told. */
static void wait_in_switch(struct tracer *t, struct task *task)
{
	struct cpu *cpu = task->cpu;

	interrupt(t, task);
	leave_cpu(task);
	task->ip = t->switch_ip;
	wait_for_cpu(t, task, 0);
	t->tsc += 300;
	give_cpu(t, cpu, NULL);
}

/* ---- stops ---- */

/* The system call at hand is made: the trace ends up to its return, and another may run. */
static void call_system(struct tracer *t, struct task *task)
{
	struct cpu *cpu = task->cpu;

	task->writer->tsc = t->tsc;
	tell(t, task, task->writer->ip, 0);
	writer_instruction(task->writer, BRANCH_SYSTEM, task->at.size, task->writer->ip);
	writer_disable(task->writer);
	task->is_in_call = true;
	if (!cpu)
		return;
	leave_cpu(task);
	t->tsc += 300;
	give_cpu(t, cpu, NULL);
}

static void resume(struct tracer *t, struct task *task, int signal)
{
	bool has_handler = task->expects_handler;

	if (task->writer && task->at.kind == BRANCH_SYSTEM && !has_handler)
		call_system(t, task);
	else if (!signal && !has_handler && ends_turn(t, task))
		return;
	ptrace(PTRACE_SINGLESTEP, task->tid, 0, signal);
}

/* A thread on its CPU (or with a separate trace) has stopped, or its turn has come. */
static void go_on(struct tracer *t, struct task *task, int status)
{
	struct user_regs_struct regs;
	int signal = WSTOPSIG(status), deliver = 0;
	uint64_t ip;

	if (ptrace(PTRACE_GETREGS, task->tid, 0, &regs) < 0)
		return; /* killed meanwhile */
	ip = regs.rip + t->shift;
	task->width = regs.cs == USER_CS_32 ? 32 : 64;
	if (task->at.is_cpuid && task->writer && ip == task->writer->ip + task->at.size)
		answer_cpuid(task->tid, task->leaf, &regs);
	task->leaf = (uint32_t)regs.rax;
	if (!status) {
		enable(t, task, ip);
	} else if (task->is_new) {
		task->is_new = false;
		if (!t->n_cpus)
			recording_start(&t->recording, task->pid, task->tid, t->tsc);
		t->tsc += 10;
		enable(t, task, ip);
	} else if (status >> 16 == PTRACE_EVENT_EXEC) {
		if (task->width == 64)
			hide_vdso(task->tid, regs.rsp);
		task->is_in_call = false;
		t->maps.n = 0;
		say_comm(t, task, true);
		update_maps(t, task);
		if (t->is_kernel)
			become_kernel(t, ip);
		t->tsc += 10;
		enable(t, task, ip);
	} else {
		if (task->is_in_call) {
			task->is_in_call = false;
			t->tsc += 100;
			update_maps(t, task);
			t->tsc += 100;
			enable(t, task, ip);
		} else if (task->expects_handler) {
			interrupt(t, task);
			t->tsc += 100;
			enable(t, task, ip);
		} else if (task->cpu && ip == t->switch_ip && !longest_waiting(t, true)) {
			wait_in_switch(t, task);
			return;
		} else {
			step(t, task, ip);
			if (task->cpu && ip == t->switch_ip)
				task = switch_to(t, task);
		}
		task->expects_handler = false;
		if (signal != SIGTRAP) {
			deliver = signal;
			task->expects_handler =
				status_field(task->tid, "SigCgt", 16) >> (signal - 1) & 1;
		}
	}
	resume(t, task, deliver);
}

static void on_stop(struct tracer *t, struct task *task, int status)
{
	int event = status >> 16;

	t->tsc += 2;
	t->steps++;
	if (event && event != PTRACE_EVENT_EXEC) /* a child, that comes by itself */
		ptrace(PTRACE_SINGLESTEP, task->tid, 0, 0);
	else if (!task->writer)
		wait_for_cpu(t, task, status);
	else
		go_on(t, task, status);
	fill_cpus(t);
}

static void on_end(struct tracer *t, struct task *task)
{
	if (task->writer && task->writer->ip) { /* a kill */
		tell(t, task, task->writer->ip, 0);
		writer_disable(task->writer);
	}
	recording_exit(&t->recording, task->pid, task->tid, t->tsc);
	task->is_dead = true;
	if (task->cpu)
		give_cpu(t, task->cpu, NULL);
	fill_cpus(t);
}

static void on_child(struct tracer *t, pid_t parent, pid_t tid)
{
	struct task *p = find_task(t, parent), *child = find_task(t, tid);
	pid_t parent_pid = p ? p->pid : 0;

	if (!child)
		child = add_task(t, tid);
	recording_fork(&t->recording, child->pid, parent_pid, child->tid, parent, t->tsc);
}

static void follow(struct tracer *t)
{
	VEC(pid_t) early = { 0 }; /* children that stopped before the event about their start */
	int status;

	for (pid_t tid; (tid = waitpid(-1, &status, __WALL)) > 0;) {
		struct task *task = find_task(t, tid);

		if (!WIFSTOPPED(status)) {
			if (task)
				on_end(t, task);
			continue;
		}
		if (!task) {
			vec_push(&early, tid);
			continue;
		}
		int event = status >> 16;

		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
		    event == PTRACE_EVENT_VFORK) {
			unsigned long child;

			ptrace(PTRACE_GETEVENTMSG, tid, 0, &child);
			on_child(t, tid, (pid_t)child);
			vec_foreach (&early, e)
				if (*e == (pid_t)child)
					on_stop(t, find_task(t, *e), SIGSTOP << 8 | 0x7f);
			task = find_task(t, tid); /* it may have moved */
		}
		on_stop(t, task, status);
	}
	vec_fini(&early);
}

static pid_t start(char **argv)
{
	static char *environment[] = { "LC_ALL=C", "TZ=UTC", NULL };
	pid_t pid = fork();

	if (pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0) {
			perror("trace: ptrace");
			_exit(126);
		}
		raise(SIGSTOP);
		execvpe(argv[0], argv, environment);
		_exit(127);
	}
	return pid;
}

/* Options that are a flag or have a number; the place of OUT in argv. */
static int parse(int argc, char **argv, struct tracer *t)
{
	const struct {
		const char *name;
		bool *flag;
		uint64_t *number;
		const char **text;
	} options[] = {
		{ "--tsc", &t->options.has_tsc, NULL, NULL },
		{ "--mtc", &t->options.has_mtc, NULL, NULL },
		{ "--cyc", &t->options.has_cyc, NULL, NULL },
		{ "--kernel", &t->is_kernel, NULL, NULL },
		{ "--build-ids", &t->recording.tells_build_ids, NULL, NULL },
		{ "--no-side-band", &t->recording.is_silent, NULL, NULL },
		{ "--pipe", &t->is_pipe, NULL, NULL },
		{ "--switch", &t->recording.tells_switches_of_tasks, NULL, NULL },
		{ "--tracepoint", &t->recording.has_tracepoint, NULL, NULL },
		{ "--no-retcomp", &t->options.no_ret_compression, NULL, NULL },
		{ "--defer", &t->options.defer_tips, NULL, NULL },
		{ "--long", &t->options.long_tnt, NULL, NULL },
		{ "--psb", NULL, &t->options.psb_bytes, NULL },
		{ "--cbr", NULL, &t->options.cbr, NULL },
		{ "--interrupt", NULL, &t->interrupt_each, NULL },
		{ "--sample", NULL, &t->sample_each, NULL },
		{ "--pebs", NULL, &t->pebs_each, NULL },
		{ "--events", NULL, &t->events_each, NULL },
		{ "--packets", NULL, &t->packets_each, NULL },
		{ "--no-tnt", &t->options.no_tnt, NULL, NULL },
		{ "--cpus", NULL, &t->n_cpus, NULL },
		{ "--turn", NULL, &t->turn, NULL },
		{ "--stall", NULL, &t->stall, NULL },
		{ "--vmlinux", NULL, NULL, &t->vmlinux },
		{ "--module", NULL, NULL, &t->module },
	};
	int at = 1;

	for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++)
		for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
			if (strcmp(argv[at], options[i].name) != 0)
				continue;
			if (options[i].flag)
				*options[i].flag = true;
			else if (options[i].text)
				*options[i].text = argv[++at];
			else
				*options[i].number = strtoull(argv[++at], NULL, 0);
			break;
		}
	return at;
}

static void write_file(const char *path, const struct buf *bytes)
{
	FILE *f = fopen(path, "wb");

	if (!f || fwrite(bytes->data, 1, bytes->len, f) != bytes->len || fclose(f) != 0)
		die(path);
}

static void begin_cpus(struct tracer *t)
{
	t->cpus = xcalloc(t->n_cpus + 1, sizeof(*t->cpus));
	t->options.is_of_cpu = t->recording.is_per_cpu = t->n_cpus > 0;
	for (uint64_t i = 0; i < t->n_cpus; i++) {
		t->cpus[i].number = (uint32_t)i;
		writer_init(&t->cpus[i].writer, &t->options);
	}
}

/* Where the code of a static program has a function; 0: nowhere. */
static uint64_t find_function(const char *program, const char *name)
{
	struct elf_symbols it;
	struct elf_symbol symbol;
	struct file_mapping file;
	struct elf_file elf;
	uint64_t addr = 0;

	if (file_map(program, &file, NULL) < 0 ||
	    elf_file_open(&elf, file.base, file.size, NULL) < 0)
		return 0;
	if (elf_symbols_begin(&it, &elf, SHT_SYMTAB))
		while (!addr && elf_symbols_next(&it, &symbol))
			if (strcmp(symbol.name, name) == 0)
				addr = symbol.link_addr;
	file_unmap(&file);
	return addr;
}

static void write_traces(struct tracer *t)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < t->n_cpus; i++) {
		writer_flush(&t->cpus[i].writer);
		t->recording.cpu = (uint32_t)i;
		recording_trace(&t->recording, -1, n++, t->tsc, &t->cpus[i].writer.out);
		writer_fini(&t->cpus[i].writer);
	}
	vec_foreach (&t->tasks, task) {
		if (t->n_cpus)
			break;
		writer_flush(task->writer);
		if (!t->sample_each)
			recording_trace(&t->recording, task->tid, n++, t->tsc, &task->writer->out);
		writer_fini(task->writer);
		free(task->writer);
	}
	free(t->cpus);
}

int main(int argc, char **argv)
{
	struct tracer t = { .tsc = 1000000, .turn = 200 };
	struct buf file = { 0 };
	int at, status;
	pid_t pid;

	recording_init(&t.recording, &t.options);
	at = parse(argc, argv, &t);
	if (argc < at + 3) {
		fprintf(stderr, "Usage: trace [OPTIONS] OUT TRUTH PROGRAM [ARG…]\n");
		return 2;
	}
	t.options.mtc_shift = 3;
	t.shift = t.is_kernel ? KERNEL_SHIFT : 0;
	t.out = argv[at];
	t.program = argv[at + 2];
	if (t.is_kernel)
		t.switch_ip = find_function(t.program, "__switch_to");
	t.switch_ip += t.switch_ip ? t.shift : 0;
	begin_cpus(&t);
	t.options.says_packets = t.packets_each;
	t.recording.options = t.options;
	t.recording.has_pebs = t.pebs_each;
	t.recording.has_event_trace = t.events_each;
	t.recording.lacks_user = t.is_kernel;
	t.truth = fopen(argv[at + 1], "w");
	if (!t.truth)
		die(argv[at + 1]);
	pid = start(argv + at + 2);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("start");
	ptrace(PTRACE_SETOPTIONS, pid, 0,
	       PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
		       PTRACE_O_EXITKILL);
	add_task(&t, pid)->is_new = false;
	if (!t.n_cpus)
		recording_start(&t.recording, pid, pid, t.tsc);
	ptrace(PTRACE_CONT, pid, 0, 0); /* to its exec */
	follow(&t);
	if (t.entry)
		recording_poke(&t.recording, t.tsc, t.entry, t.code_at_entry, nop, sizeof(nop));
	write_traces(&t);
	fclose(t.truth);
	if (t.is_pipe)
		recording_finish_pipe(&t.recording, &file);
	else
		recording_finish(&t.recording, &file);
	write_file(t.entry ? xasprintf("%s/data", t.out) : t.out, &file);
	fprintf(stderr, "trace: %" PRIu64 " steps, %zu threads\n", t.steps, t.tasks.n);
	return 0;
}
