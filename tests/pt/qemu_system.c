/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The generator for traces of whole machines: a plugin of qemu-system with one CPU. It follows the
 * kernel, its modules, and all processes, with interrupts, faults and switches of threads.
 *
 *     qemu-system-x86_64 -plugin libpt_qemu_system.so,out=DIR,program=FILE,symbols=FILE …
 *
 * DIR/data is the recording, DIR/kcore_dir the kernel's code as it ran, and DIR/truth the taken
 * branches, in trace.c's format. Tracing begins and ends where the guest runs the two instructions
 * of MARKS. At the end, `symbols` has the text symbols of the guest's /proc/kallsyms, a line
 * "@@modules", and its /proc/modules. All processes run `program`, which is linked statically and
 * maps nothing else. limit=N ends tracing after so many instructions, kernel=on leaves out
 * programs.
 *
 * The kernel runs with "nokaslr mitigations=off". A thread is known by the place of its
 * task_struct, which __switch_to_asm reads and writes.
 *
 * A translated piece of code counts its instructions, so it is known at which one a fault ended it.
 * QEMU takes interrupts between pieces. Behind an indirect branch, the place that is interrupted is
 * not known: then the branch counts as not done, and the return from the interrupt leads to its
 * target.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <Zydis/Zydis.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "classify.h"
#include "elf/elf_file.h"
#include "qemu_plugin.h"
#include "recording.h"
#include "writer.h"

enum {
	PAGE = 4096,
	KERNEL_SIZE = 64 << 20, /* from _text on: no module is that near */
	FIRST_THREAD = 1000,
	BEFORE_TRACE = 1000, /* the side band's time */
	MAX_LINE = 512,
	PT_INSN_SIZE = 16,
	POKED_BEFORE = 800, /* more than the time between two MTCs */
	TICKS = 2,          /* of an instruction: perf estimates so many, where no packet tells */
	/*
	 * The records of a switch are as far before and behind it as in a kernel. perf 7.2 stops
	 * where its estimate of the time of __switch_to is behind both.
	 */
	OUT_BEFORE = 200,
	IN_BEHIND = 600,
};

#define KERNEL_TEXT 0xffffffff81000000ULL

/* nopl N(%rax): N is a mark's name. */
static const uint8_t marks[][7] = {
	{ 0x0f, 0x1f, 0x80, 'T', 'R', 'O', 'N' },
	{ 0x0f, 0x1f, 0x80, 'T', 'R', 'O', 'F' },
};

int qemu_plugin_version = 1;

/* What QEMU translates at once: up to a branch, at most. */
struct piece {
	uint32_t n_insns;
	uint8_t kind, last_size;
	bool last_has_memory, has_run; /* has_run: while tracing is on */
	uint64_t target;               /* of a direct branch */
	uint64_t at[];                 /* each instruction, and what is behind the last */
};

struct page {
	uint64_t addr;
	uint8_t bytes[PAGE];
	uint8_t is_known[PAGE], has_run[PAGE];
};

static struct {
	struct writer writer;
	struct recording recording;
	char *out, *program, *symbols;
	FILE *truth;
	uint64_t insns, limit;
	uint64_t started; /* instructions of `before` */
	const struct piece *before;
	bool is_on, wants_on, wants_off, is_done, is_kernel_alone;
	struct intmap handlers; /* places that interrupts and faults lead to */
	struct intmap by_page;
	VEC(struct page *) pages;
	struct intmap by_task; /* the place of a task_struct to its thread's number */
	uint32_t n_threads, n_pokes;
	pid_t tid, next_tid; /* next_tid: from __switch_to on; 0: no switch is under way */
	uint64_t switch_to;
} run = { .limit = UINT64_MAX, .tid = FIRST_THREAD, .n_threads = 1 };

static bool is_kernel(uint64_t addr)
{
	return addr >> 63;
}

static bool is_traced(uint64_t addr)
{
	return is_kernel(addr) || !run.is_kernel_alone;
}

/* ---- threads ---- */

static void tell(uint64_t from, uint64_t to)
{
	fprintf(run.truth, "%d %" PRIx64 " => %" PRIx64 "\n", run.tid, from, to);
	if (!run.next_tid || to != run.switch_to)
		return;
	run.tid = run.next_tid;
	run.next_tid = 0;
}

