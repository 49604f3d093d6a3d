/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opcontrol: starts and controls the daemon of an OProfile session directory.
 *
 * The settings are in ~/.oprofile/daemonrc, KEY=value in each line, and apply from the daemon's
 * next start on. `assay daemon` and `assay ctl` do everything else.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "counter/counter.h"
#include "daemon/request.h"
#include "open/client.h"
#include "open/lock.h"
#include "oprofile/store/oprofile_files.h"
#include "oprofile/tools/compat.h"
#include "oprofile/tools/opcontrol_event.h"
#include "oprofile/tools/opcontrol_samples.h"
#include "store/separation_words.h"
#include "store/session_join.h"

#define USUAL_DIR "/var/lib/oprofile"
#define STEP_MS   20
#define END_MS    60000

struct opcontrol_args {
	struct compat_args compat;
	bool init, setup, status, start_daemon, opcontrol_start, opcontrol_dump, stop, shutdown,
		reset, deinit, list;
	const char *save;
	struct option_list events;
	const char *separate, *store, *callgraph, *session_dir, *image, *vmlinux, *kernel_range;
	const char *buffer_size, *watershed, *cpu_buffer_size, *xen, *domains, *s390_buffers;
	bool no_vmlinux;
};

#define FIELD(f) offsetof(struct opcontrol_args, f)
static const struct option_spec opcontrol_options[] = {
	{ 0, "init", NULL, OPT_FLAG, FIELD(init), NULL, "accepted; there is nothing to load" },
	{ 0, "setup", NULL, OPT_FLAG, FIELD(setup), NULL, "keep the settings that are given" },
	{ 0, "status", NULL, OPT_FLAG, FIELD(status), NULL,
	  "show the settings and whether the daemon runs" },
	{ 0, "start-daemon", NULL, OPT_FLAG, FIELD(start_daemon), NULL,
	  "start the daemon, which does not profile yet" },
	{ 's', "start", NULL, OPT_FLAG, FIELD(opcontrol_start), NULL,
	  "start profiling the machine, and the daemon if it does not run" },
	{ 'd', "dump", NULL, OPT_FLAG, FIELD(opcontrol_dump), NULL,
	  "make the samples so far readable" },
	{ 't', "stop", NULL, OPT_FLAG, FIELD(stop), NULL, "stop profiling; the daemon stays" },
	{ 'h', "shutdown", NULL, OPT_FLAG, FIELD(shutdown), NULL,
	  "stop profiling and end the daemon" },
	{ 0, "reset", NULL, OPT_FLAG, FIELD(reset), NULL, "throw the current samples away" },
	{ 0, "save", "NAME", OPT_STRING, FIELD(save), NULL,
	  "make the current samples session NAME" },
	{ 0, "deinit", NULL, OPT_FLAG, FIELD(deinit), NULL,
	  "as --shutdown; there is nothing to unload" },
	{ 'l', "list-events", NULL, OPT_FLAG, FIELD(list), NULL, "list events, as ophelp does" },
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "NAME:COUNT[:UNITMASK[:KERNEL[:USER]]], or default; instead of those that were set" },
	{ 'p', "separate", "LIST", OPT_STRING, FIELD(separate), NULL,
	  "keep apart none, library, kernel, thread, cpu or all" },
	{ 0, "store", "KIND", OPT_STRING, FIELD(store), NULL,
	  "keep samples as a history (native), or as OProfile's sample files (oprofile)" },
	{ 'c', "callgraph", "DEPTH", OPT_STRING, FIELD(callgraph), NULL,
	  "record who called whom; 0 does not" },
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(session_dir), NULL,
	  "where samples go (/var/lib/oprofile)" },
	{ 'i', "image", "LIST", OPT_STRING, FIELD(image), NULL,
	  "accepted; choose images when reporting" },
	{ 0, "vmlinux", "FILE", OPT_STRING, FIELD(vmlinux), NULL,
	  "accepted; the kernel's names come from the running kernel" },
	{ 0, "no-vmlinux", NULL, OPT_FLAG, FIELD(no_vmlinux), NULL, "accepted" },
	{ 0, "kernel-range", "RANGE", OPT_STRING, FIELD(kernel_range), NULL, "accepted" },
	{ 0, "buffer-size", "N", OPT_STRING, FIELD(buffer_size), NULL, "accepted" },
	{ 0, "buffer-watershed", "N", OPT_STRING, FIELD(watershed), NULL, "accepted" },
	{ 0, "cpu-buffer-size", "N", OPT_STRING, FIELD(cpu_buffer_size), NULL, "accepted" },
	{ 0, "xen", "FILE", OPT_STRING, FIELD(xen), NULL, "accepted" },
	{ 0, "active-domains", "LIST", OPT_STRING, FIELD(domains), NULL, "accepted" },
	{ 0, "s390hwsampbufsize", "N", OPT_STRING, FIELD(s390_buffers), NULL, "accepted" },
	COMPAT_ABOUT(opcontrol_args, 0),
	{ 'V', "verbose", "LIST", OPT_OPTIONAL, COMPAT_FIELD(opcontrol_args, verbose), NULL,
	  "accepted; there is no such output here", NULL, .implied = "all" },
	COMPAT_HELP(opcontrol_args),
};

