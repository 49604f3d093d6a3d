/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler_support.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "collect/sampler.h"
#include "collect/sampler_limits.h"
#include "counter/sources.h"

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* A helper of the kernel that the sampler calls, and the Linux version that brought it. */
struct need {
	enum bpf_func_id id;
	const char *name;
	int major, minor;
};

static const struct need user_registers = { BPF_FUNC_task_pt_regs, "bpf_task_pt_regs", 5, 15 };
static const struct need table_loop = { BPF_FUNC_loop, "bpf_loop", 5, 17 };

/* Not a test's machine, which consists of files. */
static bool is_this_machine(const struct counter_sources *s)
{
	return !s || (!s->proc && !s->sysfs);
}

struct release {
	char text[72];
	int major, minor;
};

static struct release kernel_release(const struct counter_sources *s)
{
	struct release r = { .text = "unknown release" };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/kernel/osrelease", sources_proc(s));
	if (file_read_line(path, r.text, sizeof(r.text)))
		sscanf(r.text, "%d.%d", &r.major, &r.minor);
	return r;
}

static bool is_kernel_before(const struct release *r, const struct need *need)
{
	return r->major < need->major || (r->major == need->major && r->minor < need->minor);
}

/* Distributions port helpers to older kernels, so the running kernel is asked. */
static bool has_helper(const struct counter_sources *s, const struct need *need)
{
	struct release r;

	if (is_this_machine(s))
		return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, need->id, NULL) == 1;
	r = kernel_release(s);
	return !r.major || !is_kernel_before(&r, need);
}

static void explain_helper(const struct counter_sources *s, const struct need *need, char *why,
			   size_t size)
{
	struct release r = kernel_release(s);

	if (is_kernel_before(&r, need))
		snprintf(why, size,
			 "this kernel (%s) is too old: %s() for BPF programs came with Linux %d.%d",
			 r.text, need->name, need->major, need->minor);
	else
		snprintf(why, size,
			 "this kernel (%s) refuses %s() to BPF programs, which Linux has since "
			 "%d.%d: by lockdown or a policy",
			 r.text, need->name, need->major, need->minor);
}

/* Whether bpf(2) refuses the smallest of maps. */
static bool bpf_is_refused(const struct counter_sources *s)
{
	int fd;

	if (!is_this_machine(s))
		return false;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, 4, 4, 1, NULL);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static void types_path(const struct counter_sources *s, char path[static PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s/kernel/btf/vmlinux", sources_sysfs(s));
}

static void __attribute__((format(printf, 3, 4)))
set_obstacle(struct sampler_support *out, enum sampler_obstacle obstacle, const char *format, ...)
{
	va_list ap;

	out->obstacle = obstacle;
	va_start(ap, format);
	vsnprintf(out->why, sizeof(out->why), format, ap);
	va_end(ap);
}

/* Sets a reason that other commands report, too. */
static void set_reason(const struct counter_sources *s, struct sampler_support *out,
		       enum sampler_obstacle obstacle, enum reason reason)
{
	struct reason_text text;

	reason_tell(s, reason, &text);
	set_obstacle(out, obstacle, "%s", text.reason);
	out->reason = reason;
}

static void explain_no_types(const struct counter_sources *s, struct sampler_support *out)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/kernel", sources_sysfs(s));
	if (access(path, F_OK) == 0) {
		set_obstacle(out, OBSTACLE_NO_TYPES,
			     "the kernel has no BTF (/sys/kernel/btf/vmlinux)");
		return;
	}
	set_reason(s, out, OBSTACLE_NO_TYPES, REASON_NO_SYSFS);
	snprintf(out->why + strlen(out->why), sizeof(out->why) - strlen(out->why),
		 ", which has the kernel's BTF (/sys/kernel/btf/vmlinux)");
}

/* The size of the running kernel's own types; 0 if bpf(2) does not give it. */
static uint64_t kernel_types_size(void)
{
	uint32_t id = 0;

	while (bpf_btf_get_next_id(id, &id) == 0) {
		char name[16] = "";
		struct bpf_btf_info info = { .name = (uintptr_t)name, .name_len = sizeof(name) };
		uint32_t size = sizeof(info);
		cleanup(close_at_exit) int fd = bpf_btf_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 && info.kernel_btf &&
		    !strcmp(name, "vmlinux"))
			return info.btf_size;
	}
	return 0;
}