/* Each thread is a process, for which the program is mapped. */
static void map_program(pid_t tid)
{
	struct elf_segment segment;
	struct file_mapping file;
	struct error err = { 0 };
	struct elf_file elf;
	struct stat st;

	recording_comm(&run.recording, tid, tid, BEFORE_TRACE, "work", true);
	if (file_map(run.program, &file, &err) < 0 || stat(run.program, &st) < 0 ||
	    elf_file_open(&elf, file.base, file.size, &err) < 0) {
		fprintf(stderr, "pt_qemu_system: %s\n", err.text);
		exit(1);
	}
	for (uint32_t i = 0; elf_segment(&elf, i, &segment); i++) {
		uint64_t start = segment.link_addr & ~(uint64_t)(PAGE - 1);
		uint64_t end =
			(segment.link_addr + segment.file_size + PAGE - 1) & ~(uint64_t)(PAGE - 1);

		if (segment.type == PT_LOAD && segment.flags & PF_X)
			recording_map(&run.recording, tid, tid, BEFORE_TRACE, start, end,
				      segment.file_off & ~(uint64_t)(PAGE - 1), major(st.st_dev),
				      minor(st.st_dev), (uint64_t)st.st_ino, run.program);
	}
	file_unmap(&file);
}

static void on_task(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	bool is_next = data;
	uint32_t *known;
	bool is_new;

	(void)cpu;
	(void)info;
	if (!run.is_on)
		return;
	known = intmap_put(&run.by_task, vaddr, &is_new);
	if (is_new) {
		/* The one that leaves first ran when tracing began. */
		*known = is_next ? FIRST_THREAD + run.n_threads++ : (uint32_t)run.tid;
		if (is_next)
			map_program((pid_t)*known);
	}
	if (!is_next || (pid_t)*known == run.tid)
		return;
	run.next_tid = (pid_t)*known;
	recording_switch(&run.recording, run.writer.tsc - OUT_BEFORE,
			 (struct recording_thread){ run.tid, run.tid },
			 (struct recording_thread){ run.next_tid, run.next_tid });
}

/* mov %rsp,N(%rdi); mov N(%rsi),%rsp: the stacks of two threads. */
static void watch_switch(struct qemu_plugin_tb *tb, size_t n)
{
	static const uint8_t leaves[] = { 0x48, 0x89, 0xa7 }, comes[] = { 0x48, 0x8b, 0xa6 };

	for (size_t i = 0; i + 1 < n; i++) {
		struct qemu_plugin_insn *a = qemu_plugin_tb_get_insn(tb, i),
					*b = qemu_plugin_tb_get_insn(tb, i + 1);

		if (qemu_plugin_insn_size(a) != 7 || qemu_plugin_insn_size(b) != 7 ||
		    memcmp(qemu_plugin_insn_data(a), leaves, sizeof(leaves)) != 0 ||
		    memcmp(qemu_plugin_insn_data(b), comes, sizeof(comes)) != 0)
			continue;
		qemu_plugin_register_vcpu_mem_cb(a, on_task, 0, PLUGIN_ACCESSES, NULL);
		qemu_plugin_register_vcpu_mem_cb(b, on_task, 0, PLUGIN_ACCESSES, &run);
	}
}

/* ---- the kernel's code ---- */

static struct page *page_of(uint64_t addr)
{
	bool is_new;
	uint32_t *at = intmap_put(&run.by_page, addr / PAGE, &is_new);

	if (is_new) {
		struct page *page = xcalloc(1, sizeof(*page));

		page->addr = addr / PAGE * PAGE;
		*at = (uint32_t)run.pages.n;
		vec_push(&run.pages, page);
	}
	return run.pages.data[*at];
}

/*
 * The recording has the code as it was when tracing began, and each change of code that had run by
 * then. A change is found when it is to run: it was made earlier, when no packet tells.
 */
static void keep_code(uint64_t addr, const uint8_t *bytes, size_t size)
{
	uint8_t before[PT_INSN_SIZE];
	bool is_changed = false, has_run = false;

	for (size_t i = 0; i < size; i++) {
		struct page *page = page_of(addr + i);
		size_t at = (addr + i) % PAGE;

		is_changed |= page->is_known[at] && page->bytes[at] != bytes[i];
		has_run |= page->has_run[at];
		before[i] = page->bytes[at];
	}
	if (is_changed && has_run) {
		recording_poke(&run.recording, run.writer.tsc - POKED_BEFORE, addr, before, bytes,
			       (uint16_t)size);
		run.n_pokes++;
	}
	for (size_t i = 0; i < size && !(is_changed && has_run); i++) {
		struct page *page = page_of(addr + i);

		page->bytes[(addr + i) % PAGE] = bytes[i];
		page->is_known[(addr + i) % PAGE] = 1;
	}
}