#define KERNEL_LINE "the kernel's symbols are those of the kernel that runs"
#define BUFFER_LINE "buffers have the size that is needed"
static const struct compat_obsolete obsolete[] = {
	{ FIELD(init), true, "--init",
	  "perf events are part of the kernel; there is nothing to load" },
	{ FIELD(image), false, "--image", "all is recorded; image: chooses when reporting" },
	{ FIELD(vmlinux), false, "--vmlinux", KERNEL_LINE },
	{ FIELD(no_vmlinux), true, "--no-vmlinux", KERNEL_LINE },
	{ FIELD(kernel_range), false, "--kernel-range", KERNEL_LINE },
	{ FIELD(buffer_size), false, "--buffer-size", BUFFER_LINE },
	{ FIELD(watershed), false, "--buffer-watershed", BUFFER_LINE },
	{ FIELD(cpu_buffer_size), false, "--cpu-buffer-size", BUFFER_LINE },
	{ FIELD(s390_buffers), false, "--s390hwsampbufsize", BUFFER_LINE },
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
	X(store, "STORE")             \
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

/* Refuses characters with a meaning for a shell, as OProfile does: shells may read the file. */
static int opcontrol_check_value(const char *option, const char *value, struct error *err)
{
	for (const char *at = value; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_:,./-=", *at))
			return error_set(err, -EINVAL,
					 "%s: '%s' has a character that is not allowed", option,
					 value);
	return 0;
}

static void opcontrol_set(struct settings *s, char **field, const char *value)
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

		if (!value || opcontrol_check_value("", value + 1, NULL) < 0)
			continue;
		*value++ = '\0';
#define X(field, key)           \
	if (!strcmp(line, key)) \
		opcontrol_set(s, &s->field, value);
		SETTINGS(X)
#undef X
	}
	s->is_changed = false;
}

