/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/probe.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files/file.h"
#include "counter/draft.h"
#include "counter/intel_pt.h"
#include "counter/intel_pt_caps.h"
#include "counter/pmu.h"
#include "counter/sources.h"

const char *const probe_state_keys[] = {
#define X(id, key) [PROBE_##id] = key,
	PROBE_STATES(X)
#undef X
};

void probe_machine_init(struct probe_machine *m, const struct counter_sources *sources)
{
	struct rlimit memlock = { RLIM_INFINITY, RLIM_INFINITY }, files = { 1024, 1024 };
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	getrlimit(RLIMIT_MEMLOCK, &memlock);
	getrlimit(RLIMIT_NOFILE, &files);
	*m = (struct probe_machine){
		.sources = sources,
		.is_root = geteuid() == 0,
		.n_cpus = n_cpus > 0 ? (uint32_t)n_cpus : 1,
		.memlock_bytes = memlock.rlim_cur == RLIM_INFINITY ? UINT64_MAX : memlock.rlim_cur,
		.n_files = files.rlim_cur,
		.max_files = files.rlim_max,
		.debuginfod_urls = getenv("DEBUGINFOD_URLS"),
	};
}

void finding_set(struct finding *f, enum probe_state state, const char *format, ...)
{
	va_list ap;

	f->state = state;
	va_start(ap, format);
	vsnprintf(f->text, sizeof(f->text), format, ap);
	va_end(ap);
}

void finding_means(struct finding *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(f->meaning, sizeof(f->meaning), format, ap);
	va_end(ap);
}

void finding_command(struct finding *f, const struct probe_machine *m, bool needs_root,
		     const char *format, ...)
{
	bool is_sudo = needs_root && !m->is_root;
	va_list ap;

	snprintf(f->command, sizeof(f->command), "%s", is_sudo ? "sudo " : "");
	va_start(ap, format);
	vsnprintf(f->command + strlen(f->command), sizeof(f->command) - strlen(f->command), format,
		  ap);
	va_end(ap);
}

static void finding_reason(struct finding *f, const struct probe_machine *m, enum probe_state state,
			   enum reason reason)
{
	struct reason_text text;

	reason_tell(m->sources, reason, &text);
	finding_set(f, state, "%s", text.reason);
}

void finding_remedy(struct finding *f, const struct probe_machine *m, enum reason reason)
{
	struct reason_text text;
	size_t len = strlen(f->meaning);

	reason_tell(m->sources, reason, &text);
	if (*text.remedy)
		snprintf(f->meaning + len, sizeof(f->meaning) - len, "%sTo do: %s.", len ? " " : "",
			 text.remedy);
	if (*text.command)
		finding_command(f, m, true, "%s", text.command);
}

static struct perf_event_attr cycles(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.exclude_guest = 1,
	};
}