static void mark_as_run(struct piece *p)
{
	p->has_run = true;
	for (uint64_t addr = p->at[0]; is_kernel(addr) && addr < p->at[p->n_insns]; addr++)
		page_of(addr)->has_run[addr % PAGE] = 1;
}

static int compare_pages(const void *a, const void *b)
{
	uint64_t one = (*(struct page *const *)a)->addr, other = (*(struct page *const *)b)->addr;

	return one < other ? -1 : one > other;
}

static void write_file(const char *name, const struct buf *bytes)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", run.out, name);
	struct error err = { 0 };

	if (file_replace(path, bytes->data, bytes->len, &err) < 0)
		fprintf(stderr, "pt_qemu_system: %s\n", err.text);
}

/* How many pages lie in a row from the i-th on. */
static size_t pages_in_row(size_t i)
{
	size_t n = 1;

	while (i + n < run.pages.n &&
	       run.pages.data[i + n]->addr == run.pages.data[i]->addr + n * PAGE)
		n++;
	return n;
}

/* The kernel is one segment from _text on, as in /proc/kcore: perf 6.1 needs that. */
static void fill_kernel(void)
{
	uint64_t last = KERNEL_TEXT;

	vec_foreach (&run.pages, page)
		if ((*page)->addr < KERNEL_TEXT + KERNEL_SIZE)
			last = MAX(last, (*page)->addr);
	for (uint64_t addr = KERNEL_TEXT; addr < last; addr += PAGE)
		page_of(addr);
}

/* An ELF core with a segment for the pages in a row that have code. */
static void write_kcore(void)
{
	struct buf core = { 0 };
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	uint64_t off;

	fill_kernel();
	qsort(run.pages.data, run.pages.n, sizeof(*run.pages.data), compare_pages);
	for (size_t i = 0; i < run.pages.n; i += pages_in_row(i))
		header.e_phnum++;
	off = (sizeof(header) + header.e_phnum * sizeof(Elf64_Phdr) + PAGE - 1) / PAGE * PAGE;
	buf_bytes(&core, &header, sizeof(header));
	for (size_t i = 0, n; i < run.pages.n; i += n) {
		Elf64_Phdr load = { .p_type = PT_LOAD,
				    .p_flags = PF_R | PF_W | PF_X,
				    .p_offset = off + i * PAGE,
				    .p_vaddr = run.pages.data[i]->addr,
				    .p_align = PAGE };

		n = pages_in_row(i);
		load.p_filesz = load.p_memsz = n * PAGE;
		buf_bytes(&core, &load, sizeof(load));
	}
	while (core.len < off)
		buf_u8(&core, 0);
	vec_foreach (&run.pages, page)
		buf_bytes(&core, (*page)->bytes, PAGE);
	write_file("kcore_dir/kcore", &core);
	buf_fini(&core);
}

/* What the guest wrote: its symbols, and its modules with their places. */
static void write_symbols(void)
{
	FILE *f = fopen(run.symbols, "r");
	struct buf symbols = { 0 }, modules = { 0 }, *to = &symbols;
	char line[MAX_LINE];

	while (f && fgets(line, sizeof(line), f)) {
		char name[64];
		uint64_t size, addr;

		if (strcmp(line, "@@modules\n") == 0) {
			to = &modules;
			continue;
		}
		buf_bytes(to, line, strlen(line));
		if (to == &modules && sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name,
					     &size, &addr) == 3) {
			cleanup(free_at_exit) char *path = xasprintf("[%s]", name);

			recording_module(&run.recording, addr, size, path);
		}
	}
	if (f)
		fclose(f);
	write_file("kcore_dir/kallsyms", &symbols);
	write_file("kcore_dir/modules", &modules);
	buf_fini(&symbols);
	buf_fini(&modules);
}

/* ---- the flow ---- */

static void find_switch(void)
{
	FILE *f = fopen(run.symbols, "r");
	char line[MAX_LINE], name[MAX_LINE];
	uint64_t addr;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %511s", &addr, name) == 2 &&
		    strcmp(name, "__switch_to") == 0)
			run.switch_to = addr;
	if (f)
		fclose(f);
}