static int write_settings(const struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *path = settings_path();
	cleanup(free_at_exit) char *folder = path_folder(path);
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

static int check_separate(const char *list, struct error *err)
{
	uint32_t merged;

	return separation_parse(list, &merged, err);
}

static int check_depth(const char *depth, struct error *err)
{
	return strspn(depth, "0123456789") == strlen(depth) && *depth && strlen(depth) < 10
		       ? 0
		       : error_set(err, -EINVAL, "--callgraph: '%s' is not a depth", depth);
}

/* Refuses unknown events now, not when the daemon starts. */
static int opcontrol_check_events(const char *events, struct error *err)
{
	static const struct counter_sources sources;
	const struct counter_rate rate = { .freq_hz = 100 };
	struct counters counters = { 0 };
	int r = 0;

	if (strcmp(events, "default"))
		r = counter_parse(&sources, events, &rate, &counters, err);
	counters_fini(&counters);
	return r;
}

static int check_store(const char *word, struct error *err)
{
	return !strcmp(word, "native") || !strcmp(word, "oprofile")
		       ? 0
		       : error_set(err, -EINVAL, "--store: '%s' is neither native nor oprofile",
				   word);
}

static int check_settings(const struct opcontrol_args *a, const char *dir, const char *events,
			  struct error *err)
{
	const struct {
		const char *option, *value;
		int (*check)(const char *value, struct error *err);
	} checked[] = { { "--session-dir", dir, NULL },
			{ "--separate", a->separate, check_separate },
			{ "--callgraph", a->callgraph, check_depth },
			{ "--store", a->store, check_store },
			{ "--event", events, opcontrol_check_events } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(checked) && r >= 0; i++) {
		if (!checked[i].value)
			continue;
		r = opcontrol_check_value(checked[i].option, checked[i].value, err);
		if (r >= 0 && checked[i].check)
			r = checked[i].check(checked[i].value, err);
	}
	return r;
}

/* They hold wherever opcontrol is called next. */
static char *opcontrol_absolute(const char *dir)
{
	cleanup(free_at_exit) char *here = *dir == '/' ? NULL : getcwd(NULL, 0);

	return here ? xasprintf("%s/%s", here, dir) : xstrdup(dir);
}

static int opcontrol_take_settings(const struct opcontrol_args *a, struct settings *s,
				   struct error *err)
{
	cleanup(free_at_exit) char *dir =
		a->session_dir ? opcontrol_absolute(a->session_dir) : NULL;
	struct buf events = { 0 };
	int r;

	vec_foreach (&a->events, event)
		buf_printf(&events, "%s%s", events.len ? "," : "", *event);
	r = check_settings(a, dir, a->events.n ? buf_cstr(&events) : NULL, err);
	if (r >= 0) {
		opcontrol_set(s, &s->session_dir, dir);
		opcontrol_set(s, &s->separate, a->separate);
		opcontrol_set(s, &s->store, a->store);
		opcontrol_set(s, &s->callgraph, a->callgraph);
		opcontrol_set(s, &s->events, a->events.n ? buf_cstr(&events) : NULL);
	}
	buf_fini(&events);
	return r;
}

/* A depth of 0 is none. */
static bool has_calls(const struct settings *s)
{
	return s->callgraph && strtoul(s->callgraph, NULL, 10);
}

static bool keeps_files(const struct settings *s)
{
	return s->store && !strcmp(s->store, "oprofile");
}

/* ---- the daemon ---- */

/* The session directory of the settings, or OProfile's default. */
static const char *dir_of(const struct settings *s)
{
	return s->session_dir ? s->session_dir : USUAL_DIR;
}

static pid_t running(const struct settings *s)
{
	return lock_holder(dir_of(s));
}

static int opcontrol_ask(const struct settings *s, const char *request, const char *argument,
			 json_t **reply, struct error *err)
{
	return request_send(dir_of(s), request, argument, reply, err);
}

/* Asks the daemon of the usual place, or else the only daemon on the machine. */
static int ask_any(struct settings *s, const char *request, const char *argument, json_t **reply,
		   struct error *err)
{
	char *dir = NULL;
	int r = client_choose_dir(s->session_dir, USUAL_DIR, &dir, err);

	if (r < 0)
		return r;
	free(s->session_dir);
	s->session_dir = dir;
	return opcontrol_ask(s, request, argument, reply, err);
}

static void opcontrol_translate(const struct settings *s, bool is_paused, struct compat_argv *v)
{
	cleanup(free_at_exit) char *event = NULL;

	compat_push(v, "assay");
	compat_push(v, "daemon");
	compat_push(v, "--detach");
	compat_push(v, "--config=/dev/null"); /* not the system daemon's */
	compat_push(v, "--session-dir=%s", dir_of(s));
	compat_push(v, "--separate=%s", s->separate ? s->separate : "none");
	compat_push(v, "--store=%s", keeps_files(s) ? "oprofile" : "native");
	compat_push(v, "--call-graph=%s", has_calls(s) ? "best" : "none");
	event = opcontrol_event(s->events);
	if (event)
		compat_push(v, "%s", event);
	if (is_paused)
		compat_push(v, "--paused");
}

/* The daemon prints its errors. Returns when it counts. */
static int run_daemon(const struct settings *s, bool is_paused, struct error *err)
{
	struct compat_argv argv = { 0 };
	int status = -1;
	pid_t pid;

	opcontrol_translate(s, is_paused, &argv);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		execv("/proc/self/exe", argv.data);
		_exit(EXIT_FAILED);
	}
	compat_argv_fini(&argv);
	if (pid < 0)
		return error_errno(err, -errno, "cannot start a process");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_OK
		       ? 0
		       : error_set(err, -EIO, "the daemon did not start");
}