static struct perf_event_attr cpu_clock(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

/* 0, or the negative errno of perf_event_open(). pid 0: this process; -1: all, on CPU `cpu`. */
static int probe_try_open(const struct probe_machine *m, struct perf_event_attr attr, int pid,
			  int cpu)
{
	int fd = sources_open(m->sources, &attr, pid, cpu);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

/* The first CPU that is there to try on: CPU 0 need not be, in a cpuset or when offline. */
static int any_cpu(const struct probe_machine *m)
{
	char path[PATH_MAX], line[128];
	cpu_set_t set;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", sources_sysfs(m->sources));
	if (file_read_line(path, line, sizeof(line)))
		return atoi(line);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			return cpu;
	return 0;
}

struct probe_scope probe_scope(const struct probe_machine *m)
{
	struct perf_event_attr attr = cycles();
	struct probe_scope scope = { .has_hardware = probe_try_open(m, attr, 0, -1) == 0 };

	if (!scope.has_hardware)
		attr = cpu_clock();
	if (probe_try_open(m, attr, 0, -1) < 0) {
		scope.reach = REACH_NOTHING;
		return scope;
	}
	attr.exclude_kernel = attr.exclude_hv = 0;
	if (probe_try_open(m, attr, -1, any_cpu(m)) == 0)
		scope.reach = sources_pid_namespace(m->sources) ? REACH_NAMESPACE : REACH_MACHINE;
	else if (probe_try_open(m, attr, 0, -1) == 0)
		scope.reach = REACH_OWN_KERNEL;
	else
		scope.reach = REACH_OWN;
	return scope;
}

static bool is_refusal(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* Is the processor a hypervisor's? The kernel shows the CPUID bit as a flag. */
static bool is_virtual(const struct probe_machine *m)
{
	char path[PATH_MAX], *text = NULL;
	size_t size;
	bool found;

	snprintf(path, sizeof(path), "%s/cpuinfo", sources_proc(m->sources));
	if (file_read_all(path, 16 << 20, &text, &size) < 0)
		return false;
	found = strstr(text, " hypervisor") != NULL;
	free(text);
	return found;
}

/* The name of the core PMU and its model: "cpu (skylake)", "cpu_atom, cpu_core". */
static void name_pmu(const struct probe_machine *m, char *text, size_t size)
{
	struct pmu_names kinds = { 0 };
	char path[PATH_MAX], model[64];
	size_t len = 0;

	text[0] = '\0';
	pmu_list_cores(m->sources, &kinds);
	for (size_t i = 0; i < kinds.n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? ", " : "",
					kinds.data[i]);
	pmu_names_fini(&kinds);
	if (len)
		return;
	snprintf(path, sizeof(path), "%s/bus/event_source/devices/cpu/caps/pmu_name",
		 sources_sysfs(m->sources));
	if (file_read_line(path, model, sizeof(model)))
		snprintf(text, size, "cpu (%s)", model);
	else
		snprintf(text, size, "cpu");
}

static void no_hardware(const struct probe_machine *m, struct finding *f)
{
	if (is_virtual(m))
		finding_set(f, PROBE_MISSING, "this virtual machine has no PMU");
	else
		finding_set(f, PROBE_MISSING, "the kernel has no PMU driver for this processor");
	finding_means(f,
		      "Samples are taken by a timer instead: good for where the time goes, but no "
		      "cycles, cache misses or branches, and samples of code with interrupts off "
		      "come late.%s",
		      is_virtual(m) ? " Only the host can give the machine a PMU (QEMU: -cpu "
				      "host,pmu=on)."
				    : "");
}

void probe_hardware(const struct probe_machine *m, struct finding *f)
{
	int r = probe_try_open(m, cycles(), 0, -1);
	int64_t watchdog = 0;
	char pmu[128];
	bool is_known = sources_number(m->sources, "sys/kernel/nmi_watchdog", &watchdog);

	if (r == -EBUSY) {
		finding_set(f, PROBE_LIMITED, "taken%s",
			    watchdog   ? " by the NMI watchdog"
			    : is_known ? " by another profiler"
				       : "; their user cannot be read");
		finding_means(f, "Samples are taken by a timer until they are free again.");
		if (watchdog)
			finding_command(f, m, true, "sysctl kernel.nmi_watchdog=0");
		return;
	}
	if (is_refusal(r) || r == -ENOSYS) {
		finding_set(f, PROBE_MISSING, "not permitted to this user");
		finding_means(f, "The lines 'permission' and 'seccomp' say why.");
		return;
	}
	if (r < 0) {
		no_hardware(m, f);
		return;
	}
	name_pmu(m, pmu, sizeof(pmu));
	finding_set(f, PROBE_OK, "cycles work; PMU %s%s", pmu,
		    watchdog ? "; the NMI watchdog holds one" : "");
	if (watchdog) {
		finding_means(f, "Events that are counted together have one counter less.");
		finding_command(f, m, true, "sysctl kernel.nmi_watchdog=0");
	}
}

void probe_clock(const struct probe_machine *m, struct finding *f)
{
	int r = probe_try_open(m, cpu_clock(), 0, -1);

	if (r == 0) {
		finding_set(f, PROBE_OK, "cpu-clock works");
		finding_means(f, "The timer that samples where there are no hardware counters.");
		return;
	}
	finding_set(f, PROBE_MISSING, "cpu-clock can't be opened: %s", strerror(-r));
	finding_means(f, "%s",
		      is_refusal(r) ? "The lines 'permission' and 'seccomp' say why."
		      : r == -ENOSYS
			      ? "The kernel has no perf events, or a seccomp filter hides them."
			      : "Nothing can be sampled.");
}

/* The kernel's driver for Arm takes a level and does not look at it. */
static bool ignores_precision(const struct probe_machine *m)
{
	struct pmu_names cores = { 0 };
	bool is_arm;

	pmu_list_cores(m->sources, &cores);
	is_arm = cores.n && !strncmp(cores.data[0], "arm", 3);
	pmu_names_fini(&cores);
	return is_arm;
}

void probe_precise(const struct probe_machine *m, struct finding *f)
{
	struct perf_event_attr attr = cycles();
	int level;

	if (probe_try_open(m, attr, 0, -1) < 0) {
		finding_set(f, PROBE_MISSING, "needs hardware counters");
		return;
	}
	for (level = ignores_precision(m) ? 0 : 3; level > 0; level--) {
		attr.precise_ip = (unsigned int)level & 3;
		if (probe_try_open(m, attr, 0, -1) == 0)
			break;
	}
	if (level) {
		finding_set(f, PROBE_OK, "up to cycles:%.*s", level, "ppp");
		finding_means(f, "The processor itself notes the instruction.");
	} else {
		finding_set(f, PROBE_MISSING, "this PMU has none for cycles");
		finding_means(f, "A sample may point a few instructions behind the one that took "
				 "the time.");
	}
}

/* perf_event_open(2) and the kernel's Documentation/admin-guide/sysctl/kernel.rst. */
static void explain_level(const struct probe_machine *m, int level, struct finding *f)
{
	static const struct {
		const char *what, *meaning;
		enum probe_state state;
		enum reason reason; /* the level that permits more is its remedy */
	} levels[] = {
		{ "all, and raw tracepoint data", "", PROBE_OK, REASON_NONE },
		{ "all CPUs and the kernel, no raw tracepoint data", "", PROBE_OK, REASON_NONE },
		{ "your own processes with the kernel, not whole CPUs",
		  "The whole machine (-a) and other users' processes are closed to you.",
		  PROBE_LIMITED, REASON_LEVEL_CPU },
		{ "your own processes, user mode only",
		  "Time in the kernel, the whole machine (-a) and other users' processes are "
		  "closed "
		  "to you.",
		  PROBE_LIMITED, REASON_LEVEL_IN_KERNEL },
		{ "nothing", "The kernel refuses all perf events to ordinary users.", PROBE_MISSING,
		  REASON_LEVEL_CLOSED },
	};
	size_t i = (size_t)(MIN(MAX(level, -1), 3) + 1);

	finding_set(f, levels[i].state, "kernel.perf_event_paranoid is %d: %s", level,
		    levels[i].what);
	finding_means(f, "%s", levels[i].meaning);
	if (levels[i].state == PROBE_OK)
		return;
	finding_remedy(f, m, levels[i].reason);
}

void probe_permission(const struct probe_machine *m, struct finding *f)
{
	int r = probe_try_open(m, cpu_clock(), 0, -1), level = sources_paranoid(m->sources);
	char setting[96];
	int64_t ignored;
	bool is_known = sources_number(m->sources, "sys/kernel/perf_event_paranoid", &ignored);

	reason_put_setting(m->sources, "perf_event_paranoid", setting, sizeof(setting));
	if (r == -ENOSYS && !sources_has_perf_events(m->sources)) {
		finding_reason(f, m, PROBE_MISSING, REASON_NO_PERF_EVENTS);
		finding_means(f, "Only a kernel with perf events can be profiled.");
	} else if (sources_perfmon(m->sources)) {
		finding_set(f, PROBE_OK, "%s, which does not bind %s", setting,
			    m->is_root ? "root" : "CAP_PERFMON");
		finding_means(f, "All processes, the kernel and every CPU can be profiled.");
	} else if (is_known) {
		explain_level(m, level, f);
	} else {
		finding_set(f, PROBE_LIMITED, "%s; there is no CAP_PERFMON", setting);
		finding_means(f, "The first line above names the things that you can profile.");
		finding_remedy(f, m, REASON_LEVEL_CPU);
	}
}

void probe_seccomp(const struct probe_machine *m, struct finding *f)
{
	int64_t mode = 0;

	if (!sources_seccomp(m->sources, &mode))
		finding_set(f, PROBE_OK, "cannot be read");
	else if (mode != 2)
		finding_set(f, PROBE_OK, "no filter on this process");
	else if (!sources_perf_is_filtered(m->sources))
		finding_set(f, PROBE_OK, "a filter, but it lets perf_event_open through");
	else {
		finding_set(f, PROBE_MISSING, "a seccomp filter refuses perf_event_open");
		finding_means(f, "Container engines install it, and kernel.perf_event_paranoid "
				 "cannot change it.");
		finding_remedy(f, m, REASON_PERF_FILTER);
	}
}

void probe_rate(const struct probe_machine *m, struct finding *f)
{
	uint64_t max = sources_max_rate(m->sources);

	if (!max) {
		finding_set(f, PROBE_LIMITED, "kernel.perf_event_max_sample_rate can't be read");
		finding_means(f, "The kernel may refuse a rate; assay then says which.");
		return;
	}
	finding_set(f, max < DEFAULT_FREQ_HZ ? PROBE_LIMITED : PROBE_OK, "up to %" PRIu64 " Hz",
		    max);
	if (max >= DEFAULT_FREQ_HZ)
		return;
	finding_means(f,
		      "Below assay's default of %d Hz, so that profiles are coarser. The kernel "
		      "lowers it by itself when sampling took too long "
		      "(kernel.perf_cpu_time_max_percent).",
		      DEFAULT_FREQ_HZ);
	finding_command(f, m, true, "sysctl kernel.perf_event_max_sample_rate=100000");
}

/* What perf_mmap() in kernel/events/core.c would grant, a ring a CPU; UINT64_MAX: no limit. */
static uint64_t ring_limit(const struct probe_machine *m, int64_t mlock_kb)
{
	if (sources_capable(m->sources, CAP_IPC_LOCK) || sources_paranoid(m->sources) < 0 ||
	    m->memlock_bytes == UINT64_MAX)
		return UINT64_MAX;
	return (uint64_t)mlock_kb * 1024 + m->memlock_bytes / m->n_cpus;
}

/* The largest ring below the limit: a power of two of pages, and one page before it. */
static uint64_t ring_size(uint64_t limit)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = page;

	if (limit < 2 * page)
		return 0;
	while (size * 2 + page <= limit)
		size *= 2;
	return size;
}

#define GOOD_RING_KB 512

/*
 * All profilers of a user share the memory that the user may lock. Only mapping a ring shows
 * whether enough is left.
 */
static bool can_map_ring(const struct probe_machine *m)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE) * 5;
	struct perf_event_attr attr = cpu_clock();
	int fd = sources_open(m->sources, &attr, 0, -1);
	void *ring = fd >= 0 ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : NULL;
	bool is_refused = ring == MAP_FAILED && errno == EPERM;

	if (ring && ring != MAP_FAILED)
		munmap(ring, size);
	if (fd >= 0)
		close(fd);
	return !is_refused;
}

