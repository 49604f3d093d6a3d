/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor under any sampling profiler. It opens a cpu-clock event on a command and all its
 * children. At each overflow, a BPF program adds one to a number, and does nothing else. A profiler
 * is responsible for all cost above this floor.
 *
 * Usage: floor [-a] HZ COMMAND [ARG…]
 *
 * It prints the number of ticks on stderr. With -a, the timer covers the whole machine while the
 * command runs.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* One number a CPU. */
static int make_map(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_PERCPU_ARRAY,
				.key_size = 4,
				.value_size = 8,
				.max_entries = 1 };
	int fd = bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		fail("cannot make a BPF map");
	return fd;
}

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })

/* value = map[0]; if (value) *value += 1; return 0: no sample is written. */
static int load_counter(int map)
{
	struct bpf_insn program[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 3, 0),
		INSN(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_0, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_1, 0, 0, 1),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_0, BPF_REG_1, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_PERF_EVENT,
				.insns = (uint64_t)(uintptr_t)program,
				.insn_cnt = sizeof(program) / sizeof(program[0]),
				.license = (uint64_t)(uintptr_t) "GPL" };
	int fd = bpf(BPF_PROG_LOAD, &attr);

	if (fd < 0)
		fail("cannot load a BPF program");
	return fd;
}

/* As a profiler of a command does it: one inherited event a CPU, on from the exec; pid -1: of all.
 */
static void attach(pid_t pid, int cpu, uint64_t hz, int program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_freq = hz,
					.freq = 1,
					.disabled = pid != -1,
					.inherit = pid != -1,
					.enable_on_exec = pid != -1 };
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == ENODEV)
		return; /* the CPU is offline */
	if (fd < 0)
		fail("cannot open cpu-clock");
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) < 0)
		fail("cannot attach a BPF program");
}

static uint64_t count_ticks(int map, long cpus)
{
	uint64_t *values = calloc((size_t)cpus, sizeof(*values)), sum = 0;
	uint32_t key = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)map,
				.key = (uint64_t)(uintptr_t)&key,
				.value = (uint64_t)(uintptr_t)values };

	if (!values || bpf(BPF_MAP_LOOKUP_ELEM, &attr) < 0)
		fail("cannot read the BPF map");
	for (long i = 0; i < cpus; i++)
		sum += values[i];
	free(values);
	return sum;
}

/* The number of CPUs that the map has a value for: all that may ever come. */
static long possible_cpus(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/possible", "r");
	int first = 0, last = 0;
	int n = f ? fscanf(f, "%d-%d", &first, &last) : 0;

	if (f)
		fclose(f);
	return n == 2 ? last + 1 : 1;
}

int main(int argc, char **argv)
{
	long cpus = possible_cpus();
	bool is_whole = argc > 1 && !strcmp(argv[1], "-a");
	int go[2], map, program, status = 0;
	char byte = 0;
	pid_t pid = -1;

	argv += is_whole;
	if (argc - is_whole < 3) {
		fprintf(stderr, "Usage: floor [-a] HZ COMMAND [ARG...]\n");
		return 2;
	}
	map = make_map();
	program = load_counter(map);
	if (pipe(go) < 0 || (pid = fork()) < 0)
		fail("cannot start the command");
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) == 1)
			execvp(argv[2], argv + 2);
		fail(argv[2]);
	}
	for (int cpu = 0; cpu < cpus; cpu++)
		attach(is_whole ? -1 : pid, cpu, strtoull(argv[1], NULL, 10), program);
	if (write(go[1], &byte, 1) != 1 || waitpid(pid, &status, 0) < 0)
		fail("cannot wait for the command");
	fprintf(stderr, "floor: %llu ticks\n", (unsigned long long)count_ticks(map, cpus));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
