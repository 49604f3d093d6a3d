/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/cpu_times.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "store/session.h"

#define CPU_TIMES_FIRST_LINE "assay-cpu-times 1"
#define CPU_TIMES_MAX_BYTES  (16u << 20)

/* X(key, field): the lines of one number. */
#define CPU_TIMES_NUMBERS(X)           \
	X("wall", wall_ns)             \
	X("capacity", capacity_ns)     \
	X("idle", idle_ns)             \
	X("steal", steal_ns)           \
	X("interrupts", interrupts_ns) \
	X("throttled", throttled_ns)   \
	X("more", n_more)              \
	X("more-time", more_ns)        \
	X("children", children_ns)     \
	X("rest", rest_ns)

void cpu_times_init(struct cpu_times *t)
{
	*t = (struct cpu_times){ .idle_ns = CPU_TIME_UNKNOWN,
				 .steal_ns = CPU_TIME_UNKNOWN,
				 .interrupts_ns = CPU_TIME_UNKNOWN,
				 .throttled_ns = CPU_TIME_UNKNOWN };
}

void cpu_times_fini(struct cpu_times *t)
{
	vec_fini(&t->processes);
	free(t->why);
	t->why = NULL;
}

char *cpu_times_path(const char *dir)
{
	return xasprintf("%s/cpu-times", dir);
}

int cpu_times_write(const char *dir, const struct cpu_times *t, struct error *err)
{
	cleanup(free_at_exit) char *path = cpu_times_path(dir);
	struct buf out = { 0 };
	int r;

	buf_printf(&out, "%s\nscope %s\ncpus %" PRIu32 "\n", CPU_TIMES_FIRST_LINE,
		   t->is_machine ? "machine" : "processes", t->n_cpus);
#define X(key, field)                     \
	if (t->field != CPU_TIME_UNKNOWN) \
		buf_printf(&out, key " %" PRIu64 "\n", t->field);
	CPU_TIMES_NUMBERS(X)
#undef X
	if (t->why)
		buf_printf(&out, "why %s\n", t->why);
	vec_foreach (&t->processes, p) {
		buf_printf(&out, "process %" PRId32, p->pid);
		if (p->ns != CPU_TIME_UNKNOWN)
			buf_printf(&out, " %" PRIu64, p->ns);
		buf_u8(&out, '\n');
	}
	r = file_replace_mode(path, 0600, out.data, out.len, err);
	buf_fini(&out);
	return r;
}

/* A decimal number; *rest is the text behind the blank that follows. */
static bool take_number(const char *text, uint64_t max, uint64_t *out, const char **rest)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	*rest = *end == ' ' ? end + 1 : end;
	return !errno && *out <= max && (*end == ' ' || !*end);
}

static bool take_process(struct cpu_times *t, const char *text)
{
	uint64_t pid, ns = CPU_TIME_UNKNOWN;
	const char *rest;

	if (t->processes.n == CPU_TIMES_MAX_PROCESSES ||
	    !take_number(text, INT32_MAX, &pid, &rest) ||
	    (*rest && !take_number(rest, INT64_MAX, &ns, &rest)) || *rest)
		return false;
	vec_push(&t->processes, (struct process_time){ (int32_t)pid, ns });
	return true;
}

/* Lines of unknown keys are of later versions, and are left out. */
static bool take_line(struct cpu_times *t, const char *key, const char *text)
{
	uint64_t n = 0;
	const char *rest = "";

	if (!strcmp(key, "process"))
		return take_process(t, text);
	if (!strcmp(key, "why") && !t->why)
		t->why = xstrdup(text);
	if (!strcmp(key, "scope"))
		t->is_machine = !strcmp(text, "machine");
	if (!strcmp(key, "cpus")) {
		if (!take_number(text, UINT16_MAX, &n, &rest) || *rest)
			return false;
		t->n_cpus = (uint32_t)n;
	}
#define X(name, field)                                                     \
	if (!strcmp(key, name)) {                                          \
		if (!take_number(text, INT64_MAX / 4, &n, &rest) || *rest) \
			return false;                                      \
		t->field = n;                                              \
	}
	CPU_TIMES_NUMBERS(X)
#undef X
	return true;
}

bool cpu_times_parse(struct cpu_times *t, char *text)
{
	char *rest, *line = strtok_r(text, "\n", &rest);

	if (!line || strcmp(line, CPU_TIMES_FIRST_LINE) != 0)
		return false;
	while ((line = strtok_r(NULL, "\n", &rest))) {
		char *blank = strchr(line, ' ');

		if (!blank)
			return false;
		*blank = '\0';
		if (!take_line(t, line, blank + 1))
			return false;
	}
	return true;
}

static bool cpu_times_read(struct cpu_times *t, const char *dir)
{
	cleanup(free_at_exit) char *path = cpu_times_path(dir);
	cleanup(free_at_exit) char *text = NULL;
	cleanup(close_at_exit) int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	size_t size;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       file_read_fd(fd, CPU_TIMES_MAX_BYTES, &text, &size) == 0 && cpu_times_parse(t, text);
}

bool cpu_times_of_session(struct cpu_times *t, const struct session *s, const char **why)
{
	cpu_times_init(t);
	*why = "";
	if (s->n_parts)
		*why = "several sessions, or a history, have no account of CPU time";
	else if (s->has_window)
		*why = "a stretch of a recording has no account of CPU time";
	else if (!s->dir || !cpu_times_read(t, s->dir))
		*why = "the session has no CPU times of the kernel: it was imported, is of an "
		       "older version, or still runs";
	if (!**why)
		return true;
	cpu_times_fini(t);
	cpu_times_init(t);
	return false;
}
