/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_machine.h"

#include "collect/sampler.h"
#include "commands/doctor/doctor_checks.h"
#include "commands/events_intel_pt.h"

/* The finding of a check by its printed name, on a machine of two CPUs and an ordinary user. */
static struct probe_machine ordinary(const struct machine *m)
{
	return (struct probe_machine){
		.sources = &m->sources,
		.n_cpus = 2,
		.memlock_bytes = 8 << 20,
		.n_files = 1024,
		.max_files = 1048576,
		.debug_dir = m->root,
		.cache_dir = m->root,
		.map_dir = m->root,
		.daemon_dir = m->root,
	};
}

/* /proc/PID/exe */
static void put_program(const struct machine *m, int pid, const char *path)
{
	char name[32], link[PATH_MAX];

	snprintf(name, sizeof(name), "proc/%d/comm", pid);
	put(m, name, "");
	snprintf(link, sizeof(link), "%s/proc/%d/exe", m->root, pid);
	assert_return_code(symlink(path, link), errno);
}

static struct finding find_on(const struct probe_machine *machine, const char *name)
{
	struct finding f = { 0 };

	for (const struct check *c = checks; c->name; c++) {
		if (!strcmp(c->name, name)) {
			c->probe(machine, &f);
			return f;
		}
	}
	fail_msg("no check '%s'", name);
	return f;
}

static struct finding find(const struct machine *m, const char *name)
{
	struct probe_machine machine = ordinary(m);

	return find_on(&machine, name);
}

static void assert_finding(const struct finding *f, enum probe_state state, const char *text,
			   const char *command)
{
	if (f->state != state || !strstr(f->text, text))
		fail_msg("found %s: '%s', expected %s: '%s'", probe_state_keys[f->state], f->text,
			 probe_state_keys[state], text);
	assert_string_equal(f->command, command);
	assert_true(state == PROBE_OK || *f->text);
}

static int ordinary_setup(void **state)
{
	int r = machine_setup(state);

	put(*state, "proc/self/status", NOBODY_STATUS);
	return r;
}

static void the_reach_follows_from_the_counters_that_open(void **state)
{
	struct probe_machine machine = ordinary(*state);

	assert_int_equal(probe_scope(&machine).reach, REACH_MACHINE);
	assert_true(probe_scope(&machine).has_hardware);
	answers.all_cpus = EACCES;
	assert_int_equal(probe_scope(&machine).reach, REACH_OWN_KERNEL);
	answers.hardware = ENOENT;
	assert_int_equal(probe_scope(&machine).reach, REACH_OWN_KERNEL);
	assert_false(probe_scope(&machine).has_hardware);
	answers.kernel_mode = EACCES;
	assert_int_equal(probe_scope(&machine).reach, REACH_OWN);
	answers.software = EACCES;
	assert_int_equal(probe_scope(&machine).reach, REACH_NOTHING);
}

static void hardware_counters_are_opened_and_named(void **state)
{
	struct machine *m = *state;
	struct finding f;

	put(m, "sys/bus/event_source/devices/cpu/type", "4\n");
	put(m, "sys/bus/event_source/devices/cpu/caps/pmu_name", "skylake\n");
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_OK, "cycles work; PMU cpu (skylake)", "");
	put(m, "proc/sys/kernel/nmi_watchdog", "1\n");
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_OK, "the NMI watchdog holds one",
		       "sudo sysctl kernel.nmi_watchdog=0");
	answers.hardware = EBUSY;
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_LIMITED, "taken by the NMI watchdog",
		       "sudo sysctl kernel.nmi_watchdog=0");
	answers.hardware = ENOENT;
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_MISSING, "no PMU driver for this processor", "");
	put(m, "proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n");
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_MISSING, "this virtual machine has no PMU", "");
	answers.hardware = EACCES;
	f = find(m, "hardware counters");
	assert_finding(&f, PROBE_MISSING, "not permitted to this user", "");
}