void probe_ring(const struct probe_machine *m, struct finding *f)
{
	int64_t mlock_kb = 516; /* the kernel's own default */
	bool is_known = sources_number(m->sources, "sys/kernel/perf_event_mlock_kb", &mlock_kb);
	uint64_t limit = ring_limit(m, MAX(mlock_kb, 0)), size_kb;
	char setting[96];

	reason_put_setting(m->sources, "perf_event_mlock_kb", setting, sizeof(setting));
	if (limit == UINT64_MAX) {
		finding_set(f, PROBE_OK, "no limit");
		finding_means(f,
			      "Neither kernel.perf_event_mlock_kb nor the limit on locked memory "
			      "binds you.");
		return;
	}
	if (!can_map_ring(m)) {
		finding_reason(f, m, PROBE_MISSING, REASON_LOCKED_MEMORY);
		finding_means(f, "No ring can be mapped now, so nothing can be recorded.");
		finding_remedy(f, m, REASON_LOCKED_MEMORY);
		return;
	}
	size_kb = ring_size(limit) / 1024;
	finding_set(f,
		    size_kb >= GOOD_RING_KB && is_known ? PROBE_OK
		    : size_kb                           ? PROBE_LIMITED
							: PROBE_MISSING,
		    "%" PRIu64 " KiB a CPU%s (%s)", size_kb, is_known ? "" : " at a guess",
		    setting);
	finding_means(f, "All profilers of one user share it; a small ring loses samples at high "
			 "rates.");
	if (size_kb < GOOD_RING_KB && sources_in_container(m->sources))
		finding_remedy(f, m, REASON_LOCKED_MEMORY);
	else if (size_kb < GOOD_RING_KB)
		finding_command(f, m, true, "sysctl kernel.perf_event_mlock_kb=%d",
				GOOD_RING_KB + 4);
}

