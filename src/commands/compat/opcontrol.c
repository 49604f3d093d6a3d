/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opcontrol: a recording of the whole machine in the background, by what `assay record` does.
 *
 * What was set up stands in ~/.oprofile/daemonrc, KEY=value a line. The recorder's process is that
 * of SESSION_DIR/lock; it records below SESSION_DIR/recording and adds that to samples/current when
 * it ends. To dump is to end it and to begin anew.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "commands/compat/compat.h"
#include "commands/record.h"
#include "store/session_join.h"

struct opcontrol_args {
	struct compat_args compat;
	bool init, setup, status, start_daemon, start, dump, stop, shutdown, reset, deinit, list;
	const char *save;
	struct option_list events;
	const char *separate, *callgraph, *session_dir, *image, *vmlinux, *kernel_range;
	const char *buffer_size, *watershed, *cpu_buffer_size, *xen, *domains;
	bool no_vmlinux;
};

#define FIELD(f) offsetof(struct opcontrol_args, f)
static const struct option_spec opcontrol_options[] = {
	{ 0, "init", NULL, OPT_FLAG, FIELD(init), NULL, "accepted; there is nothing to load" },
	{ 0, "setup", NULL, OPT_FLAG, FIELD(setup), NULL, "keep the settings that are given" },
	{ 0, "status", NULL, OPT_FLAG, FIELD(status), NULL, "say what is set up and running" },
	{ 0, "start-daemon", NULL, OPT_FLAG, FIELD(start_daemon), NULL,
	  "accepted; --start does it all" },
	{ 's', "start", NULL, OPT_FLAG, FIELD(start), NULL, "start profiling the machine" },
	{ 'd', "dump", NULL, OPT_FLAG, FIELD(dump), NULL,
	  "make what was collected so far readable" },
	{ 't', "stop", NULL, OPT_FLAG, FIELD(stop), NULL, "stop profiling" },
	{ 'h', "shutdown", NULL, OPT_FLAG, FIELD(shutdown), NULL, "stop profiling" },
	{ 0, "reset", NULL, OPT_FLAG, FIELD(reset), NULL, "throw the current samples away" },
	{ 0, "save", "NAME", OPT_STRING, FIELD(save), NULL,
	  "make the current samples session NAME" },
	{ 0, "deinit", NULL, OPT_FLAG, FIELD(deinit), NULL, "stop profiling" },
	{ 'l', "list-events", NULL, OPT_FLAG, FIELD(list), NULL, "list events, as ophelp does" },
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "NAME:COUNT[:UNITMASK[:KERNEL[:USER]]], or default; instead of those that were set" },
	{ 'p', "separate", "LIST", OPT_STRING, FIELD(separate), NULL,
	  "keep apart none, library, kernel, thread, cpu or all" },
	{ 'c', "callgraph", "DEPTH", OPT_STRING, FIELD(callgraph), NULL,
	  "record who called whom; 0 does not" },
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(session_dir), NULL,
	  "where samples go (/var/lib/oprofile)" },
	{ 'i', "image", "LIST", OPT_STRING, FIELD(image), NULL,
	  "accepted; choose images when reporting" },
	{ 0, "vmlinux", "FILE", OPT_STRING, FIELD(vmlinux), NULL,
	  "accepted; the kernel's names are those of the kernel that runs" },
	{ 0, "no-vmlinux", NULL, OPT_FLAG, FIELD(no_vmlinux), NULL, "accepted" },
	{ 0, "kernel-range", "RANGE", OPT_STRING, FIELD(kernel_range), NULL, "accepted" },
	{ 0, "buffer-size", "N", OPT_STRING, FIELD(buffer_size), NULL, "accepted" },
	{ 0, "buffer-watershed", "N", OPT_STRING, FIELD(watershed), NULL, "accepted" },
	{ 0, "cpu-buffer-size", "N", OPT_STRING, FIELD(cpu_buffer_size), NULL, "accepted" },
	{ 0, "xen", "FILE", OPT_STRING, FIELD(xen), NULL, "accepted" },
	{ 0, "active-domains", "LIST", OPT_STRING, FIELD(domains), NULL, "accepted" },
	COMPAT_OPTIONS(opcontrol_args, 0),
	COMPAT_HELP(opcontrol_args),
};