static void precision_fits_the_pmu(void **state)
{
	struct finding f = find(*state, "precise sampling");

	assert_finding(&f, PROBE_OK, "up to cycles:ppp", "");
	answers.precise = EOPNOTSUPP;
	f = find(*state, "precise sampling");
	assert_finding(&f, PROBE_MISSING, "this PMU has none", "");
	answers.hardware = ENOENT;
	f = find(*state, "precise sampling");
	assert_finding(&f, PROBE_MISSING, "needs hardware counters", "");
}

static void arm_has_a_pmu_of_its_name_and_no_precision(void **state)
{
	struct finding f;

	put(*state, "sys/bus/event_source/devices/armv8_cortex_a72/type", "8\n");
	put(*state, "sys/bus/event_source/devices/armv8_cortex_a72/cpus", "0-1\n");
	f = find(*state, "hardware counters");
	assert_finding(&f, PROBE_OK, "cycles work; PMU armv8_cortex_a72", "");
	f = find(*state, "precise sampling");
	assert_finding(&f, PROBE_MISSING, "this PMU has none", "");
}

static void every_paranoid_level_names_its_permissions(void **state)
{
	static const struct {
		const char *level, *text, *command;
		enum probe_state state;
	} rows[] = {
		{ "-1", "is -1: all, and raw", "", PROBE_OK },
		{ "0", "is 0: all CPUs and the kernel", "", PROBE_OK },
		{ "1", "is 1: your own processes with the kernel",
		  "sudo sysctl kernel.perf_event_paranoid=0", PROBE_LIMITED },
		{ "2", "is 2: your own processes, user mode only",
		  "sudo sysctl kernel.perf_event_paranoid=1", PROBE_LIMITED },
		{ "3", "is 3: nothing", "sudo sysctl kernel.perf_event_paranoid=2", PROBE_MISSING },
		{ "4", "is 4: nothing", "sudo sysctl kernel.perf_event_paranoid=2", PROBE_MISSING },
	};
	struct machine *m = *state;
	struct finding f;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		put(m, "proc/sys/kernel/perf_event_paranoid", rows[i].level);
		f = find(m, "permission");
		assert_finding(&f, rows[i].state, rows[i].text, rows[i].command);
	}
	put(m, "proc/self/status", ROOT_STATUS);
	f = find(m, "permission");
	assert_finding(&f, PROBE_OK, "is 4, which does not bind CAP_PERFMON", "");
}

static void a_kernel_without_perf_events_is_reported(void **state)
{
	struct finding f;

	char path[PATH_MAX];

	answers.software = answers.hardware = ENOSYS;
	snprintf(path, sizeof(path), "%s/proc/sys/kernel/perf_event_paranoid",
		 ((struct machine *)*state)->root);
	unlink(path);
	f = find(*state, "permission");
	assert_finding(&f, PROBE_MISSING, "this kernel is built without CONFIG_PERF_EVENTS", "");
	put(*state, "proc/sys/kernel/perf_event_paranoid", "2\n");
	f = find(*state, "permission");
	assert_finding(&f, PROBE_LIMITED, "is 2", "sudo sysctl kernel.perf_event_paranoid=1");
}

static void a_seccomp_filter_is_distinguished_from_the_paranoid_level(void **state)
{
	struct machine *m = *state;
	struct finding f = find(m, "seccomp");

	assert_finding(&f, PROBE_OK, "no filter", "");
	put(m, "proc/self/status", FILTERED_STATUS);
	f = find(m, "seccomp");
	assert_finding(&f, PROBE_OK, "lets perf_event_open through", "");
	answers.software = EACCES;
	put(m, "proc/sys/kernel/perf_event_paranoid", "4");
	f = find(m, "seccomp");
	assert_finding(&f, PROBE_OK, "lets perf_event_open through", "");
	answers.filter = EPERM;
	f = find(m, "seccomp");
	assert_finding(&f, PROBE_MISSING, "a seccomp filter refuses perf_event_open", "");
	assert_non_null(strstr(f.meaning, "allow perf_event_open there"));
	put(m, "proc/self/ns/pid", "");
	f = find(m, "seccomp");
	assert_non_null(strstr(f.meaning, "--security-opt seccomp="));
	put(m, "proc/self/status", "X:\n");
	f = find(m, "seccomp");
	assert_finding(&f, PROBE_OK, "cannot be read", "");
}