void probe_pid_namespace(const struct probe_machine *m, struct finding *f)
{
	if (sources_pid_namespace(m->sources)) {
		finding_set(f, PROBE_LIMITED, "one of its own");
		finding_means(f, "The work of other namespaces has no names: it is [other "
				 "namespace]. Time that "
				 "threads wait (--off-cpu) can't be measured.");
		finding_remedy(f, m, REASON_PID_NAMESPACE);
	} else if (sources_proc_state(m->sources) == PROC_ABSENT) {
		finding_set(f, PROBE_LIMITED, "cannot be read without /proc");
	} else {
		finding_set(f, PROBE_OK, "the initial one, with the kernel's own numbers");
	}
}

static bool has_file(const char *root, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, file);
	return access(path, R_OK) == 0;
}

/* What a missing file means. */
static const struct {
	enum reason reason;
	enum probe_state state;
	const char *meaning;
} file_reasons[] = {
	{ REASON_NO_PROC, PROBE_LIMITED,
	  "Processes that already run have no names; later ones have names." },
	{ REASON_FOREIGN_PROC, PROBE_MISSING,
	  "'assay record' refuses to work, because it would give processes the names of others." },
	{ REASON_HIDDEN_PROCESSES, PROBE_LIMITED,
	  "Processes of others that already run have no names." },
	{ REASON_NO_SYSFS, PROBE_LIMITED,
	  "Only the CPUs that this process may run on are profiled, by perf events alone. Of the "
	  "hardware events, only the kernel's generic ones are known." },
	{ REASON_MASKED_SETTINGS, PROBE_LIMITED,
	  "assay can't read the kernel's permissions beforehand, and tries." },
};

