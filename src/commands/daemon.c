/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "commands/event_help.h"
#include "config.h"
#include "counter/counter.h"
#include "daemon/metrics_http.h"
#include "pipeline/ext.h"
#include "store/separation_words.h"
#include "store/store.h"

#define CONFIG_FILE      "/etc/assay/daemon.conf"
#define CONFIG_MAX_BYTES (1 << 20)

struct daemon_args {
	const char *dir, *config, *collector, *call_graph, *metrics_listen, *separate, *oprofilefs;
	const char *store;
	struct option_list events, features;
	uint64_t freq_hz, max_bytes, keep_bytes;
	double max_cpu_percent, keep_age_s, exact_age_s, off_cpu_min_s;
	bool exact_time, detach, paused, quiet, off_cpu, allow_record, fleet_rate;
	int verbose;
};

#define FIELD(f) offsetof(struct daemon_args, f)
static const struct option_spec daemon_options[] = {
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(dir), DAEMON_DIR,
	  "the directory of the history and of the daemon's socket" },
	{ 'F', "freq", "HZ", OPT_U64, FIELD(freq_hz), "49", "samples per second on each CPU", NULL,
	  1, 100000 },
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "events to count, as for assay record; may be given several times",
	  "Default: hardware cycles, or the cpu-clock timer if there are no counters." },
	{ 0, "ext-feature", "NAME:ARGS", OPT_LIST, FIELD(features), NULL,
	  "count events of an extended feature; may be given several times",
	  "ibs:fetch:EVENT,…:COUNT:MASK|op:EVENT,…:COUNT:MASK is AMD's instruction-based sampling: "
	  "the same as an *--event* EVENT:COUNT:MASK for each." },
	{ 0, "collector", "HOW", OPT_CHOICE, FIELD(collector), "best",
	  "how samples are collected: bpf (counted in the kernel), perf (rings), or the best that "
	  "is permitted",
	  NULL, 0, 0, "best|bpf|perf" },
	{ 0, "call-graph", "HOW", OPT_CHOICE, FIELD(call_graph), "best",
	  "call chains: best (as the machine allows) or none", NULL, 0, 0, "best|none" },
	{ 0, "off-cpu", NULL, OPT_FLAG, FIELD(off_cpu), NULL,
	  "also measure how long threads wait, by stack and by state",
	  "The events are those of *assay record --off-cpu*. Stacks of waits may take half of "
	  "*--max-cpu*, first those of threads whose last wait was long. Other waits count "
	  "without a stack, as *waits-bare*. It needs BPF, and the store *native*." },
	{ 0, "off-cpu-min", "TIME", OPT_SECONDS, FIELD(off_cpu_min_s), "10ms",
	  "with --off-cpu: the shortest wait that counts", NULL, 0.001, 1e6 },
	{ 0, "store", "KIND", OPT_STRING, FIELD(store), "native",
	  "what keeps the samples: native (a history), or oprofile (sample files in "
	  "samples/current)",
	  "Sample files have no times: they go on until *reset* or *save*, and retention does not "
	  "concern them. opreport, also the original, reads them while the daemon runs." },
	{ 0, "separate", "LIST", OPT_STRING, FIELD(separate), NULL,
	  "keep samples apart by these: none, or a list of "
	  "lib,kernel,process,thread,cpu,cgroup,all",
	  "Default: kernel,process,cgroup; of sample files lib,kernel. Threads and CPUs of a day "
	  "would be most of the stored data." },
	{ 0, "max-cpu", "PERCENT", OPT_DOUBLE, FIELD(max_cpu_percent), "2",
	  "the share of one CPU that the daemon may use (0: no limit)",
	  "The daemon measures itself. Near this limit, it lowers the rate, and raises it again "
	  "when there is room. The log and the profile have each change.",
	  0, 10000 },
	{ 0, "max-memory", "SIZE", OPT_SIZE, FIELD(max_bytes), "150M",
	  "resident memory that the daemon may use (0: no limit)",
	  "Near this limit, counting begins anew with empty tables. If this is not enough, the "
	  "rate goes down." },
	{ 0, "keep-age", "TIME", OPT_SECONDS, FIELD(keep_age_s), "4w",
	  "keep the history for this time: 12h, 7d, 4w (0: for ever)", NULL, 0, 1e10 },
	{ 0, "keep-size", "SIZE", OPT_SIZE, FIELD(keep_bytes), "1G",
	  "keep at most so much history on the disk (0: no limit)",
	  "Of sample files, the present session becomes *earlier* at two fifths of it." },
	{ 0, "exact-time", NULL, OPT_FLAG, FIELD(exact_time), NULL,
	  "keep the time of each sample, not only its second",
	  "A time takes some 3 bytes. It stays until *retain* merges the seconds to minutes." },
	{ 0, "exact-time-age", "TIME", OPT_SECONDS, FIELD(exact_age_s), NULL,
	  "the same, but parts older than TIME lose these times", NULL, 1, 1e10 },
	{ 0, "fleet-rate", NULL, OPT_FLAG, FIELD(fleet_rate), NULL,
	  "sample less often if the fleet asks for it (assay fleet rate)",
	  "The gateway of *assay ship* can only lower the rate, and not below 1." },
	{ 0, "allow-record", NULL, OPT_FLAG, FIELD(allow_record), NULL,
	  "allow requests to sample more often for some seconds",
	  "Everybody who may use the control socket can ask: *assay ctl record*, and the page of "
	  "*assay serve*. It takes at most 60 seconds at 999 samples a second, beyond *--max-cpu*. "
	  "The log has each request." },
	{ 0, "metrics-listen", "ADDRESS", OPT_STRING, FIELD(metrics_listen), NULL,
	  "serve metrics by HTTP at PORT, ADDRESS:PORT or [ADDRESS]:PORT",
	  "Without an address, it is 127.0.0.1 (loopback). Everybody who can reach another "
	  "address can read the metrics." },
	{ 0, "oprofilefs", "MOUNTPOINT", OPT_STRING, FIELD(oprofilefs), NULL,
	  "mount OProfile's file system there: controls, statistics, the event stream",
	  "If the mount fails, the daemon reports it and goes on without it." },
	{ 0, "config", "FILE", OPT_STRING, FIELD(config), NULL,
	  "read settings from FILE (default " CONFIG_FILE ")" },
	{ 0, "detach", NULL, OPT_FLAG, FIELD(detach), NULL,
	  "run in the background; messages go to DIR/log" },
	{ 0, "paused", NULL, OPT_FLAG, FIELD(paused), NULL,
	  "do not count until a request to start comes" },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
	{ 'v', "verbose", NULL, OPT_COUNT, FIELD(verbose), NULL, "print more about each step" },
};