/* With another kernel's types, the program would read wrong fields, and count nonsense. */
static bool has_other_types(const struct counter_sources *s)
{
	char path[PATH_MAX];
	uint64_t size;
	struct stat st;

	types_path(s, path);
	size = is_this_machine(s) ? kernel_types_size() : 0;
	return size && stat(path, &st) == 0 && (uint64_t)st.st_size != size;
}

static void check_unwinding(const struct counter_sources *s, struct sampler_support *out)
{
	out->can_unwind = sampler_limits(1).loop && has_helper(s, &table_loop);
	if (!out->can_unwind)
		explain_helper(s, &table_loop, out->why, sizeof(out->why));
}

void sampler_support_check(const struct counter_sources *s, struct sampler_support *out)
{
	bool may_load = sources_capable(s, CAP_SYS_ADMIN) ||
			(sources_capable(s, CAP_BPF) && sources_perfmon(s));
	char path[PATH_MAX];

	*out = (struct sampler_support){ 0 };
	types_path(s, path);
	if (!may_load) {
		set_reason(s, out, OBSTACLE_PERMISSION, REASON_BPF_CAPABILITY);
	} else if (sources_confidential(s)) {
		set_obstacle(out, OBSTACLE_LOCKDOWN, "kernel lockdown is at 'confidentiality'");
	} else if (bpf_is_refused(s)) {
		set_reason(s, out, OBSTACLE_FILTER, REASON_BPF_FILTER);
	} else if (is_this_machine(s) && sources_proc_state(s) == PROC_ABSENT) {
		set_reason(s, out, OBSTACLE_NO_PROC, REASON_NO_PROC);
	} else if (access(path, R_OK) < 0) {
		explain_no_types(s, out);
	} else if (has_other_types(s)) {
		set_obstacle(out, OBSTACLE_OTHER_TYPES,
			     "/sys/kernel/btf/vmlinux belongs to another kernel");
	} else if (!has_helper(s, &user_registers)) {
		out->obstacle = OBSTACLE_OLD_KERNEL;
		explain_helper(s, &user_registers, out->why, sizeof(out->why));
	} else {
		check_unwinding(s, out);
	}
}

/* With a clock and the waits of a process and its children, every program is loaded. */
static int load_all_programs(const struct sampler_support *support, struct error *err)
{
	static const int32_t target = 1;
	static const struct sampler_waits waits = { .off_cpu = true,
						    .min_ns = 1000000,
						    .first_counter = 1,
						    .targets = &target,
						    .n_targets = 1 };
	struct counter clock = { .attr = { .freq = 1, .sample_freq = 99 }, .in_kernel = true };
	const struct counters counters = { .data = &clock, .n = 1, .cap = 1 };
	uint32_t cpu = 0;
	const struct cpu_list cpus = { .data = &cpu, .n = 1, .cap = 1 };
	struct sampler_config config = {
		.counters = &counters,
		.cpus = &cpus,
		.with_stacks = true,
		.by_frame_pointer = !support->can_unwind,
		.waits = &waits,
	};
	cleanup(sampler_close_at_exit) struct sampler *s = NULL;

	return sampler_open(&config, &s, err);
}

void sampler_support_try(const struct counter_sources *s, struct sampler_support *out)
{
	struct error why = { 0 };

	sampler_support_check(s, out);
	if (out->obstacle == OBSTACLE_NONE && is_this_machine(s) &&
	    load_all_programs(out, &why) < 0)
		set_obstacle(out, OBSTACLE_REFUSED, "%s", why.text);
}

bool sampler_is_available(const struct counter_sources *sources, char *why, size_t size)
{
	struct sampler_support support;

	sampler_support_check(sources, &support);
	if (support.obstacle != OBSTACLE_NONE)
		snprintf(why, size, "%s", support.why);
	return support.obstacle == OBSTACLE_NONE;
}

bool sampler_can_unwind(char *why, size_t size)
{
	struct sampler_support support = { 0 };

	check_unwinding(NULL, &support);
	if (!support.can_unwind)
		snprintf(why, size, "%s", support.why);
	return support.can_unwind;
}