static void add_missing(const struct probe_machine *m, enum reason reason, struct finding *f)
{
	struct reason_text text;

	reason_tell(m->sources, reason, &text);
	for (size_t i = 0; i < ARRAY_SIZE(file_reasons); i++) {
		size_t len = strlen(f->meaning), n = strlen(f->text);

		if (file_reasons[i].reason != reason)
			continue;
		f->state = MAX(f->state, file_reasons[i].state);
		snprintf(f->text + n, sizeof(f->text) - n, "%s%s", n ? "; " : "", text.reason);
		snprintf(f->meaning + len, sizeof(f->meaning) - len, "%s%s", len ? " " : "",
			 file_reasons[i].meaning);
		finding_remedy(f, m, reason);
	}
}

void probe_system_files(const struct probe_machine *m, struct finding *f)
{
	const char *proc = sources_proc(m->sources), *sys = sources_sysfs(m->sources);
	enum reason of_proc = reason_of_proc(m->sources);

	f->state = PROBE_OK;
	if (of_proc != REASON_NONE)
		add_missing(m, of_proc, f);
	if (!has_file(sys, "devices/system/cpu/online"))
		add_missing(m, REASON_NO_SYSFS, f);
	if (of_proc != REASON_NO_PROC && !has_file(proc, "sys/kernel/perf_event_paranoid") &&
	    probe_try_open(m, cpu_clock(), 0, -1) != -ENOSYS)
		add_missing(m, REASON_MASKED_SETTINGS, f);
	if (f->state == PROBE_OK)
		finding_set(f, PROBE_OK, "/proc, /sys and the kernel's settings can be read");
}

#define FILES_OF_OURS 64
#define MIN_THREADS   64