/* What the paranoid level is, unread; no command where an engine's option helps. */
static void unread_settings_are_shown_as_unread(void **state)
{
	struct machine *m = *state;
	struct finding f;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_paranoid", m->proc);
	unlink(path);
	f = find(m, "permission");
	assert_finding(&f, PROBE_LIMITED, "kernel.perf_event_paranoid cannot be read",
		       "sudo sysctl kernel.perf_event_paranoid=0");
	f = find(m, "ring memory");
	assert_finding(&f, PROBE_LIMITED, "kernel.perf_event_mlock_kb cannot be read", "");
	put(m, "proc/kallsyms", "0000000000000000 A a\n");
	f = find(m, "kernel symbols");
	assert_finding(&f, PROBE_LIMITED, "kernel.kptr_restrict cannot be read",
		       "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	put(m, "proc/self/ns/pid", "");
	f = find(m, "permission");
	assert_finding(&f, PROBE_LIMITED, "cannot be read", "");
	assert_non_null(strstr(f.meaning, "--cap-add PERFMON"));
}

static void missing_system_files_are_one_finding(void **state)
{
	struct machine *m = *state;
	struct finding f = find(m, "system files");

	assert_finding(&f, PROBE_LIMITED, "/sys is not there", "sudo mount -t sysfs sysfs /sys");
	put(m, "sys/devices/system/cpu/online", "0-1\n");
	f = find(m, "system files");
	assert_finding(&f, PROBE_LIMITED, "/proc hides the processes of other users",
		       "sudo mount -o remount,hidepid=0 /proc");
	put(m, "proc/1/comm", "init\n");
	f = find(m, "system files");
	assert_finding(&f, PROBE_OK, "can be read", "");
	put(m, "proc/self/status", "Name:\tassay\nNSpid:\t17\nCapEff:\t0\n");
	f = find(m, "system files");
	assert_finding(&f, PROBE_OK, "can be read", "");
	put(m, "proc/self/status", "Name:\tassay\nNSpid:\t4017\t17\nCapEff:\t0\n");
	f = find(m, "system files");
	assert_finding(&f, PROBE_MISSING, "belongs to another pid namespace",
		       "sudo mount -t proc proc /proc");
}

static void a_pid_namespace_limits_the_reach(void **state)
{
	struct machine *m = *state;
	struct probe_machine machine = ordinary(m);
	struct finding f;

	put(m, "proc/self/ns/pid", "");
	assert_int_equal(probe_scope(&machine).reach, REACH_NAMESPACE);
	f = find(m, "pid namespace");
	assert_finding(&f, PROBE_LIMITED, "one of its own", "");
	assert_non_null(strstr(f.meaning, "--pid=host"));
}

/* As for root in a container: kptr_restrict 0 hides nothing if the user has CAP_SYSLOG. */
static void kernel_symbols_need_cap_syslog(void **state)
{
	struct machine *m = *state;
	struct finding f;

	put(m, "proc/self/ns/pid", "");
	put(m, "proc/sys/kernel/kptr_restrict", "0\n");
	put(m, "proc/kallsyms", "0000000000000000 A a\n");
	f = find(m, "kernel symbols");
	assert_finding(&f, PROBE_LIMITED, "kernel.kptr_restrict is 0", "");
	assert_non_null(strstr(f.meaning, "--cap-add SYSLOG"));
	put(m, "proc/sys/kernel/kptr_restrict", "2\n");
	f = find(m, "kernel symbols");
	assert_non_null(strstr(f.meaning, "'sysctl kernel.kptr_restrict=1' on the host"));
}

static void limits_are_in_terms_of_profiling(void **state)
{
	struct machine *m = *state;
	struct probe_machine machine = ordinary(m);
	struct finding f;

	put(m, "proc/sys/kernel/perf_event_mlock_kb", "516\n");
	machine.memlock_bytes = 64 << 10;
	f = find_on(&machine, "ring memory");
	assert_finding(&f, PROBE_OK, "512 KiB a CPU", "");
	put(m, "proc/sys/kernel/perf_event_mlock_kb", "100\n");
	f = find_on(&machine, "ring memory");
	assert_finding(&f, PROBE_LIMITED, "128 KiB a CPU",
		       "sudo sysctl kernel.perf_event_mlock_kb=516");
	machine.memlock_bytes = 0;
	put(m, "proc/sys/kernel/perf_event_mlock_kb", "4\n");
	f = find_on(&machine, "ring memory");
	assert_int_equal(f.state, PROBE_MISSING);
	machine.is_root = true;
	put(m, "proc/self/status", ROOT_STATUS);
	f = find_on(&machine, "ring memory");
	assert_finding(&f, PROBE_OK, "no limit", "");

	machine = ordinary(m);
	f = find_on(&machine, "open files");
	assert_finding(&f, PROBE_OK, "1024: an event for about 480 threads on 2 CPUs", "");
	machine.n_cpus = 128;
	f = find_on(&machine, "open files");
	assert_finding(&f, PROBE_LIMITED, "about 7 threads on 128 CPUs", "ulimit -n 1048576");

	f = find(m, "sample rate");
	assert_finding(&f, PROBE_OK, "up to 100000 Hz", "");
	put(m, "proc/sys/kernel/perf_event_max_sample_rate", "500\n");
	f = find(m, "sample rate");
	assert_finding(&f, PROBE_LIMITED, "up to 500 Hz",
		       "sudo sysctl kernel.perf_event_max_sample_rate=100000");
}

static void tracepoints_need_tracefs_and_the_right_to_read_it(void **state)
{
	struct machine *m = *state;
	char command[160];
	struct finding f = find(m, "tracepoints");

	assert_finding(&f, PROBE_LIMITED, "is readable, but the data is not",
		       "sudo sysctl kernel.perf_event_paranoid=-1");
	put(m, "proc/self/status", ROOT_STATUS);
	f = find(m, "tracepoints");
	assert_finding(&f, PROBE_OK, "is readable", "");
	m->sources.tracefs = NULL;
	f = find(m, "tracepoints");
	assert_finding(&f, PROBE_MISSING, "tracefs is not mounted", "");
	assert_non_null(strstr(f.meaning, "a part of /sys, which is not there"));
	put(m, "sys/devices/system/cpu/online", "0-1\n");
	f = find(m, "tracepoints");
	snprintf(command, sizeof(command), "sudo mount -t tracefs nodev %s/kernel/tracing",
		 m->sysfs);
	assert_finding(&f, PROBE_MISSING, "tracefs is not mounted", command);
}

static void hidden_kernel_symbols_are_noticed(void **state)
{
	struct machine *m = *state;
	struct finding f;

	put(m, "proc/sys/kernel/kptr_restrict", "1\n");
	put(m, "proc/kallsyms", "0000000000000000 A a\n0000000000000000 T _text\n");
	f = find(m, "kernel symbols");
	assert_finding(&f, PROBE_LIMITED, "hides its addresses (kernel.kptr_restrict is 1)",
		       "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	put(m, "proc/kallsyms", "0000000000000000 A a\nffffffff81000000 T _text\n");
	f = find(m, "kernel symbols");
	assert_finding(&f, PROBE_OK, "shows addresses", "");
}

static void the_kernel_s_build_id_is_read_from_its_notes(void **state)
{
	static const char note[] = "\4\0\0\0\3\0\0\0\1\0\0\0Xen\0abc\0"
				   "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\xde\xad\xbe\xef";
	struct machine *m = *state;
	char path[PATH_MAX];
	struct finding f = find(m, "kernel build id");

	assert_finding(&f, PROBE_LIMITED, "has none", "");
	put(m, "sys/kernel/notes", "");
	snprintf(path, sizeof(path), "%s/kernel/notes", m->sysfs);
	for (size_t cut = 0; cut < sizeof(note) - 1; cut++) {
		assert_int_equal(file_replace(path, note, cut, NULL), 0);
		f = find(m, "kernel build id");
		assert_int_equal(f.state, PROBE_LIMITED);
	}
	assert_int_equal(file_replace(path, note, sizeof(note) - 1, NULL), 0);
	f = find(m, "kernel build id");
	assert_finding(&f, PROBE_OK, "deadbeef", "");
}

static void bpf_needs_capabilities_types_and_no_lockdown(void **state)
{
	struct machine *m = *state;
	struct finding f = find(m, "BPF");

	if (strstr(f.text, "built without BPF"))
		skip_because("this assay was built without BPF");
	assert_finding(&f, PROBE_MISSING, "need root, or CAP_BPF and CAP_PERFMON",
		       "sudo setcap cap_bpf,cap_perfmon+ep \"$(command -v assay)\"");
	put(m, "proc/self/status", ROOT_STATUS);
	f = find(m, "BPF");
	assert_finding(&f, PROBE_MISSING, "/sys is not there", "sudo mount -t sysfs sysfs /sys");
	put(m, "sys/kernel/notes", "");
	f = find(m, "BPF");
	assert_finding(&f, PROBE_MISSING, "the kernel has no BTF", "");
	put(m, "sys/kernel/btf/vmlinux", "");
	f = find(m, "BPF");
	assert_finding(&f, PROBE_OK, "takes assay's programs", "");
	put(m, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	f = find(m, "BPF");
	assert_finding(&f, PROBE_MISSING, "lockdown", "");
}

/* doctor says of a kernel exactly what record does. */
static void an_old_kernel_is_an_error_with_the_needed_version(void **state)
{
	struct machine *m = *state;
	char why[256];
	struct finding f;

	put(m, "proc/self/status", ROOT_STATUS);
	put(m, "sys/kernel/btf/vmlinux", "");
	put(m, "proc/sys/kernel/osrelease", "5.10.0-33-amd64\n");
	f = find(m, "BPF");
	if (strstr(f.text, "built without BPF"))
		skip_because("this assay was built without BPF");
	assert_finding(&f, PROBE_MISSING, "(5.10.0-33-amd64) is too old", "");
	assert_non_null(strstr(f.text, "Linux 5.15"));
	assert_non_null(strstr(f.meaning, "--off-cpu"));
	assert_false(sampler_is_available(&m->sources, why, sizeof(why)));
	assert_string_equal(why, f.text);
	put(m, "proc/sys/kernel/osrelease", "5.15.0\n");
	f = find(m, "BPF");
	assert_finding(&f, PROBE_LIMITED, "stacks by frame pointer", "");
	assert_non_null(strstr(f.meaning, "Linux 5.17"));
	assert_true(sampler_is_available(&m->sources, why, sizeof(why)));
	put(m, "proc/sys/kernel/osrelease", "6.1.0\n");
	f = find(m, "BPF");
	assert_finding(&f, PROBE_OK, "takes assay's programs", "");
}

static void symbol_sources_are_looked_for(void **state)
{
	struct machine *m = *state;
	struct probe_machine machine = ordinary(m);
	struct finding f = find(m, "debug files");

	assert_finding(&f, PROBE_LIMITED, "none below machine-", "");
	put(m, ".build-id/00/11.debug", "");
	f = find(m, "debug files");
	assert_finding(&f, PROBE_OK, ".build-id is filled", "");
	machine.debuginfod_urls = " https://a.example/  https://b.example/ ";
	f = find_on(&machine, "debuginfod");
	assert_finding(&f, PROBE_OK, "names 2 servers", "");
	machine.debuginfod_urls = " ";
	f = find_on(&machine, "debuginfod");
	assert_int_equal(f.state, PROBE_LIMITED);
	machine.cache_dir = "/dev/null/assay";
	f = find_on(&machine, "symbol cache");
	assert_finding(&f, PROBE_LIMITED, "/dev/null/assay can't be written",
		       "export XDG_CACHE_HOME=\"$(mktemp -d)\"");
	put(m, "perf-12.map", "");
	put(m, "perf-12.mapx", "");
	put(m, "perf-x.map", "");
	f = find(m, "perf maps");
	assert_finding(&f, PROBE_OK, "perf-PID.map, 1 there now", "");
	/* LuaJIT runs without a map; assay reads Java's functions. */
	put_program(m, 13, "/usr/bin/java");
	put_program(m, 14, "/usr/bin/luajit-2.1");
	put_program(m, 15, "/usr/bin/qemu-ga"); /* its name alone says nothing */
	put(m, "proc/14/maps", "55550000-55560000 r-xp 0 08:01 77 /usr/bin/luajit-2.1\n");
	put(m, "proc/15/maps", "7fff0000-7fff2000 r-xp 00000000 00:00 0                  [vdso]\n");
	f = find(m, "perf maps");
	assert_finding(&f, PROBE_OK, "perf-PID.map, 1 there now", "");
	put(m, "proc/14/maps", "7f000000-7f010000 r-xp 00000000 00:00 0 \n");
	f = find(m, "perf maps");
	assert_finding(&f, PROBE_LIMITED, "1 there now, none of luajit-2.1 (process 14)", "");
	assert_non_null(strstr(f.meaning, "build LuaJIT with -DLUAJIT_USE_PERFTOOLS"));
	put(m, "perf-14.map", "");
	f = find(m, "perf maps");
	assert_finding(&f, PROBE_OK, "perf-PID.map, 2 there now", "");
	f = find(m, "daemon");
	assert_int_equal(f.state, PROBE_OK);
	assert_non_null(strstr(f.text, "none runs in machine-"));
	assert_non_null(strstr(f.text, ", with Landlock "));
}

static void no_check_leaves_its_line_empty(void **state)
{
	static const int codes[] = { 0, EACCES, EPERM, ENOSYS, ENOENT, EBUSY, EMFILE, EINVAL };
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		answers.hardware = answers.software = codes[i];
		for (const struct check *c = checks; c->name; c++) {
			struct finding f = find(m, c->name);

			assert_true(*f.text && !strchr(f.text, '\n'));
		}
	}
}

#define ON_AN_ORDINARY(f) cmocka_unit_test_setup_teardown(f, ordinary_setup, machine_teardown)

#define PT "sys/bus/event_source/devices/intel_pt/"

static void put_intel_pt(const struct machine *m)
{
	static const struct {
		const char *file, *text;
	} files[] = {
		{ "type", "8\n" },
		{ "format/tsc", "config:10\n" },
		{ "nr_addr_filters", "2\n" },
		{ "caps/psb_cyc", "1\n" },
		{ "caps/mtc", "1\n" },
		{ "caps/ip_filtering", "1\n" },
		{ "caps/ptwrite", "0\n" },
		{ "caps/power_event_trace", "1\n" },
		{ "caps/topa_output", "1\n" },
		{ "caps/topa_multiple_entries", "0\n" },
		{ "caps/mtc_periods", "249\n" },
		{ "caps/psb_periods", "3f\n" },
		{ "caps/cycle_thresholds", "3ff\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[128];

		snprintf(path, sizeof(path), PT "%s", files[i].file);
		put(m, path, files[i].text);
	}
}

static void intel_pt_names_its_abilities(void **state)
{
	struct machine *m = *state;
	struct probe_machine machine = ordinary(m);
	struct finding f;

	put_intel_pt(m);
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_OK,
		       "cycle-accurate timing, MTC timing, 2 address filters, power events", "");
	assert_non_null(strstr(f.meaning, "small buffers (128 KiB a CPU"));
	machine.is_root = true;
	f = find_on(&machine, "Intel PT");
	assert_finding(&f, PROBE_OK, "cycle-accurate", "");
	assert_string_equal(f.meaning, "");
}

static void intel_pt_names_the_obstacles(void **state)
{
	struct machine *m = *state;
	struct finding f = find(m, "Intel PT");

	assert_finding(&f, PROBE_MISSING, "this processor has none", "");
	put(m, "proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu\n");
	f = find(m, "Intel PT");
	assert_non_null(strstr(f.meaning, "not Intel's"));
	put(m, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor lahf_lm\n");
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_MISSING, "this virtual machine has none", "");
	assert_non_null(strstr(f.meaning, "hypervisor does not pass Intel PT on"));
	put_intel_pt(m);
	answers.kernel_mode = EACCES;
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_LIMITED, "power events; user code only",
		       "sudo sysctl kernel.perf_event_paranoid=1");
	answers.hardware = EACCES;
	put(m, "proc/sys/kernel/perf_event_paranoid", "3\n");
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_MISSING, "not permitted to this user",
		       "sudo sysctl kernel.perf_event_paranoid=2");
	assert_non_null(strstr(f.meaning, "kernel.perf_event_paranoid is 3"));
	answers.hardware = EBUSY;
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_MISSING, "in use", "");
	answers.hardware = EINVAL;
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_MISSING, "the kernel refuses it: Invalid argument", "");
}

