/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/files/open_helper.h"
#include "base/mem.h"

#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif

/* Numbers of the initial namespaces: include/linux/proc_ns.h. */
#define INITIAL_USER_NAMESPACE 0xeffffffdU
#define INITIAL_PID_NAMESPACE  0xeffffffcU

/* linux/pidfd.h, since Linux 6.11 */
#define PIDFD_GET_PID_NAMESPACE_  _IO(0xff, 5)
#define PIDFD_GET_USER_NAMESPACE_ _IO(0xff, 9)

const char *sources_sysfs(const struct counter_sources *s)
{
	const char *set = getenv("SYSFS_PATH"); /* perf's name for it */

	return s && s->sysfs ? s->sysfs : set && *set ? set : "/sys";
}

bool sources_has_sysfs(const struct counter_sources *s)
{
	static const char *const folders[] = { "bus", "devices", "kernel" };
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", sources_sysfs(s), folders[i]);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

const char *sources_proc(const struct counter_sources *s)
{
	return s && s->proc ? s->proc : "/proc";
}

bool sources_tracefs(const struct counter_sources *s, char path[static PATH_MAX])
{
	static const char *const below_sysfs[] = { "kernel/tracing", "kernel/debug/tracing" };
	char events[PATH_MAX];

	if (s && s->tracefs) {
		snprintf(path, PATH_MAX, "%s", s->tracefs);
		snprintf(events, sizeof(events), "%s/events", s->tracefs);
		return access(events, F_OK) == 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(below_sysfs); i++) {
		snprintf(path, PATH_MAX, "%s/%s", sources_sysfs(s), below_sysfs[i]);
		snprintf(events, sizeof(events), "%s/%s/events", sources_sysfs(s), below_sysfs[i]);
		/* Closed to this user is there all the same: EACCES is for the reader to say. */
		if (access(events, F_OK) == 0 || errno == EACCES)
			return true;
	}
	snprintf(path, PATH_MAX, "%s/%s", sources_sysfs(s), below_sysfs[0]);
	return false;
}

bool sources_number(const struct counter_sources *s, const char *file, int64_t *out)
{
	char path[PATH_MAX], line[64], *end;
	long long v;

	snprintf(path, sizeof(path), "%s/%s", sources_proc(s), file);
	if (!file_read_line(path, line, sizeof(line)))
		return false;
	errno = 0;
	v = strtoll(line, &end, 10);
	if (errno || end == line || *end)
		return false;
	*out = v;
	return true;
}

int sources_paranoid(const struct counter_sources *s)
{
	int64_t level = 2;

	sources_number(s, "sys/kernel/perf_event_paranoid", &level);
	return (int)MAX(MIN(level, INT_MAX), INT_MIN);
}

uint64_t sources_max_rate(const struct counter_sources *s)
{
	int64_t rate = 0;

	sources_number(s, "sys/kernel/perf_event_max_sample_rate", &rate);
	return rate > 0 ? (uint64_t)rate : 0;
}

/* The text behind "FIELD:" in /proc/self/status, to be freed; NULL: it is not there. */
static char *status_field(const struct counter_sources *s, const char *field)
{
	cleanup(free_at_exit) char *text = NULL, *key = xasprintf("\n%s:", field);
	char path[PATH_MAX], *line;
	size_t size;

	snprintf(path, sizeof(path), "%s/self/status", sources_proc(s));
	if (file_read_all(path, 1 << 16, &text, &size) < 0)
		return NULL;
	line = strstr(text, key);
	if (!line)
		return NULL;
	line += strlen(key);
	return xstrndup(line, strcspn(line, "\n"));
}

static bool status_number(const struct counter_sources *s, const char *field, int base,
			  uint64_t *out)
{
	cleanup(free_at_exit) char *text = status_field(s, field);

	if (text)
		*out = strtoull(text, NULL, base);
	return text != NULL;
}

/* Not one that a test has put together of files. */
static bool sources_is_this_machine(const struct counter_sources *s)
{
	return !s || !s->proc;
}

/* The same without /proc. */
static bool capabilities_by_call(uint64_t *mask)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return false;
	*mask = (uint64_t)data[1].effective << 32 | data[0].effective;
	return true;
}

bool sources_capable(const struct counter_sources *s, int capability)
{
	uint64_t mask = 0;
	bool is_known = sources_is_this_machine(s) ? capabilities_by_call(&mask)
						   : status_number(s, "CapEff", 16, &mask);

	return is_known && (mask >> capability & 1) && !sources_in_user_namespace(s);
}

bool sources_is_root(const struct counter_sources *s)
{
	uint64_t user = 1;

	return sources_is_this_machine(s) ? geteuid() == 0
					  : status_number(s, "Uid", 10, &user) && !user;
}

bool sources_seccomp(const struct counter_sources *s, int64_t *mode)
{
	uint64_t v = 0;
	int r;

	if (status_number(s, "Seccomp", 10, &v)) {
		*mode = (int64_t)v;
		return true;
	}
	r = sources_is_this_machine(s) ? prctl(PR_GET_SECCOMP) : -1;
	*mode = r;
	return r >= 0;
}

/*
 * perf_event_open(2): if this file exists, the kernel has perf events. Every kernel has pid_max: if
 * that is missing, /proc/sys is masked, and a filter is the likelier reason.
 */
bool sources_has_perf_events(const struct counter_sources *s)
{
	int64_t value = 0;

	if (sources_number(s, "sys/kernel/perf_event_paranoid", &value))
		return true;
	return !sources_number(s, "sys/kernel/pid_max", &value) && sources_seccomp(s, &value) &&
	       value == 2;
}