static int begin_daemon(const struct settings *s, bool is_paused, struct error *err)
{
	int r = opcontrol_make_room(dir_of(s), keeps_files(s), err);

	r = r < 0 ? r : run_daemon(s, is_paused, err);
	if (r >= 0 && !is_paused)
		log_info("profiling; samples go to %s", dir_of(s));
	return r;
}

/* ---- actions ---- */

static int start_daemon(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	(void)a;
	if (!running(s))
		return begin_daemon(s, true, err);
	log_info("the daemon is running already");
	return 0;
}

static int opcontrol_start(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	(void)a;
	if (!running(s))
		return begin_daemon(s, false, err);
	return opcontrol_ask(s, "start", NULL, NULL, err);
}

static int stop(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	(void)a;
	if (!running(s))
		return error_set(err, -ESRCH, "profiling is not running");
	return opcontrol_ask(s, "stop", NULL, NULL, err);
}

static bool ends_within(const struct settings *s, int ms)
{
	for (; ms > 0 && running(s); ms -= STEP_MS)
		nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000L }, NULL);
	return !running(s);
}

static int shutdown(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	pid_t pid = running(s);
	int r = pid ? opcontrol_ask(s, "shutdown", NULL, NULL, err) : 0;

	(void)a;
	if (r < 0 || !pid)
		return r;
	if (!ends_within(s, END_MS))
		return error_set(err, -ETIMEDOUT, "process %d does not end", (int)pid);
	log_info("the daemon has ended");
	return 0;
}

static int opcontrol_dump(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	int r = ask_any(s, "dump", NULL, NULL, err);

	(void)a;
	return r == -ESRCH ? error_set(err, r, "profiling is not running: there is nothing to dump")
			   : r;
}

static int reset(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", dir_of(s));

	(void)a;
	if (running(s))
		return opcontrol_ask(s, "reset", NULL, NULL, err);
	return access(current, F_OK) < 0 ? 0 : file_remove_tree(current, err);
}

static int opcontrol_save(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	if (!*a->save || strchr(a->save, '/') || a->save[0] == '.' ||
	    opcontrol_check_value("--save", a->save, err) < 0)
		return error_set(err, -EINVAL, "--save: '%s' is no name of a session", a->save);
	if (!running(s) && access(dir_of(s), F_OK) == 0 && !opcontrol_has_samples(dir_of(s)))
		return error_set(err, -ENOENT, "--save: %s has no samples", dir_of(s));
	if (!running(s) && session_save(dir_of(s), a->save, err) != -ENOENT)
		return err->code;
	*err = (struct error){ 0 };
	return ask_any(s, "save", a->save, NULL, err);
}

/* ---- status ---- */

static const char *opcontrol_text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* ":100000:0:1:1" of the settings' event of the name; "" if they have none. */
static const char *count_of(const struct settings *s, const char *name)
{
	size_t n = strlen(name);
	const char *at = s->events ? strstr(s->events, name) : NULL;
	static char count[64];

	if (!at || at[n] != ':')
		return "";
	snprintf(count, sizeof(count), "%.*s", (int)strcspn(at + n, ","), at + n);
	return count;
}

static void opcontrol_print_events(const struct settings *s, const json_t *reply)
{
	const json_t *events = json_object_get(reply, "events"), *event;
	size_t i;

	if (!events)
		printf("Events: %s\n", s->events ? s->events : "default");
	json_array_foreach(events, i, event)
		printf("Event %zu: %s%s\n", i, json_string_value(event),
		       count_of(s, json_string_value(event)));
	if (reply)
		printf("Rate: %" JSON_INTEGER_FORMAT " samples a second on each processor, if no "
		       "count is given\n",
		       json_integer_value(json_object_get(reply, "wanted_hz")));
}

static void opcontrol_print_counts(const json_t *reply)
{
	const char *const shown[][2] = { { "Samples", "samples" },
					 { "Samples lost", "lost" },
					 { "Samples not attributed", "unattributed" } };

	for (size_t i = 0; reply && i < ARRAY_SIZE(shown); i++)
		printf("%s: %" JSON_INTEGER_FORMAT "\n", shown[i][0],
		       json_integer_value(json_object_get(reply, shown[i][1])));
}