#define KERNEL_LINE "the kernel's symbols are those of the kernel that runs"
#define BUFFER_LINE "buffers have the size that is needed"
static const struct compat_obsolete obsolete[] = {
	{ FIELD(init), true, "--init",
	  "perf events are part of the kernel; there is nothing to load" },
	{ FIELD(start_daemon), true, "--start-daemon", "--start does it all" },
	{ FIELD(image), false, "--image", "all is recorded; image: chooses when reporting" },
	{ FIELD(vmlinux), false, "--vmlinux", KERNEL_LINE },
	{ FIELD(no_vmlinux), true, "--no-vmlinux", KERNEL_LINE },
	{ FIELD(kernel_range), false, "--kernel-range", KERNEL_LINE },
	{ FIELD(buffer_size), false, "--buffer-size", BUFFER_LINE },
	{ FIELD(watershed), false, "--buffer-watershed", BUFFER_LINE },
	{ FIELD(cpu_buffer_size), false, "--cpu-buffer-size", BUFFER_LINE },
	{ FIELD(xen), false, "--xen", "a hypervisor is not profiled from within" },
	{ FIELD(domains), false, "--active-domains", "a hypervisor is not profiled from within" },
	COMPAT_VERBOSE(opcontrol_args),
	{ 0 },
};

/* ---- settings: what was set up before, then what is given now ---- */

/* X(field, key) */
#define SETTINGS(X)                   \
	X(session_dir, "SESSION_DIR") \
	X(events, "CHOSEN_EVENTS")    \
	X(separate, "SEPARATE")       \
	X(callgraph, "CALLGRAPH")

struct settings {
#define X(field, key) char *field;
	SETTINGS(X)
#undef X
	bool is_changed;
};

static void settings_fini(struct settings *s)
{
#define X(field, key) free(s->field);
	SETTINGS(X)
#undef X
}

static char *settings_path(void)
{
	const char *home = getenv("HOME");

	return xasprintf("%s/.oprofile/daemonrc", home && *home ? home : "/root");
}

/* Nothing that a shell could be told by, as OProfile has it: others may read the file. */
static int check_value(const char *option, const char *value, struct error *err)
{
	for (const char *at = value; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_:,./-=", *at))
			return error_set(err, -EINVAL,
					 "%s: '%s' has a character that is not allowed", option,
					 value);
	return 0;
}

static void set(struct settings *s, char **field, const char *value)
{
	if (!value || (*field && !strcmp(*field, value)))
		return;
	free(*field);
	*field = xstrdup(value);
	s->is_changed = true;
}

static void read_settings(struct settings *s)
{
	cleanup(free_at_exit) char *path = settings_path();
	cleanup(free_at_exit) char *text = NULL;
	char *rest;
	size_t size;

	if (file_read_all(path, 1 << 16, &text, &size) < 0)
		return;
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		char *value = strchr(line, '=');

		if (!value || check_value("", value + 1, NULL) < 0)
			continue;
		*value++ = '\0';
#define X(field, key)           \
	if (!strcmp(line, key)) \
		set(s, &s->field, value);
		SETTINGS(X)
#undef X
	}
	s->is_changed = false;
}

static int write_settings(const struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *path = settings_path();
	cleanup(free_at_exit) char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path));
	struct buf text = { 0 };
	int r = file_mkdirs(folder, 0700, err);

#define X(field, key) \
	if (s->field) \
		buf_printf(&text, "%s=%s\n", key, s->field);
	SETTINGS(X)
#undef X
	buf_cstr(&text);
	r = r < 0 ? r : file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

