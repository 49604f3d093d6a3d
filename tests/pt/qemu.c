/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator for long traces: a plugin of qemu-user. It follows millions of instructions a
 * second (trace.c steps through ten thousand), of one thread, without signals.
 *
 *     qemu-x86_64 -plugin libpt_qemu.so,out=FILE,limit=500000000,mtc=on PROGRAM [ARG…]
 *
 * psb=N: a PSB each N bytes (8192). truth=FILE gets the taken branches in trace.c's format.
 *
 * host=ADDR: the program is a guest, and each system call leaves it. The kernel of the host goes on
 * at ADDR + 16, where a "jmp ADDR" is, and enters the guest again by a "vmresume" at ADDR.
 * shift=N: the guest's addresses are so much higher than the program's; then it is a kernel.
 * guest=PID: the program is the guest's process PID, as the guest's own side band tells.
 * samples=FILE: each third exit has a sample, in turn by the host in the guest, by the host in its
 * own code, and with guest=PID by the guest itself. FILE gets a line for each: the number of lines
 * of the truth before it, "host" or "guest" for its code, its address and those of its callers.
 * tracepoint=on: with guest=PID, sched:sched_switch tells the switches of the guest. The program is
 * then the guest's thread PID + 10. It takes no samples=.
 * kvm=on: a mapping tells where the guest's kernel is, as in recordings of perf kvm record.
 * kernel=PROGRAM: its code is also written: to OUT.guest/kcore_dir, and to OUT.vmlinux,
 * which is linked to other addresses.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "base/mem.h"
#include "classify.h"
#include "kcore.h"
#include "qemu_plugin.h"
#include "recording.h"
#include "writer.h"

int qemu_plugin_version = 1;

enum { BEGIN_TSC = 1000000 };

/* What QEMU translates at once: up to a branch, at most. */
struct piece {
	uint64_t start, last;
	uint32_t n_insns;
	uint8_t kind, last_size;
};

struct sample {
	uint64_t tsc, ip;
	bool is_of_host, is_by_guest; /* in the host's code; taken by the guest's own event */
};

static struct {
	struct writer writer;
	struct recording recording;
	const char *out, *kernel;
	FILE *truth; /* NULL: not asked for */
	uint64_t insns, limit, host, shift;
	bool is_kvm, has_tracepoint;
	pid_t guest; /* 0: it has the number that it has here */
	const struct piece *before;
	VEC(uint64_t) callers; /* of the guest: where each call returns to */
	VEC(struct sample) samples;
	FILE *samples_to;                  /* NULL: none are taken */
	uint64_t n_told, n_exits, left_at; /* left_at: in the guest; 0: it was not entered yet */
} run = { .limit = UINT64_MAX };

static void tell(uint64_t from, uint64_t to)
{
	run.n_told++;
	if (run.truth)
		fprintf(run.truth, "%d %" PRIx64 " => %" PRIx64 "\n", getpid(), from, to);
}

enum { HOST_EXIT = 16, HOST_JUMP_SIZE = 2 };

enum {
	SAMPLE_TICKS = 2000, /* of a sample: more than the distance of MTC packets */
	EXIT_LINES = 3,      /* of the truth: from the guest's last instruction to the next entry */
};

/* The host has left the guest, and stands before the next entry for a while. */
static void take_sample(void)
{
	uint64_t n = run.n_exits++;
	struct sample s = { .tsc = run.writer.tsc + SAMPLE_TICKS / 2, .ip = run.left_at };

	if (!run.samples_to || n % 3)
		return;
	run.writer.tsc += SAMPLE_TICKS;
	s.is_of_host = n / 3 % 3 == 1;
	s.is_by_guest = run.guest && n / 3 % 3 == 2;
	if (s.is_of_host)
		s.ip = run.host;
	vec_push(&run.samples, s);
	fprintf(run.samples_to, "%" PRIu64 " %s %" PRIx64,
		run.n_told - (s.is_of_host ? 0 : EXIT_LINES), s.is_of_host ? "host" : "guest",
		s.ip);
	for (size_t i = s.is_of_host ? 0 : run.callers.n; i > 0; i--)
		fprintf(run.samples_to, " %" PRIx64, run.callers.data[i - 1]);
	fprintf(run.samples_to, "\n");
}

static void put_samples(void)
{
	struct recording *r = &run.recording;

	vec_foreach (&run.samples, s) {
		uint16_t misc = s->is_of_host ? PERF_RECORD_MISC_KERNEL
				: s->ip >> 63 ? PERF_RECORD_MISC_GUEST_KERNEL
					      : PERF_RECORD_MISC_GUEST_USER;
		pid_t pid = s->is_by_guest ? run.guest : getpid();

		r->is_of_guest = s->is_by_guest;
		recording_plain_sample(r, misc, (struct recording_thread){ pid, pid }, s->tsc,
				       s->ip);
	}
	r->is_of_guest = false;
	if (run.samples_to)
		fclose(run.samples_to);
}