static int status(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	json_t *reply = NULL;
	int r = ask_any(s, "status", NULL, &reply, err);

	(void)a;
	/* That none runs is an answer, too. */
	if (r < 0 && r != -ESRCH)
		return r;
	if (reply)
		printf("Daemon %s: pid %" JSON_INTEGER_FORMAT "\n",
		       json_is_true(json_object_get(reply, "counting")) ? "running" : "paused",
		       json_integer_value(json_object_get(reply, "pid")));
	else
		printf("Daemon not running\n");
	printf("Session-dir: %s\n", reply ? opcontrol_text_of(reply, "session_dir") : dir_of(s));
	opcontrol_print_events(s, reply);
	printf("Separate options: %s\nvmlinux file: none\nImage filter: none\nCall-graph depth: "
	       "%s\n",
	       s->separate ? s->separate : "none", s->callgraph ? s->callgraph : "0");
	opcontrol_print_counts(reply);
	json_decref(reply);
	return 0;
}

static int opcontrol_nothing(const struct opcontrol_args *a, struct settings *s, struct error *err)
{
	(void)a, (void)s, (void)err;
	return 0;
}

static int opcontrol_list_events(const struct opcontrol_args *a, struct settings *s,
				 struct error *err)
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
	{ FIELD(init), "--init", opcontrol_nothing },
	{ FIELD(setup), "--setup", opcontrol_nothing },
	{ FIELD(status), "--status", status },
	{ FIELD(start_daemon), "--start-daemon", start_daemon },
	{ FIELD(opcontrol_start), "--start", opcontrol_start },
	{ FIELD(opcontrol_dump), "--dump", opcontrol_dump },
	{ FIELD(stop), "--stop", stop },
	{ FIELD(shutdown), "--shutdown", shutdown },
	{ FIELD(reset), "--reset", reset },
	{ FIELD(deinit), "--deinit", shutdown },
	{ FIELD(list), "--list-events", opcontrol_list_events },
};

static int opcontrol_act(const struct opcontrol_args *a, struct settings *s, struct error *err)
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
			log_info("the settings hold from the daemon's next start on");
	}
	if (a->save)
		return opcontrol_save(a, s, err);
	return chosen < ARRAY_SIZE(actions) ? actions[chosen].act(a, s, err) : 0;
}

static int opcontrol_run(const struct command *self, int argc, char **argv)
{
	struct opcontrol_args args = { .compat.oprofile = "0.9.9" };
	struct option_list operands = { 0 };
	struct settings settings = { 0 };
	struct error err = { 0 };
	int code = compat_begin(self, false, argc, argv, &args, &operands), r = 0;

	if (code < 0) {
		compat_tell_obsolete(obsolete, &args);
		read_settings(&settings);
		if (operands.n)
			r = error_set(&err, -EINVAL, "'%s' is no option", operands.data[0]);
		r = r < 0 ? r : opcontrol_take_settings(&args, &settings, &err);
		r = r < 0 ? r : opcontrol_act(&args, &settings, &err);
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
	  "_~/.oprofile/daemonrc_ has the settings. _SESSION-DIR_ has the files of "
	  "*assay-daemon*(1): "
	  "_lock_ has the daemon's process, _control_ is its socket, and _log_ has its messages. "
	  "*opreport* and *assay report* read its history in _samples/current_." },
	{ "DIFFERENCES",
	  "There is no driver and nothing to set up before *--start*. Settings that are given "
	  "while "
	  "the daemon runs hold from its next start on. Samples are a history of "
	  "*assay-daemon*(1), or with *--store=oprofile* sample files, which the original opreport "
	  "reads, too. What is in _samples/current_ at the start and is of the other kind becomes "
	  "session _previous_. Where no daemon runs in the usual directory, *--dump*, *--status* "
	  "and "
	  "*--save* "
	  "ask the only daemon that runs, on the machine or below the working directory." },
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
		"*assay daemon* and *assay ctl*.",
	.options = OPTIONS(opcontrol_options),
	.sections = opcontrol_sections,
	.examples = opcontrol_examples,
	.run = opcontrol_run,
};
