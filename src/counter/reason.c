/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/reason.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/mem.h"
#include "counter/draft.h"
#include "counter/sources.h"

#ifndef CAP_SYSLOG
#define CAP_SYSLOG 34
#endif

typedef void (*fact_function)(const struct counter_sources *s, char *text, size_t size);

void reason_put_setting(const struct counter_sources *s, const char *name, char *text, size_t size)
{
	cleanup(free_at_exit) char *file = xasprintf("sys/kernel/%s", name);
	int64_t value;

	if (sources_number(s, file, &value))
		snprintf(text, size, "kernel.%s is %" PRId64, name, value);
	else
		snprintf(text, size, "kernel.%s cannot be read", name);
}

static void fact_level(const struct counter_sources *s, char *text, size_t size)
{
	reason_put_setting(s, "perf_event_paranoid", text, size);
}

static void fact_kptr(const struct counter_sources *s, char *text, size_t size)
{
	reason_put_setting(s, "kptr_restrict", text, size);
}

static void fact_locked(const struct counter_sources *s, char *text, size_t size)
{
	struct rlimit limit = { 0 };
	char setting[96];

	reason_put_setting(s, "perf_event_mlock_kb", setting, sizeof(setting));
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		snprintf(text, size, "%s", setting);
	else
		snprintf(text, size, "%s, 'ulimit -l' is %" PRIu64, setting,
			 (uint64_t)limit.rlim_cur / 1024);
}

/*
 * "FACT, TEXT". Without a remedy for a container, the host's remedy counts. Without one for a user
 * namespace, the container's counts.
 */
struct reason_row {
	fact_function fact;
	const char *text;
	const char *on_host, *in_container, *in_user_namespace;
	const char *command;
};

#define OWN_LEVEL   "kernel.perf_event_paranoid=2"
#define ADD_PERFMON "start the container with --cap-add PERFMON"
#define NOT_OF_NAMESPACE                                                                         \
	"capabilities of a user namespace do not count for it, so let root start the container " \
	"(not rootless), with "