static int take_settings(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	const struct {
		const char *option, *value;
	} checked[] = { { "--session-dir", a->session_dir },
			{ "--separate", a->separate },
			{ "--callgraph", a->callgraph } };
	struct buf events = { 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(checked) && r >= 0; i++)
		r = checked[i].value ? check_value(checked[i].option, checked[i].value, err) : 0;
	vec_foreach (&a->events, event) {
		r = r < 0 ? r : check_value("--event", *event, err);
		buf_printf(&events, "%s%s", events.len ? "," : "", *event);
	}
	if (r >= 0) {
		set(s, &s->session_dir, a->session_dir);
		set(s, &s->separate, a->separate);
		set(s, &s->callgraph, a->callgraph);
		set(s, &s->events, a->events.n ? buf_cstr(&events) : NULL);
		if (!s->session_dir)
			s->session_dir = xstrdup("/var/lib/oprofile");
	}
	buf_fini(&events);
	return r;
}

/* ---- the recorder ---- */

static char *lock_path(const struct settings *s)
{
	return xasprintf("%s/lock", s->session_dir);
}

/* Its process, or 0: none, or one that left its lock behind. */
static pid_t running(const struct settings *s)
{
	cleanup(free_at_exit) char *path = lock_path(s);
	char line[32];
	long pid;

	if (!file_read_line(path, line, sizeof(line)))
		return 0;
	pid = strtol(line, NULL, 10);
	return pid > 1 && (kill((pid_t)pid, 0) == 0 || errno == EPERM) ? (pid_t)pid : 0;
}

static void translate(const struct settings *s, const char *place, struct compat_argv *v)
{
	const char *separate = s->separate ? s->separate : "none";
	bool with_calls = s->callgraph && strtoul(s->callgraph, NULL, 10);

	compat_push(v, "opcontrol");
	compat_push(v, "--store=oprofile");
	compat_push(v, "--output=%s", place);
	compat_push(v, "--separate=%s", separate);
	compat_push(v, "--call-graph=%s", with_calls ? "best" : "none");
	compat_push(v, "--all-cpus");
	if (s->events && strcmp(s->events, "default"))
		compat_push(v, "--event=%s", s->events);
}

/* In the process in the background; `ready` is written to when it has ended too early. */
static int run_recorder(const struct settings *s)
{
	cleanup(free_at_exit) char *place = xasprintf("%s/recording", s->session_dir);
	cleanup(free_at_exit) char *lock = lock_path(s);
	struct command self = record_command;
	struct compat_argv argv = { 0 };
	struct record_end end;
	struct error err = { 0 };
	int r;

	self.name = "opcontrol";
	self.is_program = true;
	file_remove_tree(place, NULL);
	translate(s, place, &argv);
	record_arguments(&self, (int)argv.n, argv.data, &end);
	compat_argv_fini(&argv);
	r = end.has_run ? compat_keep_samples(place, s->session_dir, true, &err) : -EIO;
	if (r < 0 && err.text[0])
		log_error("%s", err.text);
	file_remove_tree(place, NULL);
	unlink(lock);
	return r < 0 || end.code < 0 ? EXIT_FAILED : EXIT_OK;
}

static int write_lock(const struct settings *s, pid_t pid, struct error *err)
{
	cleanup(free_at_exit) char *path = lock_path(s);
	char text[32];
	int n = snprintf(text, sizeof(text), "%d\n", (int)pid);

	return file_replace(path, text, (size_t)n, err);
}

/* Standard error goes to the log, as a daemon's does; standard input and output nowhere. */
static void detach(const struct settings *s)
{
	cleanup(free_at_exit) char *log = xasprintf("%s/samples/oprofiled.log", s->session_dir);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(out >= 0 ? out : null, STDERR_FILENO);
	closefrom(3);
}

#define STEP_NS  20000000L
#define START_MS 1500 /* what is refused is refused by then */
#define STOP_MS  60000
#define STEP_MS  20

static bool ends_within(const struct settings *s, int ms)
{
	for (; ms > 0 && running(s); ms -= STEP_MS)
		nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
	return !running(s);
}