static const struct option_table table = OPTIONS(daemon_options);

/* The command line, to be read again at each reload over what the file says then. */
struct command_line {
	int argc;
	char **argv;
	char *start_dir; /* the working directory of the start, which the daemon may leave */
	/* The options at the start, to report changes that a reload can't make. */
	struct daemon_args args;
	char *file_text; /* args point into it */
};

static char *absolute(const struct command_line *c, const char *path)
{
	return path[0] == '/' ? xstrdup(path)
			      : xasprintf("%s/%s", c->start_dir ? c->start_dir : "", path);
}

static int check_event(void *err, const char *event)
{
	static const struct counter_sources sources;
	const struct counter_rate rate = { .freq_hz = 1 };
	struct counters counters = { 0 };
	int r = counter_parse(&sources, event, &rate, &counters, err);

	counters_fini(&counters);
	return r;
}

static const struct store_ops *store_of(const struct daemon_args *args)
{
	for (const struct store_ops *const *s = store_kinds; *s; s++)
		if (!strcmp((*s)->name, args->store))
			return *s;
	return NULL;
}

static bool wants_exact_times(const struct daemon_args *args)
{
	return args->exact_time || args->exact_age_s > 0;
}

static int parse_separate(const struct daemon_args *args, uint32_t *merged, struct error *err)
{
	const struct store_ops *store = store_of(args);

	if (!store)
		return error_set(err, -EINVAL, "--store: there is no store '%s'", args->store);
	if (wants_exact_times(args) && store->leave)
		return error_set(
			err, -EINVAL,
			"--exact-time does not go with --store=%s: its files have no times",
			store->name);
	if (args->separate)
		return separation_parse(args->separate, merged, err);
	return separation_parse(store->leave ? "lib,kernel" : "kernel,process,cgroup", merged, err);
}

/* Waits need a store with events, and BPF. */
static int check_waits(const struct daemon_args *args, struct error *err)
{
	if (args->off_cpu && store_of(args) && store_of(args)->leave)
		return error_set(err, -EINVAL,
				 "--off-cpu: sample files have no waits; use --store=native");
	if (args->off_cpu && !strcmp(args->collector, "perf"))
		return error_set(err, -EINVAL,
				 "--off-cpu needs BPF: it does not go with --collector=perf");
	return 0;
}