static void begin(uint64_t at)
{
	find_switch();
	run.is_on = true;
	run.wants_on = false;
	run.recording.is_per_cpu = true;
	run.recording.lacks_user = run.is_kernel_alone;
	run.recording.switch_ticks = OUT_BEFORE + IN_BEHIND;
	recording_kernel(&run.recording, KERNEL_TEXT, KERNEL_SIZE);
	map_program(run.tid);
	recording_start(&run.recording, run.tid, run.tid, BEFORE_TRACE);
	recording_switch(&run.recording, run.writer.tsc - OUT_BEFORE - IN_BEHIND,
			 (struct recording_thread){ 0, 0 },
			 (struct recording_thread){ run.tid, run.tid });
	if (!is_traced(at))
		return;
	tell(0, at);
	writer_enable(&run.writer, at);
}

static void finish(plugin_id id, void *data)
{
	struct buf file = { 0 };

	(void)id;
	(void)data;
	if (run.is_done)
		return;
	run.is_done = true;
	run.is_on = false;
	if (run.writer.ip) {
		tell(run.writer.ip, 0);
		writer_interrupt(&run.writer);
	}
	fclose(run.truth);
	write_kcore();
	write_symbols();
	recording_trace(&run.recording, -1, 0, run.writer.tsc, &run.writer.out);
	recording_finish(&run.recording, &file);
	write_file("data", &file);
	fprintf(stderr,
		"pt_qemu_system: %" PRIu64
		" instructions, %zu bytes of trace, %u threads, %u changes of code\n",
		run.insns, run.writer.out.len, run.n_threads, run.n_pokes);
	buf_fini(&file);
}

static void pass_time(uint64_t n_insns)
{
	run.insns += n_insns;
	run.writer.tsc += TICKS * n_insns;
	run.writer.cycles += TICKS * n_insns;
}

/* Whether the last instruction may have led there. */
static bool may_lead(const struct piece *p, uint64_t to)
{
	switch (p->kind) {
	case BRANCH_NONE:
		return to == p->at[p->n_insns];
	case BRANCH_COND:
		return to == p->target || to == p->at[p->n_insns];
	case BRANCH_JUMP:
	case BRANCH_CALL:
		return to == p->target;
	default:
		return !intmap_find(&run.handlers, to);
	}
}

/* From one side of the filter to the other, or on the far side. */
static void go_over(uint64_t from, uint64_t to, enum branch_kind kind, uint8_t size)
{
	struct writer *w = &run.writer;

	if (is_traced(from)) {
		tell(from, 0);
		w->ip = from;
		writer_instruction(w, kind, size, to);
		writer_disable(w);
	} else if (is_traced(to)) {
		tell(0, to);
		writer_enable(w, to);
	}
}

static void branch(const struct piece *p, uint64_t to)
{
	uint64_t from = p->at[p->n_insns - 1];
	bool is_taken =
		p->kind != BRANCH_NONE && !(p->kind == BRANCH_COND && to == p->at[p->n_insns]);

	pass_time(p->n_insns);
	if (!is_traced(from) || !is_traced(to)) {
		go_over(from, to, p->kind, p->last_size);
		return;
	}
	if (is_taken)
		tell(from, to);
	run.writer.ip = from;
	/* A far branch has a TIP. */
	writer_instruction(&run.writer, p->kind == BRANCH_SYSTEM ? BRANCH_JUMP_INDIRECT : p->kind,
			   p->last_size, to);
}

/* An interrupt, or a fault of the instruction. */
static void interrupt(uint64_t at, uint64_t to)
{
	struct writer *w = &run.writer;
	bool is_new;

	*intmap_put(&run.handlers, to, &is_new) = 0;
	if (!is_traced(at)) {
		go_over(at, to, BRANCH_SYSTEM, 0);
		return;
	}
	tell(at, to);
	w->ip = at;
	writer_flush(w);
	writer_fup(w);
	writer_tip(w, to);
}

static void step(const struct piece *p, uint64_t started, uint64_t to)
{
	uint64_t n = started ? started - 1 : 0;
	uint64_t at = p->at[n];

	if (started == p->n_insns && may_lead(p, to)) {
		branch(p, to);
		return;
	}
	if (started == p->n_insns && p->kind == BRANCH_NONE && !p->last_has_memory && to != at)
		at = p->at[++n];
	pass_time(n);
	/* QEMU may begin an instruction anew, and repeats string instructions. */
	run.writer.ip = is_traced(at) ? at : 0;
	if (to != at)
		interrupt(at, to);
}