/*
 * The kernel refuses unknown flags with EINVAL before it checks permissions. A filter returns
 * another error.
 */
bool sources_perf_is_filtered(const struct counter_sources *s)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	unsigned long unknown = 1UL << 31;
	int64_t mode = 0;
	long r;

	if (sources_seccomp(s, &mode) && mode != 2)
		return false;
	errno = 0;
	if (s && s->perf_event_open)
		r = s->perf_event_open(&attr, 0, -1, -1, unknown);
	else
		r = syscall(SYS_perf_event_open, &attr, 0, -1, -1, unknown);
	if (r >= 0)
		close((int)r);
	return r < 0 && (errno == EPERM || errno == EACCES || errno == ENOSYS);
}

/* The number of one of our namespaces; 0: not known. Without /proc, newer kernels say it. */
static uint32_t own_namespace(const struct counter_sources *s, const char *name, unsigned long ask)
{
	char path[PATH_MAX];
	struct stat st;
	int self, fd;
	bool is_known;

	snprintf(path, sizeof(path), "%s/self/ns/%s", sources_proc(s), name);
	if (stat(path, &st) == 0)
		return (uint32_t)st.st_ino;
	self = sources_is_this_machine(s) && ask ? (int)syscall(SYS_pidfd_open, getpid(), 0) : -1;
	fd = self >= 0 ? ioctl(self, ask, 0) : -1;
	is_known = fd >= 0 && fstat(fd, &st) == 0;
	if (fd >= 0)
		close(fd);
	if (self >= 0)
		close(self);
	return is_known ? (uint32_t)st.st_ino : 0;
}

uint32_t sources_pid_namespace(const struct counter_sources *s)
{
	uint32_t own = own_namespace(s, "pid", PIDFD_GET_PID_NAMESPACE_);

	return own == INITIAL_PID_NAMESPACE ? 0 : own;
}

bool sources_in_user_namespace(const struct counter_sources *s)
{
	uint32_t own = own_namespace(s, "user", PIDFD_GET_USER_NAMESPACE_);

	return own && own != INITIAL_USER_NAMESPACE;
}

/* Of a container with pid namespace and user of the host; not of a virtual machine of its image. */
static bool has_other_namespace(const struct counter_sources *s)
{
	static const struct {
		const char *name;
		uint32_t initial;
	} others[] = { { "ipc", 0xefffffffU }, { "uts", 0xeffffffeU }, { "cgroup", 0xeffffffbU } };
	bool has_other = false;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		uint32_t own = own_namespace(s, others[i].name, 0);

		has_other |= own && own != others[i].initial;
	}
	return has_other;
}

bool sources_in_container(const struct counter_sources *s)
{
	/* Podman and CRI-O, Docker, systemd-nspawn; LXC; a pod of Kubernetes. */
	static const char *const files[] = { "/run/.containerenv", "/.dockerenv",
					     "/run/host/container-manager" };
	static const char *const variables[] = { "container", "KUBERNETES_SERVICE_HOST" };
	bool has_mark = false;

	if (sources_pid_namespace(s) || sources_in_user_namespace(s))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(files) && sources_is_this_machine(s); i++)
		has_mark |= access(files[i], F_OK) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(variables) && sources_is_this_machine(s); i++)
		has_mark |= getenv(variables[i]) != NULL;
	return has_mark && has_other_namespace(s);
}

static bool is_in_proc(const struct counter_sources *s, const char *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", sources_proc(s), file);
	return access(path, F_OK) == 0;
}

/* "NSpid:" has a number for each namespace, from /proc's namespace to the process's. */
enum proc_state sources_proc_state(const struct counter_sources *s)
{
	cleanup(free_at_exit) char *numbers = NULL;

	/* Where it is of a namespace that we are not in, there is no "self". */
	if (!is_in_proc(s, "self"))
		return is_in_proc(s, "kallsyms") ? PROC_FOREIGN : PROC_ABSENT;
	numbers = status_field(s, "NSpid");
	if (numbers && strpbrk(numbers + strspn(numbers, " \t"), " \t"))
		return PROC_FOREIGN;
	return is_in_proc(s, "1") ? PROC_OWN : PROC_HIDES_OTHERS;
}

bool sources_perfmon(const struct counter_sources *s)
{
	return sources_capable(s, CAP_PERFMON) || sources_capable(s, CAP_SYS_ADMIN);
}

/* "none [integrity] confidentiality": the level between brackets. */
bool sources_confidential(const struct counter_sources *s)
{
	char path[PATH_MAX], line[128];

	snprintf(path, sizeof(path), "%s/kernel/security/lockdown", sources_sysfs(s));
	return file_read_line(path, line, sizeof(line)) && strstr(line, "[confidentiality]");
}

bool sources_may_kernel(const struct counter_sources *s)
{
	return sources_paranoid(s) < 2 || sources_perfmon(s);
}

int sources_open_in_group(const struct counter_sources *s, const struct perf_event_attr *attr,
			  int pid, int cpu, int leader)
{
	struct perf_event_attr copy = *attr; /* the kernel writes its own size back on E2BIG */
	int fd;

	copy.size = sizeof(copy);
	errno = 0;
	if (s && s->perf_event_open)
		fd = s->perf_event_open(&copy, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	else
		fd = (int)syscall(SYS_perf_event_open, &copy, pid, cpu, leader,
				  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		fd = open_helper_counter(&copy, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC,
					 errno ? -errno : -EIO);
	return fd;
}

int sources_open(const struct counter_sources *s, const struct perf_event_attr *attr, int pid,
		 int cpu)
{
	return sources_open_in_group(s, attr, pid, cpu, -1);
}