/* Checks values beyond the kinds of options. */
static int check_values(const struct daemon_args *args, struct error *err)
{
	uint32_t merged;
	int r = parse_separate(args, &merged, err);

	if (r >= 0 && !*args->dir)
		r = error_set(err, -EINVAL, "--session-dir: it has no name");
	if (r >= 0)
		r = check_waits(args, err);
	if (r >= 0 && args->metrics_listen)
		r = metrics_http_check(args->metrics_listen, err);
	for (size_t i = 0; i < args->events.n && r >= 0; i++)
		r = check_event(err, args->events.data[i]);
	for (size_t i = 0; i < args->features.n && r >= 0; i++)
		r = ext_init(args->features.data[i], check_event, err, err);
	return r;
}

/* Settings of a file: "NAME = value" lines, of the long options. *text is the caller's to free().
 */
static int read_config(const struct command_line *c, const char *path, struct daemon_args *args,
		       char **text, struct error *err)
{
	const char *name = path ? path : CONFIG_FILE;
	cleanup(free_at_exit) char *place = absolute(c, name);
	unsigned number = 0;
	size_t size;
	int r = file_read_all(place, CONFIG_MAX_BYTES, text, &size);

	if (r == -ENOENT && !path)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", name);
	if (strlen(*text) != size)
		return error_set(err, -EINVAL, "%s is not a text", name);
	for (char *line = *text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		r = options_parse_line(&table, line, args, err);
		if (!r && args->config)
			r = error_set(err, -EINVAL, "a file of settings cannot name another one");
		if (r >= 0)
			r = check_values(args, err);
		if (r < 0)
			return error_wrap(err, r, "%s:%u", name, number);
	}
	return 0;
}

static void free_lists(struct daemon_args *args)
{
	option_list_fini(&args->events);
	option_list_fini(&args->features);
}

/* Defaults, then the file, then the command line. Events of the latter are instead of the file's.
 */
static int read_all(const struct command_line *c, struct daemon_args *args, char **text,
		    struct error *err)
{
	struct option_list operands = { 0 };
	struct daemon_args given = { 0 };
	int r;

	options_parse_given(&table, false, c->argc, c->argv, &given, &operands, NULL);
	r = options_set_defaults(&table, args, err);
	if (!r)
		r = read_config(c, given.config, args, text, err);
	if (!r && (given.events.n || given.features.n))
		args->events.n = args->features.n = 0;
	if (!r)
		r = options_parse_given(&table, false, c->argc, c->argv, args, &operands, err);
	free_lists(&given);
	option_list_fini(&operands);
	return r;
}

static void copy_settings(const struct daemon_args *args, struct daemon_settings *out)
{
	*out = (struct daemon_settings){
		.freq_hz = args->freq_hz,
		.max_cpu_percent = args->max_cpu_percent,
		.max_bytes = args->max_bytes,
		.keep_age_s = args->keep_age_s,
		.keep_bytes = args->keep_bytes,
		.has_exact_times = wants_exact_times(args),
		.exact_age_s = args->exact_age_s,
		.allows_record = args->allow_record,
		.follows_fleet = args->fleet_rate,
	};
	vec_foreach (&args->events, event)
		vec_push(&out->events, xstrdup(*event));
}

static int add_event(void *context, const char *event)
{
	struct daemon_settings *s = context;

	vec_push(&s->events, xstrdup(event));
	return 0;
}

static int add_features(const struct daemon_args *args, struct daemon_settings *out,
			struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < args->features.n && r >= 0; i++)
		r = ext_init(args->features.data[i], add_event, out, err);
	return r;
}

/*
 * Reports changed options that wait for a new start: all texts, such as the directory and the
 * collector.
 */
static void tell_what_waits(const struct daemon_args *before, const struct daemon_args *now)
{
	for (size_t i = 0; i < ARRAY_SIZE(daemon_options); i++) {
		const struct option_spec *row = &daemon_options[i];
		const char *old, *new;

		if (row->kind != OPT_STRING && row->kind != OPT_CHOICE)
			continue;
		old = *(const char *const *)((const char *)before + row->field);
		new = *(const char *const *)((const char *)now + row->field);
		if (strcmp(old ? old : "", new ? new : "") != 0)
			log_warning("%s: '%s' holds from the daemon's next start on", row->name,
				    new ? new : "");
	}
}

static int load(void *context, struct daemon_settings *out, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	struct daemon_settings settings = { 0 };
	struct daemon_args args = { 0 };
	int r = read_all(context, &args, &text, err);

	if (!r) {
		copy_settings(&args, &settings);
		r = add_features(&args, &settings, err);
	}
	if (!r) {
		tell_what_waits(&((const struct command_line *)context)->args, &args);
		*out = settings;
	} else {
		daemon_settings_fini(&settings);
	}
	free_lists(&args);
	return r;
}

static enum daemon_collector collector_of(const char *word)
{
	return !strcmp(word, "bpf")    ? COLLECT_BPF
	       : !strcmp(word, "perf") ? COLLECT_PERF
				       : COLLECT_BEST;
}