/* The host's way from an exit to the next entry. */
static void enter_guest(uint64_t to)
{
	tell(run.host + HOST_EXIT, run.host);
	if (run.left_at)
		take_sample();
	writer_instruction(&run.writer, BRANCH_JUMP, HOST_JUMP_SIZE, run.host);
	run.writer.tsc += 7;
	run.writer.cycles += 7;
	tell(run.host, 0);
	tell(0, to);
	writer_vm_entry(&run.writer, to);
}

static void leave_guest(uint64_t from)
{
	tell(from, 0);
	tell(0, run.host + HOST_EXIT);
	run.writer.ip = from;
	writer_vm_exit(&run.writer, run.host + HOST_EXIT);
	run.left_at = from;
}

/* The guest's calls that have not returned. */
static void follow_calls(const struct piece *p, uint64_t to)
{
	uint64_t back = p->last + p->last_size;

	if ((p->kind == BRANCH_CALL || p->kind == BRANCH_CALL_INDIRECT) && to != back)
		vec_push(&run.callers, back);
	if (p->kind == BRANCH_RETURN && run.callers.n && run.callers.data[run.callers.n - 1] == to)
		run.callers.n--;
}

/* Where the last instruction of a piece led to. */
static void tell_end(const struct piece *p, uint64_t to)
{
	bool is_next = to == p->last + p->last_size;

	if (p->kind == BRANCH_SYSTEM && run.host) {
		/* leave_guest() tells it. */
	} else if (p->kind == BRANCH_SYSTEM) {
		tell(p->last, 0);
		tell(0, to);
	} else if (p->kind != BRANCH_NONE && !(p->kind == BRANCH_COND && is_next)) {
		tell(p->last, to);
	}
}

static pid_t program_pid(void)
{
	return run.guest ? run.guest : getpid();
}

static void add_maps(void)
{
	char line[4400];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		uint64_t start, end, off, inode;
		uint32_t major, minor;
		char prot[8], name[4200] = "";

		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %4199[^\n]",
			   &start, &end, prot, &off, &major, &minor, &inode, name) == 8 &&
		    name[0] == '/' && start < 0x500000000000)
			recording_map(&run.recording, program_pid(), program_pid(), 1000, start,
				      end, off, major, minor, inode, name);
	}
	if (f)
		fclose(f);
}

/* A process of another name was there before, at the same addresses. */
static void add_guest(void)
{
	struct recording *r = &run.recording;
	const struct recording_thread idle = { 0, 0 }, other = { run.guest + 1, run.guest + 1 },
				      now = { run.guest, run.guest + (r->has_tracepoint ? 10 : 0) };

	r->host_pid = getpid();
	r->guest_cpu = 3;
	r->is_of_guest = true;
	recording_comm(r, other.pid, other.tid, 890, "other", true);
	recording_map(r, other.pid, other.tid, 891, 0x400000, 0x500000, 0, 8, 1, 5, "/no/such");
	recording_comm(r, run.guest, run.guest, 900, "program", true);
	if (now.tid != now.pid)
		recording_comm(r, now.pid, now.tid, 900, "worker", false);
	recording_switch(r, 900, idle, other);
	add_maps();
	recording_switch(r, BEGIN_TSC - 100, other, now);
	r->is_of_guest = false;
}

static void finish(plugin_id id, void *data)
{
	struct buf file = { 0 };
	FILE *f;

	(void)id;
	if (!run.out)
		return;
	if (run.before->kind == BRANCH_SYSTEM && !data && run.host) {
		leave_guest(run.before->last);
		tell(run.host + HOST_EXIT, 0);
		writer_interrupt(&run.writer);
	} else if (run.before->kind == BRANCH_SYSTEM && !data) { /* exit's */
		tell(run.before->last, 0);
		writer_disable(&run.writer);
	} else {
		tell(run.writer.ip, 0);
		writer_interrupt(&run.writer);
	}
	if (run.truth)
		fclose(run.truth);
	recording_comm(&run.recording, getpid(), getpid(), 900, "qemu", true);
	if (run.guest)
		add_guest();
	else
		add_maps();
	if (run.host)
		recording_kernel(&run.recording, run.host, 4096);
	if (run.is_kvm)
		recording_guest_kernel(&run.recording, 0, KERNEL_TEXT, 1 << 24);
	recording_start(&run.recording, getpid(), getpid(), 1000);
	put_samples();
	recording_trace(&run.recording, getpid(), 0, run.writer.tsc, &run.writer.out);
	recording_finish(&run.recording, &file);
	f = fopen(run.out, "wb");
	if (!f || fwrite(file.data, 1, file.len, f) != file.len || fclose(f) != 0)
		fprintf(stderr, "pt_qemu: %s could not be written\n", run.out);
	fprintf(stderr, "pt_qemu: %" PRIu64 " instructions, %zu bytes of trace\n", run.insns,
		run.writer.out.len);
	run.out = NULL;
}