/* A processor with PT, four regions, MTC periods 0, 3, 6, 9; without PTWRITE. */
static bool fake_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t regs[4])
{
	memset(regs, 0, 16);
	if (leaf == 7)
		regs[1] = 1U << 25;
	else if (leaf == 0x14 && subleaf == 0)
		memcpy(regs, (uint32_t[]){ 1, 0xf, 3, 0 }, 16);
	else if (leaf == 0x14 && subleaf == 1)
		memcpy(regs, (uint32_t[]){ 0x02490004, 0x003f1fff, 0, 0 }, 16);
	return leaf == 7 || leaf == 0x14;
}

static void intel_pt_without_a_driver_is_known_from_the_processor(void **state)
{
	struct machine *m = *state;
	struct error err = { 0 };
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct finding f;

	m->sources.cpuid = fake_cpuid;
	put(m, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu intel_pt\n");
	f = find(m, "Intel PT");
	assert_finding(&f, PROBE_MISSING, "the processor has it, the kernel does not offer it", "");
	assert_int_equal(explain_intel_pt(&m->sources, false, out, &err), -ENODEV);
	fclose(out);
	assert_non_null(strstr(text, "cyc, cyc_thresh=0-12; psb_period=0-5"));
	assert_non_null(strstr(text, "mtc_period=0,3,6,9"));
	assert_non_null(strstr(text, "up to 4 regions of code"));
	assert_non_null(strstr(text, "no   PTWRITE"));
	assert_non_null(strstr(text, "in the way: the processor has it"));
	assert_non_null(strstr(text, "BIOS"));
	free(text);
	assert_true(is_intel_pt_itself("intel_pt") && is_intel_pt_itself("intel_pt//"));
	assert_false(is_intel_pt_itself("intel_pt/tsc/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_AN_ORDINARY(the_reach_follows_from_the_counters_that_open),
		ON_AN_ORDINARY(hardware_counters_are_opened_and_named),
		ON_AN_ORDINARY(precision_fits_the_pmu),
		ON_AN_ORDINARY(arm_has_a_pmu_of_its_name_and_no_precision),
		ON_AN_ORDINARY(every_paranoid_level_names_its_permissions),
		ON_AN_ORDINARY(a_kernel_without_perf_events_is_reported),
		ON_AN_ORDINARY(a_seccomp_filter_is_distinguished_from_the_paranoid_level),
		ON_AN_ORDINARY(unread_settings_are_shown_as_unread),
		ON_AN_ORDINARY(missing_system_files_are_one_finding),
		ON_AN_ORDINARY(a_pid_namespace_limits_the_reach),
		ON_AN_ORDINARY(kernel_symbols_need_cap_syslog),
		ON_AN_ORDINARY(limits_are_in_terms_of_profiling),
		ON_AN_ORDINARY(tracepoints_need_tracefs_and_the_right_to_read_it),
		ON_AN_ORDINARY(hidden_kernel_symbols_are_noticed),
		ON_AN_ORDINARY(the_kernel_s_build_id_is_read_from_its_notes),
		ON_AN_ORDINARY(bpf_needs_capabilities_types_and_no_lockdown),
		ON_AN_ORDINARY(an_old_kernel_is_an_error_with_the_needed_version),
		ON_AN_ORDINARY(symbol_sources_are_looked_for),
		ON_AN_ORDINARY(intel_pt_names_its_abilities),
		ON_AN_ORDINARY(intel_pt_names_the_obstacles),
		ON_AN_ORDINARY(intel_pt_without_a_driver_is_known_from_the_processor),
		ON_AN_ORDINARY(no_check_leaves_its_line_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