static int run(struct command_line *c, uint32_t merged)
{
	const struct daemon_args *args = &c->args;
	cleanup(free_at_exit) char *dir = absolute(c, args->dir);
	cleanup(free_at_exit) char *fs = args->oprofilefs ? absolute(c, args->oprofilefs) : NULL;
	struct daemon_config config = {
		.dir = dir,
		.version = ASSAY_VERSION,
		.collector = collector_of(args->collector),
		.store = store_of(args),
		.with_stacks = strcmp(args->call_graph, "none") != 0,
		.off_cpu = args->off_cpu,
		.off_cpu_min_ns = (uint64_t)(args->off_cpu_min_s * 1e9),
		.merged = merged,
		.detach = args->detach,
		.starts_disabled = args->paused,
		.metrics_listen = args->metrics_listen,
		.oprofilefs = fs,
		.load = load,
		.context = c,
	};
	struct error err = { 0 };

	if (args->quiet || args->verbose)
		log_set_level(args->quiet ? LOG_QUIET : LOG_VERBOSE);
	if (daemon_run(&config, &err) >= 0)
		return EXIT_OK;
	log_error("daemon: %s", err.text);
	return EXIT_FAILED;
}

static int daemon_command_run(const struct command *self, int argc, char **argv)
{
	struct command_line c = { .argc = argc, .argv = argv, .start_dir = getcwd(NULL, 0) };
	uint32_t merged = 0;
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &c.args, &operands);

	free_lists(&c.args);
	if (status < 0 && operands.n) {
		log_error("daemon: '%s' is one argument too many", operands.data[0]);
		status = EXIT_USAGE;
	}
	if (status < 0) {
		c.args = (struct daemon_args){ 0 };
		if (read_all(&c, &c.args, &c.file_text, &err) < 0) {
			log_error("daemon: %s", err.text);
			status = EXIT_FAILED;
		}
	}
	if (status < 0 && !*c.args.dir) {
		log_error("daemon: --session-dir needs a name");
		status = EXIT_USAGE;
	}
	if (status < 0 &&
	    (parse_separate(&c.args, &merged, &err) < 0 || check_waits(&c.args, &err) < 0)) {
		log_error("daemon: %s", err.text);
		status = EXIT_USAGE;
	}
	if (status < 0)
		status = run(&c, merged);
	free_lists(&c.args);
	option_list_fini(&operands);
	free(c.file_text);
	free(c.start_dir);
	return status;
}

static const struct command_example daemon_examples[] = {
	{ "assay daemon --session-dir d.assay", "collect into your own directory until Ctrl-C" },
	{ "assay daemon --detach", "collect in the background, into " DAEMON_DIR },
	{ "systemctl enable --now assay", "collect always, as a service" },
	{ "assay report --session-dir " DAEMON_DIR, "what the machine did" },
	{ NULL, NULL },
};

static const struct command_section daemon_sections[] = {
	{ "SETTINGS", "Each option except *--config* may be in " CONFIG_FILE
		      ", one on a line: its long name, *=* and the value. An option without a "
		      "value has *yes* or *no*. Text behind a *#* is a comment. The command line "
		      "overrides the file, and the file overrides the defaults. A wrong line is an "
		      "error with its number; at a reload, the old settings then stay." },
	{ "SIGNALS",
	  "SIGTERM and SIGINT end the daemon, and its history is whole. SIGHUP reads the "
	  "settings again, opens the log's file anew, and begins a new part. SIGUSR1 writes "
	  "statistics to the log, as happens every ten minutes and at the end. After SIGKILL, "
	  "only the last second is missing." },
	EVENTS_SECTION,
	{ "FILES", "_DIR_/samples/current is the present history, and _DIR_/samples/_NAME_ a "
		   "saved one. _DIR_/lock has the process id of the daemon, and _DIR_/log its "
		   "messages from the background." },
	{ "EXIT STATUS", "0 if it was asked to end, 1 if it can't collect, 2 for wrong usage." },
	{ NULL, NULL },
};

const struct command daemon_command = {
	.name = "daemon",
	.summary = "profile the whole machine always, within a budget",
	.synopsis = "[OPTIONS]",
	.description =
		"Samples the whole machine until you end it, and keeps a history to the "
		"second. Every command that reads a session can read this history, also while "
		"it is written. It needs what *assay record -a* needs, and gives up every "
		"other privilege before it begins. If root starts it and there is a user "
		"*assay*, it becomes this user. Each daemon needs its own directory.",
	.options = OPTIONS(daemon_options),
	.common = "session-dir,F,e,max-cpu,keep-age",
	.sections = daemon_sections,
	.examples = daemon_examples,
	.run = daemon_command_run,
};