void probe_files(const struct probe_machine *m, struct finding *f)
{
	uint64_t n_threads =
		m->n_files > FILES_OF_OURS ? (m->n_files - FILES_OF_OURS) / m->n_cpus : 0;

	finding_set(f, n_threads >= MIN_THREADS ? PROBE_OK : PROBE_LIMITED,
		    "%" PRIu64 ": an event for about %" PRIu64 " threads on %" PRIu32 " CPUs",
		    m->n_files, n_threads, m->n_cpus);
	finding_means(f, "An event of a running thread (-p, -t) takes one on each CPU; a command "
			 "or the whole machine takes one a CPU.");
	if (n_threads >= MIN_THREADS)
		return;
	if (m->max_files > m->n_files)
		finding_command(f, m, false, "ulimit -n %" PRIu64, m->max_files);
	else
		finding_command(f, m, true, "prlimit --pid $$ --nofile=65536");
}

/* Its type and the least that it takes: user code of this process. */
static int try_intel_pt(const struct probe_machine *m, uint32_t type, bool with_kernel)
{
	struct perf_event_attr attr = { .type = type,
					.size = sizeof(attr),
					.exclude_kernel = !with_kernel,
					.exclude_hv = 1,
					.disabled = 1 };

	intel_pt_defaults(m->sources, &attr);
	return probe_try_open(m, attr, 0, -1);
}

static void say_intel_pt_absent(const struct probe_machine *m, struct finding *f)
{
	struct buf why = { 0 };

	finding_set(f, PROBE_MISSING, "%s",
		    intel_pt_is_there(m->sources)
			    ? "the processor has it, the kernel does not offer it"
		    : is_virtual(m) ? "this virtual machine has none"
				    : "this processor has none");
	intel_pt_absence(m->sources, &why);
	finding_means(f, "Exact traces of every branch can't be taken here: %s.", buf_cstr(&why));
	buf_fini(&why);
}

static void say_intel_pt_refused(const struct probe_machine *m, int code, struct finding *f)
{
	char setting[96];

	reason_put_setting(m->sources, "perf_event_paranoid", setting, sizeof(setting));
	if (code == -EACCES || code == -EPERM) {
		finding_set(f, PROBE_MISSING, "is there, but not permitted to this user");
		finding_means(f,
			      "%s: it takes 2 or less to trace your own processes, or CAP_PERFMON.",
			      setting);
		finding_remedy(f, m, REASON_LEVEL_CLOSED);
	} else if (code == -EBUSY) {
		finding_set(f, PROBE_MISSING, "is there, but in use");
		finding_means(f, "Another trace runs (perf, or a debugger), or the BIOS uses it.");
	} else {
		finding_set(f, PROBE_MISSING, "is there, but the kernel refuses it: %s",
			    strerror(-code));
		finding_means(f,
			      "Exact traces of every branch can't be taken here. 'dmesg' may say "
			      "why; on some processors virtual machines that run keep it.");
	}
}

void probe_intel_pt(const struct probe_machine *m, struct finding *f)
{
	struct buf caps = { 0 };
	uint32_t type;
	int r;

	if (!pmu_type(m->sources, INTEL_PT, &type)) {
		say_intel_pt_absent(m, f);
		return;
	}
	r = try_intel_pt(m, type, false);
	if (r < 0) {
		say_intel_pt_refused(m, r, f);
		return;
	}
	intel_pt_summary(m->sources, &caps);
	r = try_intel_pt(m, type, true);
	finding_set(f, r < 0 ? PROBE_LIMITED : PROBE_OK, "%s%s",
		    caps.len ? buf_cstr(&caps) : "is there", r < 0 ? "; user code only" : "");
	buf_fini(&caps);
	if (r == 0 && (m->is_root || sources_perfmon(m->sources)))
		return;
	finding_means(f,
		      "Of your own processes%s, through small buffers (128 KiB a CPU, by the "
		      "limit of locked memory). A fast program can overflow them. Root has 4 MiB.",
		      r < 0 ? ", without the kernel" : "");
	if (r < 0)
		finding_command(f, m, true, "sysctl kernel.perf_event_paranoid=1");
}