static const struct reason_row rows[] = {
	[REASON_NONE] = { NULL, "", "", NULL, NULL, NULL },
	[REASON_NO_PERF_EVENTS] = { NULL, "this kernel is built without CONFIG_PERF_EVENTS",
				    "only a kernel with perf events can be profiled", NULL, NULL,
				    NULL },
	[REASON_PERF_FILTER] = { NULL,
				 "a seccomp filter refuses perf_event_open, whatever "
				 "kernel.perf_event_paranoid says",
				 "start assay outside of the filter, or allow perf_event_open "
				 "there",
				 ADD_PERFMON " and a seccomp profile that allows perf_event_open "
					     "(--security-opt seccomp=PROFILE, or =unconfined)",
				 NULL, NULL },
	[REASON_LEVEL_CLOSED] = { fact_level, "which closes perf events to ordinary users",
				  "run as root, or 'sysctl " OWN_LEVEL
				  "' as root for your own processes",
				  ADD_PERFMON ", or 'sysctl " OWN_LEVEL "' on the host",
				  NOT_OF_NAMESPACE "--cap-add PERFMON, or 'sysctl " OWN_LEVEL
						   "' on the host",
				  "sysctl " OWN_LEVEL },
	[REASON_LEVEL_KERNEL] = { fact_level, "which allows an ordinary user no kernel mode",
				  "use user mode alone (modifier u), run as root, or 'sysctl "
				  "kernel.perf_event_paranoid=1' as root",
				  ADD_PERFMON ", or use user mode alone (modifier u)",
				  NOT_OF_NAMESPACE
				  "--cap-add PERFMON, or use user mode alone (modifier u)",
				  "sysctl kernel.perf_event_paranoid=1" },
	[REASON_LEVEL_IN_KERNEL] = { fact_level,
				     "which allows an ordinary user no kernel mode, where this "
				     "event happens",
				     "run as root, or 'sysctl kernel.perf_event_paranoid=1' as "
				     "root",
				     ADD_PERFMON, NOT_OF_NAMESPACE "--cap-add PERFMON",
				     "sysctl kernel.perf_event_paranoid=1" },
	[REASON_LEVEL_CPU] = { fact_level,
			       "which allows an ordinary user only processes of his own, not a "
			       "whole CPU",
			       "run as root, or 'sysctl kernel.perf_event_paranoid=0' as root",
			       ADD_PERFMON, NOT_OF_NAMESPACE "--cap-add PERFMON",
			       "sysctl kernel.perf_event_paranoid=0" },
	[REASON_LEVEL_TRACEPOINT] = { fact_level,
				      "which allows an ordinary user no whole CPU, and no "
				      "tracepoint data",
				      "run as root, or 'sysctl kernel.perf_event_paranoid=-1' as "
				      "root",
				      ADD_PERFMON, NOT_OF_NAMESPACE "--cap-add PERFMON",
				      "sysctl kernel.perf_event_paranoid=-1" },
	[REASON_SECURITY] = { fact_level,
			      "but a security module, kernel lockdown or the other process's "
			      "owner forbids it",
			      "", NULL, NULL, NULL },
	[REASON_LOCKED_MEMORY] = { fact_locked,
				   "and this user's other profilers have locked the rest of the "
				   "permitted memory",
				   "give a smaller --ring-size, 'ulimit -l unlimited', or run as "
				   "root (CAP_IPC_LOCK)",
				   "start the container with --cap-add IPC_LOCK or --ulimit "
				   "memlock=-1:-1",
				   "let root start the container with --ulimit memlock=-1:-1, or "
				   "'sysctl kernel.perf_event_mlock_kb=4096' on the host",
				   "sysctl kernel.perf_event_mlock_kb=4096" },
	[REASON_NO_SYSFS] = { NULL, "/sys is not there", "'mount -t sysfs sysfs /sys' as root",
			      "start the container with /sys (-v /sys:/sys:ro)", NULL,
			      "mount -t sysfs sysfs /sys" },
	[REASON_NO_PROC] = { NULL, "/proc is not there, so processes have no names",
			     "'mount -t proc proc /proc' as root",
			     "start the container with /proc, as engines do by default", NULL,
			     "mount -t proc proc /proc" },
	[REASON_FOREIGN_PROC] = { NULL,
				  "/proc belongs to another pid namespace, so its numbers mean "
				  "other processes "
				  "here",
				  "'mount -t proc proc /proc' in this namespace",
				  "start the container with --pid=host, or without the host's "
				  "/proc",
				  NULL, "mount -t proc proc /proc" },
	[REASON_HIDDEN_PROCESSES] = { NULL, "/proc hides the processes of other users (hidepid)",
				      "run as root, or 'mount -o remount,hidepid=0 /proc' as root",
				      "start the container with --cap-add SYS_PTRACE", NULL,
				      "mount -o remount,hidepid=0 /proc" },
	[REASON_MASKED_SETTINGS] = { NULL,
				     "the kernel's settings (/proc/sys/kernel) cannot be read", "",
				     "start the container with --security-opt "
				     "unmask=/proc/sys/kernel (docker: systempaths=unconfined)",
				     NULL, NULL },
	[REASON_HIDDEN_KERNEL] = { fact_kptr, "which hides the kernel's addresses from everybody",
				   "'sysctl kernel.kptr_restrict=1' as root",
				   "'sysctl kernel.kptr_restrict=1' on the host", NULL,
				   "sysctl kernel.kptr_restrict=1" },
	[REASON_NO_SYSLOG] = { fact_kptr,
			       "which shows the kernel's addresses to those with CAP_SYSLOG only",
			       "run as root, or 'sysctl kernel.kptr_restrict=0 "
			       "kernel.perf_event_paranoid=1' as root",
			       "start the container with --cap-add SYSLOG",
			       NOT_OF_NAMESPACE "--cap-add SYSLOG",
			       "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1" },
	[REASON_PID_NAMESPACE] = { NULL,
				   "this is a separate pid namespace: the work of other namespaces "
				   "appears as "
				   "[other namespace]",
				   "run assay outside of it",
				   "--pid=host starts a container that sees it", NULL, NULL },
	[REASON_BPF_CAPABILITY] = { NULL, "BPF programs need root, or CAP_BPF and CAP_PERFMON",
				    "run as root",
				    "start the container with --cap-add BPF --cap-add PERFMON",
				    NOT_OF_NAMESPACE "--cap-add BPF --cap-add PERFMON",
				    "setcap cap_bpf,cap_perfmon+ep \"$(command -v assay)\"" },
	[REASON_BPF_FILTER] = { NULL, "bpf(2) is refused: by a seccomp filter, or a policy",
				"start assay outside of the filter, or allow bpf there",
				"start the container with --cap-add BPF and a seccomp profile that "
				"allows bpf (--security-opt seccomp=PROFILE, or =unconfined)",
				NULL, NULL },
};