static void on_exec(unsigned int cpu, void *data)
{
	const struct piece *before = run.before;
	uint64_t started = run.started;
	struct piece *now = data;

	(void)cpu;
	run.before = now;
	run.started = 0;
	if (run.is_on)
		step(before, started, now->at[0]);
	else if (run.wants_on)
		begin(now->at[0]);
	else
		return;
	if (!now->has_run)
		mark_as_run(now);
	if (run.wants_off || run.insns >= run.limit)
		finish(0, NULL);
}

static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	if (data)
		run.wants_off = run.is_on;
	else
		run.wants_on = !run.is_done && !run.is_on;
}

static void read_last(struct piece *p, const struct qemu_plugin_insn *last)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	const uint8_t *bytes = qemu_plugin_insn_data(last);
	uint64_t at = p->at[p->n_insns - 1];

	p->last_size = (uint8_t)qemu_plugin_insn_size(last);
	p->kind = (uint8_t)classify(64, bytes, p->last_size, NULL);
	p->at[p->n_insns] = at + p->last_size;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, p->last_size, &insn, operands)))
		return;
	for (int i = 0; i < insn.operand_count; i++)
		p->last_has_memory |= operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
	if (insn.operand_count && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		ZydisCalcAbsoluteAddress(&insn, &operands[0], at, &p->target);
}

static void on_translate(plugin_id id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);
	/* As long-lived as the translation. */
	struct piece *p = xcalloc(1, sizeof(*p) + (n + 1) * sizeof(p->at[0]));

	(void)id;
	p->n_insns = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const uint8_t *bytes = qemu_plugin_insn_data(insn);
		size_t size = qemu_plugin_insn_size(insn);

		p->at[i] = qemu_plugin_insn_vaddr(insn);
		if (is_kernel(p->at[i]))
			keep_code(p->at[i], bytes, size);
		qemu_plugin_register_vcpu_insn_exec_inline(insn, 0, &run.started, 1);
		for (size_t k = 0; k < ARRAY_SIZE(marks); k++)
			if (size == sizeof(marks[k]) && !memcmp(bytes, marks[k], size))
				qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, 0,
								       k ? &run : NULL);
	}
	read_last(p, qemu_plugin_tb_get_insn(tb, n - 1));
	if (is_kernel(p->at[0]))
		watch_switch(tb, n);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_exec, 0, p);
}

static bool take_text(const char *argument, const char *name, char **out)
{
	size_t n = strlen(name);

	if (strncmp(argument, name, n) != 0)
		return false;
	*out = xstrdup(argument + n);
	return true;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
	struct writer_options options = { .mtc_shift = 3,
					  .psb_bytes = 8192,
					  .has_tsc = true,
					  .has_mtc = true,
					  .has_pip = true,
					  .is_of_cpu = true };
	cleanup(free_at_exit) char *truth = NULL, *below = NULL;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (take_text(argv[i], "out=", &run.out) ||
		    take_text(argv[i], "program=", &run.program) ||
		    take_text(argv[i], "symbols=", &run.symbols))
			continue;
		if (strncmp(argv[i], "limit=", 6) == 0)
			run.limit = strtoull(argv[i] + 6, NULL, 0);
		else if (strncmp(argv[i], "psb=", 4) == 0)
			options.psb_bytes = strtoull(argv[i] + 4, NULL, 0);
		else if (strncmp(argv[i], "kernel=", 7) == 0)
			run.is_kernel_alone = true;
	}
	if (!run.out || !run.program || !run.symbols) {
		fprintf(stderr, "pt_qemu_system: out=, program= and symbols= are needed\n");
		return -1;
	}
	below = xasprintf("%s/kcore_dir", run.out);
	mkdir(run.out, 0755);
	mkdir(below, 0755);
	truth = xasprintf("%s/truth", run.out);
	run.truth = fopen(truth, "w");
	if (!run.truth)
		return -1;
	writer_init(&run.writer, &options);
	run.writer.tsc = 1000000;
	run.writer.cr3 = 0x1234000;
	recording_init(&run.recording, &options);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, finish, NULL);
	return 0;
}