static void on_exec(unsigned int cpu, void *data)
{
	const struct piece *now = data, *before = run.before;
	struct writer *w = &run.writer;

	(void)cpu;
	run.before = now;
	if (!before && run.host) {
		tell(0, run.host + HOST_EXIT);
		writer_enable(w, run.host + HOST_EXIT);
		enter_guest(now->start);
		return;
	}
	if (!before) {
		tell(0, now->start);
		writer_enable(w, now->start);
		return;
	}
	tell_end(before, now->start);
	if (run.samples_to)
		follow_calls(before, now->start);
	run.insns += before->n_insns;
	w->tsc += before->n_insns;
	w->cycles += before->n_insns;
	w->ip = before->last;
	if (before->kind == BRANCH_SYSTEM && run.host) {
		leave_guest(before->last);
		enter_guest(now->start);
	} else if (before->kind == BRANCH_SYSTEM) {
		writer_instruction(w, BRANCH_SYSTEM, before->last_size, now->start);
		writer_disable(w);
		writer_enable(w, now->start);
	} else {
		writer_instruction(w, before->kind, before->last_size, now->start);
	}
	if (run.insns >= run.limit) {
		finish(0, &run); /* in the midst of it */
		_exit(0);
	}
}

static void on_translate(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
	struct piece *p = xcalloc(1, sizeof(*p)); /* as long-lived as the translation */

	(void)id;
	p->start = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0)) + run.shift;
	p->last = qemu_plugin_insn_vaddr(last) + run.shift;
	p->n_insns = (uint32_t)n;
	p->last_size = (uint8_t)qemu_plugin_insn_size(last);
	p->kind = (uint8_t)classify(64, qemu_plugin_insn_data(last), p->last_size, NULL);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_exec, 0, p);
}

enum { VMLINUX_DISTANCE = 0x2000000 };

static void write_kernel(void)
{
	cleanup(free_at_exit) char *vmlinux = xasprintf("%s.vmlinux", run.out);
	cleanup(free_at_exit) char *folder = xasprintf("%s.guest", run.out);
	struct build_id id;
	uint8_t none = 0;

	vmlinux_write(vmlinux, run.kernel, run.shift - VMLINUX_DISTANCE, &id);
	kcore_write(folder, run.kernel, run.shift, KERNEL_TEXT, &none, &none, 0);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	struct writer_options options = { .mtc_shift = 3, .psb_bytes = 8192 };

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (strncmp(argv[i], "out=", 4) == 0)
			run.out = xstrdup(argv[i] + 4);
		else if (strncmp(argv[i], "truth=", 6) == 0)
			run.truth = fopen(argv[i] + 6, "w");
		else if (strncmp(argv[i], "samples=", 8) == 0)
			run.samples_to = fopen(argv[i] + 8, "w");
		else if (strncmp(argv[i], "limit=", 6) == 0)
			run.limit = strtoull(argv[i] + 6, NULL, 0);
		else if (strncmp(argv[i], "psb=", 4) == 0)
			options.psb_bytes = strtoull(argv[i] + 4, NULL, 0);
		else if (strncmp(argv[i], "host=", 5) == 0)
			run.host = strtoull(argv[i] + 5, NULL, 0);
		else if (strncmp(argv[i], "guest=", 6) == 0)
			run.guest = atoi(argv[i] + 6);
		else if (strncmp(argv[i], "tracepoint=", 11) == 0)
			run.has_tracepoint = true;
		else if (strncmp(argv[i], "kvm=", 4) == 0)
			run.is_kvm = true;
		else if (strncmp(argv[i], "kernel=", 7) == 0)
			run.kernel = xstrdup(argv[i] + 7);
		else if (strncmp(argv[i], "shift=", 6) == 0)
			run.shift = strtoull(argv[i] + 6, NULL, 0);
		else if (strncmp(argv[i], "mtc=", 4) == 0)
			options.has_tsc = options.has_mtc = true;
		else if (strncmp(argv[i], "cyc=", 4) == 0)
			options.has_cyc = true;
	}
	if (run.kernel)
		write_kernel();
	options.has_pip = run.host;
	writer_init(&run.writer, &options);
	run.writer.cr3 = 0x1234000;
	run.writer.tsc = BEGIN_TSC;
	recording_init(&run.recording, &options);
	run.recording.has_tracepoint = run.has_tracepoint;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