/* What root has unless somebody took it away; then "run as root" would not help. */
static const char *const capabilities[ARRAY_SIZE(rows)] = {
	[REASON_LEVEL_CLOSED] = "CAP_PERFMON",
	[REASON_LEVEL_KERNEL] = "CAP_PERFMON",
	[REASON_LEVEL_IN_KERNEL] = "CAP_PERFMON",
	[REASON_LEVEL_CPU] = "CAP_PERFMON",
	[REASON_LEVEL_TRACEPOINT] = "CAP_PERFMON",
	[REASON_LOCKED_MEMORY] = "CAP_IPC_LOCK",
	[REASON_HIDDEN_PROCESSES] = "CAP_SYS_PTRACE",
	[REASON_NO_SYSLOG] = "CAP_SYSLOG",
	[REASON_BPF_CAPABILITY] = "CAP_BPF and CAP_PERFMON",
};

static void put_remedy(const struct counter_sources *s, enum reason reason, char *text, size_t size)
{
	const struct reason_row *row = &rows[reason];
	bool is_in_container = sources_in_container(s);
	const char *remedy = row->on_host;

	if (!is_in_container && sources_is_root(s) && capabilities[reason]) {
		snprintf(text, size,
			 "this root lacks %s: start assay where it was not taken away (systemd: "
			 "CapabilityBoundingSet=)",
			 capabilities[reason]);
		return;
	}
	if (is_in_container && row->in_user_namespace && sources_in_user_namespace(s))
		remedy = row->in_user_namespace;
	else if (is_in_container && row->in_container)
		remedy = row->in_container;
	snprintf(text, size, "%s", remedy);
}

void reason_tell(const struct counter_sources *s, enum reason reason, struct reason_text *out)
{
	const struct reason_row *row = &rows[reason];
	char fact[160] = "";

	if (row->fact)
		row->fact(s, fact, sizeof(fact));
	snprintf(out->reason, sizeof(out->reason), "%s%s%s", fact, *fact ? ", " : "", row->text);
	put_remedy(s, reason, out->remedy, sizeof(out->remedy));
	snprintf(out->command, sizeof(out->command), "%s",
		 row->command && !sources_in_container(s) ? row->command : "");
}

/* The modes that the paranoid level forbids without CAP_PERFMON; perf_event_open(2). */
static enum reason reason_of_level(int level, const struct perf_event_attr *attr)
{
	bool is_tracepoint = attr && attr->type == PERF_TYPE_TRACEPOINT;

	if (level >= 3)
		return REASON_LEVEL_CLOSED;
	if (is_tracepoint)
		return REASON_LEVEL_TRACEPOINT;
	if (level == 2 && attr && attr_in_kernel(attr))
		return REASON_LEVEL_IN_KERNEL;
	if (level == 2 && attr && !attr->exclude_kernel)
		return REASON_LEVEL_KERNEL;
	return REASON_LEVEL_CPU;
}

enum reason reason_of_refusal(const struct counter_sources *s, const struct perf_event_attr *attr,
			      int code)
{
	int level = sources_paranoid(s);

	if (code == -ENOSYS)
		return sources_has_perf_events(s) ? REASON_PERF_FILTER : REASON_NO_PERF_EVENTS;
	if (code != -EPERM && code != -EACCES)
		return REASON_NONE;
	if (sources_perf_is_filtered(s))
		return REASON_PERF_FILTER;
	if (!sources_perfmon(s) && level >= 0)
		return reason_of_level(level, attr);
	return REASON_SECURITY;
}

enum reason reason_of_proc(const struct counter_sources *s)
{
	switch (sources_proc_state(s)) {
	case PROC_ABSENT:
		return REASON_NO_PROC;
	case PROC_FOREIGN:
		return REASON_FOREIGN_PROC;
	case PROC_HIDES_OTHERS:
		return REASON_HIDDEN_PROCESSES;
	default:
		return REASON_NONE;
	}
}

int reason_refuse_proc(const struct counter_sources *s, struct error *err)
{
	struct reason_text text;

	if (reason_of_proc(s) != REASON_FOREIGN_PROC)
		return 0;
	reason_tell(s, REASON_FOREIGN_PROC, &text);
	return error_set(err, -EINVAL, "%s; %s", text.reason, text.remedy);
}

enum reason reason_of_hidden_kernel(const struct counter_sources *s)
{
	int64_t restricted = 0;

	sources_number(s, "sys/kernel/kptr_restrict", &restricted);
	return restricted > 1 || sources_capable(s, CAP_SYSLOG) ? REASON_HIDDEN_KERNEL
								: REASON_NO_SYSLOG;
}