/* Until it samples, or has ended: what it records is there from then on. */
static int wait_started(const struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *abi = xasprintf("%s/recording/abi", s->session_dir);

	for (int ms = START_MS * 10; ms > 0 && running(s) && access(abi, F_OK) < 0; ms -= STEP_MS)
		nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
	if (running(s))
		return 0;
	return error_set(err, -EIO, "profiling did not start; %s/samples/oprofiled.log says why",
			 s->session_dir);
}

static int start(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", s->session_dir);
	pid_t pid;
	int r;

	(void)a;
	if (running(s)) {
		log_info("profiling is running already");
		return 0;
	}
	r = file_mkdirs(samples, 0755, err);
	if (r < 0)
		return r;
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return error_errno(err, -errno, "cannot start a process");
	if (!pid) {
		detach(s);
		_exit(write_lock(s, getpid(), NULL) < 0 ? EXIT_FAILED : run_recorder(s));
	}
	/* Its lock, before anybody asks whether it runs. */
	r = write_lock(s, pid, err);
	r = r < 0 ? r : wait_started(s, err);
	if (r >= 0)
		log_info("profiling; samples go to %s", s->session_dir);
	return r;
}

static int stop(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	pid_t pid = running(s);

	(void)a;
	if (!pid)
		return error_set(err, -ESRCH, "profiling is not running");
	kill(pid, SIGINT);
	if (!ends_within(s, STOP_MS))
		return error_set(err, -ETIMEDOUT, "process %d does not end", (int)pid);
	log_info("profiling has stopped");
	return 0;
}

static int shutdown(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	return running(s) ? stop(a, s, err) : 0;
}

/* What is done with the samples is done between the end of one recording and the next. */
static int between(const struct opcontrol_args *a, struct settings *s,
		   int (*act)(const struct opcontrol_args *a, struct settings *s,
			      struct error *err),
		   struct error *err)
{
	bool was_running = running(s);
	int r = was_running ? stop(a, s, err) : 0;

	r = r < 0 || !act ? r : act(a, s, err);
	if (was_running) {
		int again = start(a, s, r < 0 ? NULL : err);

		r = r < 0 ? r : again;
	}
	return r;
}

static int dump(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	if (!running(s))
		return error_set(err, -ESRCH, "profiling is not running: there is nothing to dump");
	return between(a, s, NULL, err);
}

static int throw_away(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", s->session_dir);

	(void)a;
	return access(current, F_OK) < 0 ? 0 : file_remove_tree(current, err);
}

static int reset(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	return between(a, s, throw_away, err);
}

static int rename_current(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	return session_save(s->session_dir, a->save, err);
}

static int save(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	if (!*a->save || strchr(a->save, '/') || a->save[0] == '.' ||
	    check_value("--save", a->save, err) < 0)
		return error_set(err, -EINVAL, "--save: '%s' is no name of a session", a->save);
	return between(a, s, rename_current, err);
}

static int status(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	pid_t pid = running(s);

	(void)a, (void)err;
	if (pid)
		printf("Daemon running: pid %d\n", (int)pid);
	else
		printf("Daemon not running\n");
	printf("Session-dir: %s\nEvents: %s\nSeparate options: %s\nCall-graph depth: %s\n",
	       s->session_dir, s->events ? s->events : "default",
	       s->separate ? s->separate : "none", s->callgraph ? s->callgraph : "0");
	return 0;
}

static int nothing(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	(void)a, (void)s, (void)err;
	return 0;
}

static int list_events(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	char *argv[] = { "opcontrol", NULL };

	(void)a, (void)s, (void)err;
	return ophelp_command.run(&ophelp_command, 1, argv) == EXIT_OK ? 0 : -EIO;
}

