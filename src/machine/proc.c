/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files/file.h"
#include "machine/image.h"

#define MAPS_LIMIT ((size_t)256 << 20)

bool proc_read_comm(const char *proc, int32_t pid, int32_t tid, char *comm, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/task/%d/comm", proc, pid, tid);
	return file_read_line(path, comm, size);
}

static int list_numbers(const char *path, struct pid_list *out)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		char *end;
		long n = strtol(entry->d_name, &end, 10);

		if (isdigit((unsigned char)entry->d_name[0]) && !*end && n > 0 && n <= INT32_MAX)
			vec_push(out, (int32_t)n);
	}
	closedir(dir);
	return 0;
}

int proc_list_pids(const char *proc, struct pid_list *out)
{
	return list_numbers(proc, out);
}

int proc_list_threads(const char *proc, int32_t pid, struct pid_list *out)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/task", proc, pid);
	return list_numbers(path, out);
}

int32_t proc_process_of(const char *proc, int32_t tid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", proc, tid);
	cleanup(free_at_exit) char *text = NULL;
	const char *line;

	if (file_read_all(path, 1 << 16, &text, NULL) < 0 || !(line = strstr(text, "\nTgid:")))
		return -1;
	return (int32_t)strtol(line + strlen("\nTgid:"), NULL, 10);
}

/*
 * A process that has ended accepts signals until its parent waits for it, but its pidfd is readable
 * at once (pidfd_open(2)). Only a process's first thread has a pidfd, and only since Linux 5.3.
 */
static bool is_running(int32_t tid)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, tid, 0), .events = POLLIN };
	bool has_ended;

	if (p.fd < 0)
		return kill(tid, 0) == 0 || errno != ESRCH;
	has_ended = poll(&p, 1, 0) > 0;
	close(p.fd);
	return !has_ended;
}

bool proc_any_runs(const struct pid_list *tids)
{
	vec_foreach (tids, tid)
		if (is_running(*tid))
			return true;
	return false;
}

/*
 * "START-END PERMS OFFSET MAJOR:MINOR INODE   PATH" (proc_pid_maps(5)). A newline in a path is
 * written \012. False for any other line.
 */
static bool parse_maps_line(char *line, struct mapping_event *m)
{
	uint64_t end;
	unsigned int major, minor;
	char perms[8];
	int at = 0;

	*m = (struct mapping_event){ 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &end, perms, &m->file_off, &major, &minor, &m->ino, &at) < 7 ||
	    end <= m->start)
		return false;
	m->is_executable = perms[2] == 'x';
	m->size = end - m->start;
	m->dev = (uint64_t)major << 32 | minor;
	m->path = line + at;
	/* The kernel's records call memory without a name //anon; one thing has one name. */
	if (!*m->path)
		m->path = "//anon";
	return true;
}

/* NULL: there is nothing in it. */
static char *read_maps_at(const char *path)
{
	char *text = NULL;
	size_t size;

	if (file_read_all(path, MAPS_LIMIT, &text, &size) == 0 && !size)
		free(take_ptr(text));
	return text;
}

/* A first thread that has ended has no memory any more, and the others have. NULL: nobody has. */
static char *read_maps(const char *proc, int32_t pid)
{
	cleanup(free_at_exit) char *first = xasprintf("%s/%d/maps", proc, pid);
	char *text = read_maps_at(first);
	struct pid_list tids = { 0 };

	if (!text)
		proc_list_threads(proc, pid, &tids);
	for (size_t i = 0; i < tids.n && !text; i++) {
		cleanup(free_at_exit) char *path =
			xasprintf("%s/%d/task/%d/maps", proc, pid, tids.data[i]);

		text = read_maps_at(path);
	}
	vec_fini(&tids);
	return text;
}