static const struct {
	size_t field;
	const char *option;
	int (*act)(const struct opcontrol_args *a, struct settings *s, struct error *err);
} actions[] = {
	{ FIELD(init), "--init", nothing },
	{ FIELD(setup), "--setup", nothing },
	{ FIELD(status), "--status", status },
	{ FIELD(start_daemon), "--start-daemon", nothing },
	{ FIELD(start), "--start", start },
	{ FIELD(dump), "--dump", dump },
	{ FIELD(stop), "--stop", stop },
	{ FIELD(shutdown), "--shutdown", shutdown },
	{ FIELD(reset), "--reset", reset },
	{ FIELD(deinit), "--deinit", shutdown },
	{ FIELD(list), "--list-events", list_events },
};

static int act(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	size_t chosen = ARRAY_SIZE(actions);

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (!*(const bool *)((const char *)a + actions[i].field))
			continue;
		if (chosen < ARRAY_SIZE(actions) || a->save)
			return error_set(err, -EINVAL, "%s and %s are two actions; choose one",
					 a->save ? "--save" : actions[chosen].option,
					 actions[i].option);
		chosen = i;
	}
	if (chosen == ARRAY_SIZE(actions) && !a->save && !s->is_changed)
		return error_set(err, -EINVAL,
				 "no action: --setup, --start, --dump, --stop, "
				 "--save, --reset, --status …");
	if (s->is_changed) {
		int r = write_settings(s, err);

		if (r < 0)
			return r;
		if (running(s))
			log_info("the settings hold from the next --start on");
	}
	if (a->save)
		return save(a, s, err);
	return chosen < ARRAY_SIZE(actions) ? actions[chosen].act(a, s, err) : 0;
}

static int opcontrol_run(const struct command *self, int argc, char **argv)
{
	struct opcontrol_args args = { 0 };
	struct option_list operands = { 0 };
	struct settings settings = { 0 };
	struct error err = { 0 };
	int code = compat_begin(self, false, argc, argv, &args, &operands), r = 0;

	if (code < 0) {
		compat_tell_obsolete(obsolete, &args);
		read_settings(&settings);
		if (operands.n)
			r = error_set(&err, -EINVAL, "'%s' is no option", operands.data[0]);
		r = r < 0 ? r : take_settings(&args, &settings, &err);
		r = r < 0 ? r : act(&args, &settings, &err);
		if (r < 0 && err.text[0])
			log_error("%s", err.text);
		code = r < 0 ? EXIT_FAILED : EXIT_OK;
	}
	settings_fini(&settings);
	option_list_fini(&args.events);
	option_list_fini(&operands);
	return code;
}

static const struct command_section opcontrol_sections[] = {
	{ "EXIT STATUS", "0; 1 on failure and for wrong usage." },
	{ "FILES",
	  "_~/.oprofile/daemonrc_ has the settings, _SESSION-DIR/lock_ the recorder's process, "
	  "_SESSION-DIR/samples/oprofiled.log_ what it says." },
	{ "DIFFERENCES", "There is no driver and nothing to set up before *--start*. To dump is to "
			 "end the recording "
			 "and to begin anew, which misses some hundredths of a second. Settings "
			 "that are given hold "
			 "from the next *--start* on." },
	{ NULL },
};

static const struct command_example opcontrol_examples[] = {
	{ "opcontrol --setup --event=CPU_CLK_UNHALTED:100000 --separate=library",
	  "what to record" },
	{ "opcontrol --start; …; opcontrol --dump; opreport", "and look at it while it goes on" },
	{ "opcontrol --save=before; …; opcontrol --shutdown", "and keep a part of it" },
	{ NULL },
};

const struct command opcontrol_command = {
	.name = "opcontrol",
	.is_program = true,
	.summary = "profile the machine in the background, in OProfile's way",
	.synopsis = "[OPTIONS] ACTION",
	.description =
		"OProfile's *opcontrol* of the versions before 1.0: its actions and settings, by "
		"what *assay record* does.",
	.options = OPTIONS(opcontrol_options),
	.sections = opcontrol_sections,
	.examples = opcontrol_examples,
	.run = opcontrol_run,
};