/* Whether it has code of files, none of which is the program. Changes nothing in the text. */
static bool runs_another(const char *maps, const struct image *program)
{
	cleanup(free_at_exit) char *text = xstrdup(maps);
	size_t len = strlen(program->path);
	struct mapping_event m;
	bool has_code = false;
	char *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		if (!parse_maps_line(line, &m) || !m.is_executable || m.path[0] != '/' || !m.ino)
			continue;
		if (m.dev == program->dev && m.ino == program->ino)
			return false;
		if (!strncmp(m.path, program->path, len) &&
		    (!m.path[len] || !strcmp(m.path + len, " (deleted)")))
			return false;
		has_code = true;
	}
	return has_code;
}

/* Takes the text apart. */
static int push_maps(char *text, int32_t pid, uint64_t time_ns, struct event_sink *sink)
{
	char *rest = text;
	int n = 0;

	for (char *line; (line = strsep(&rest, "\n"));) {
		struct event e = {
			.type = EVENT_MAPPING, .pid = pid, .tid = pid, .time_ns = time_ns
		};
		int r;

		if (!parse_maps_line(line, &e.mapping) || !e.mapping.is_executable)
			continue;
		r = event_push(sink, &e);
		if (r < 0)
			return r;
		n++;
	}
	return n;
}

bool proc_own_mapping(const char *proc, uint64_t addr, uint64_t *dev, uint64_t *ino)
{
	cleanup(free_at_exit) char *text = NULL, *path = xasprintf("%s/self/maps", proc);
	char *rest;

	if (file_read_all(path, MAPS_LIMIT, &text, NULL) < 0)
		return false;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		struct mapping_event m;

		if (!parse_maps_line(line, &m) || addr < m.start || addr - m.start >= m.size)
			continue;
		*dev = m.dev;
		*ino = m.ino;
		return m.ino;
	}
	return false;
}

int proc_scan_process(const char *proc, int32_t pid, uint64_t time_ns, struct event_sink *sink)
{
	return proc_scan_again(proc, pid, NULL, time_ns, sink);
}

int proc_scan_again(const char *proc, int32_t pid, const struct image *program, uint64_t time_ns,
		    struct event_sink *sink)
{
	cleanup(free_at_exit) char *maps = NULL;
	char comm[64];
	struct event e = { .type = EVENT_COMM,
			   .pid = pid,
			   .tid = pid,
			   .time_ns = time_ns,
			   .comm = { .name = comm } };
	int r, n;

	if (!proc_read_comm(proc, pid, pid, comm, sizeof(comm)))
		return 0;
	maps = read_maps(proc, pid);
	e.comm.is_exec = maps && program && runs_another(maps, program);
	r = event_push(sink, &e);
	if (r < 0)
		return r;
	n = push_maps(maps, pid, time_ns, sink);
	return n < 0 ? n : n + 1;
}

static int push_name(const char *proc, int32_t pid, int32_t tid, uint64_t time_ns,
		     struct event_sink *sink)
{
	char comm[64];
	struct event e = { .type = EVENT_COMM,
			   .pid = pid,
			   .tid = tid,
			   .time_ns = time_ns,
			   .comm = { .name = comm } };

	return proc_read_comm(proc, pid, tid, comm, sizeof(comm)) ? event_push(sink, &e) : 0;
}

int proc_scan_threads(const char *proc, const struct pid_list *tids, uint64_t time_ns,
		      struct event_sink *sink)
{
	int32_t last = 0;
	int r = 0;

	for (size_t i = 0; i < tids->n && r >= 0; i++) {
		int32_t tid = tids->data[i], pid = proc_process_of(proc, tid);

		if (pid <= 0)
			continue;
		if (pid != last)
			r = proc_scan_process(proc, pid, time_ns, sink);
		if (r >= 0 && tid != pid)
			r = push_name(proc, pid, tid, time_ns, sink);
		last = pid;
	}
	return MIN(r, 0);
}

int proc_scan_all(const char *proc, uint64_t time_ns, struct event_sink *sink)
{
	struct pid_list pids = { 0 };
	int r = proc_list_pids(proc, &pids);

	for (size_t i = 0; r >= 0 && i < pids.n; i++)
		r = proc_scan_process(proc, pids.data[i], time_ns, sink);
	vec_fini(&pids);
	return r < 0 ? r : 0;
}
