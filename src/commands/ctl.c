/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay ctl: asks a daemon (daemon/requests.def), and shows its answer. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/output.h"
#include "daemon/daemon_config.h"
#include "daemon/request.h"
#include "event/loss.h"
#include "open/client.h"

struct ctl_args {
	const char *dir, *format;
	double patience_s;
};

#define FIELD(f) offsetof(struct ctl_args, f)
static const struct option_spec ctl_options[] = {
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(dir), NULL, "of the daemon to ask",
	  "Default: _" DAEMON_DIR
	  "_. If no daemon runs there, assay asks the only daemon that runs, or the only one "
	  "below the working directory." },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text",
	  "text, or json (the daemon's answer, unchanged)", .choices = "text|json" },
	{ 0, "timeout", "TIME", OPT_SECONDS, FIELD(patience_s), "10s",
	  "wait this long for the answer", NULL, 0.001, 1e6 },
};

/* ---- what an answer has ---- */

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

static double json_number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void put_text(struct buf *out, const char *text)
{
	utf8_append_visible(out, text);
}

/* 12,345,678 */
static void put_count(struct buf *out, double n)
{
	char digits[32];
	int len = snprintf(digits, sizeof(digits), "%.0f", n);

	for (int i = 0; i < len; i++)
		buf_printf(out, "%s%c", i && (len - i) % 3 == 0 ? "," : "", digits[i]);
}

static void put_bytes(struct buf *out, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t u = 0;

	for (; bytes >= 999.5 && u + 1 < ARRAY_SIZE(units); u++)
		bytes /= 1024;
	buf_printf(out, u ? "%.3g %s" : "%.0f %s", bytes, units[u]);
}

static void put_duration(struct buf *out, double s)
{
	if (s < 100)
		buf_printf(out, "%.0f s", s);
	else if (s < 100 * 60)
		buf_printf(out, "%.0f min", s / 60);
	else if (s < 100 * 3600)
		buf_printf(out, "%.0f h %.0f min", (double)(int64_t)(s / 3600),
			   (double)((int64_t)(s / 60) % 60));
	else
		buf_printf(out, "%.1f days", s / 86400);
}

/* "2026-11-21T21:05:00Z" for people. */
static void put_time(struct buf *out, const char *text)
{
	if (strlen(text) == 20)
		buf_printf(out, "%.10s %.8s UTC", text, text + 11);
	else
		buf_str(out, "not known");
}

/* ---- status ---- */

static void put_label(struct buf *out, const char *label)
{
	buf_printf(out, "%-12s", label);
}

static void put_events(struct buf *out, const json_t *o)
{
	const json_t *events = json_object_get(o, "events"), *event;
	double rate = json_number(o, "rate_hz"), wanted = json_number(o, "wanted_hz");
	size_t i;

	put_label(out, "events");
	json_array_foreach(events, i, event)
	{
		buf_str(out, i ? ", " : "");
		put_text(out, json_string_value(event) ? json_string_value(event) : "");
	}
	if (rate > 0)
		buf_printf(out, " at %.0f Hz on each CPU", rate);
	if (rate > 0 && rate < wanted)
		buf_printf(out, " (%.0f Hz were requested)", wanted);
	buf_u8(out, '\n');
	if (*text_of(o, "note")) {
		put_label(out, "");
		put_text(out, text_of(o, "note"));
		buf_u8(out, '\n');
	}
}

static void put_losses(struct buf *out, const json_t *o, const char *family)
{
	const json_t *losses = json_object_get(o, family);

	for (int i = 0; i < N_LOSS_REASONS; i++) {
		double n = json_number(losses, loss_texts[i].key);

		if (n <= 0)
			continue;
		put_label(out, "");
		put_count(out, n);
		buf_printf(out, "  %s\n", loss_texts[i].text);
	}
}

static void put_samples(struct buf *out, const json_t *o)
{
	size_t n_cpus = json_array_size(json_object_get(o, "cpu_samples"));

	put_label(out, "samples");
	put_count(out, json_number(o, "samples"));
	buf_printf(out, " on %zu CPU%s; ", n_cpus, n_cpus == 1 ? "" : "s");
	put_count(out, json_number(o, "lost"));
	buf_str(out, " lost, ");
	put_count(out, json_number(o, "unattributed"));
	buf_str(out, " not attributed\n");
	put_losses(out, o, "lost_by_reason");
	put_losses(out, o, "unattributed_by_reason");
	put_losses(out, o, "notes");
}

static void put_cost(struct buf *out, const json_t *o)
{
	double max_cpu = json_number(o, "max_cpu_percent"),
	       max = json_number(o, "max_memory_bytes");

	put_label(out, "cost");
	buf_printf(out, "%.2f %% of a CPU", json_number(o, "cpu_percent"));
	if (max_cpu > 0)
		buf_printf(out, " (at most %g %%)", max_cpu);
	buf_str(out, ", ");
	put_bytes(out, json_number(o, "memory_bytes"));
	if (max > 0) {
		buf_str(out, " (at most ");
		put_bytes(out, max);
		buf_u8(out, ')');
	}
	buf_printf(out, "; %.1f s of CPU time\n", json_number(o, "cpu_s"));
}

static void put_rights(struct buf *out, const json_t *o)
{
	const json_t *rights = json_object_get(o, "rights");
	double landlock = json_number(rights, "landlock");

	if (!rights) /* an older daemon */
		return;
	put_label(out, "rights");
	buf_str(out, "user ");
	if (*text_of(rights, "user"))
		put_text(out, text_of(rights, "user"));
	else
		buf_printf(out, "%.0f", json_number(rights, "uid"));
	buf_str(out, json_is_true(json_object_get(rights, "seccomp"))
			     ? "; system calls filtered (seccomp); "
			     : "; no filter of system calls; ");
	if (landlock > 0)
		buf_printf(out, "files fenced (Landlock %.0f)\n", landlock);
	else
		buf_str(out, "no fence around files (Landlock)\n");
}

static void put_helper(struct buf *out, const json_t *helpers, const char *name)
{
	double pid = json_number(json_object_get(helpers, name), "pid");

	if (pid > 0)
		buf_printf(out, "%s %.0f, ", name, pid);
	else
		buf_printf(out, "no %s, ", name);
}

static void put_helpers(struct buf *out, const json_t *o)
{
	const json_t *helpers = json_object_get(o, "helpers"),
		     *parsers = json_object_get(helpers, "parsers");
	double died = json_number(helpers, "openers_died");

	if (!helpers)
		return;
	put_label(out, "helpers");
	put_helper(out, helpers, "keeper");
	put_helper(out, helpers, "opener");
	if (died > 0)
		buf_printf(out, "%.0f openers died, ", died);
	buf_printf(out, "parsers %.0f (%.0f started, %.0f died)", json_number(parsers, "running"),
		   json_number(parsers, "started"), json_number(parsers, "died"));
	if (json_number(helpers, "upkeep_pid") > 0)
		buf_printf(out, ", upkeep %.0f", json_number(helpers, "upkeep_pid"));
	buf_printf(out, "; %.1f s of CPU time, ", json_number(o, "helpers_cpu_s"));
	put_bytes(out, json_number(o, "helpers_memory_bytes"));
	buf_u8(out, '\n');
}

static void put_disk(struct buf *out, const json_t *o)
{
	double bytes = json_number(o, "keep_bytes"), age_s = json_number(o, "keep_age_s");

	put_label(out, "disk");
	put_bytes(out, json_number(o, "disk_bytes"));
	if (*text_of(o, "oldest")) { /* sample files have no times */
		buf_str(out, ", current samples since ");
		put_time(out, text_of(o, "oldest"));
	}
	if (bytes > 0 || age_s > 0)
		buf_str(out, "; kept for ");
	if (age_s > 0)
		put_duration(out, age_s);
	if (bytes > 0) {
		buf_str(out, age_s > 0 ? ", up to " : "up to ");
		put_bytes(out, bytes);
	}
	buf_u8(out, '\n');
	if (*text_of(o, "write_error")) {
		put_label(out, "");
		buf_str(out, "nothing is written just now: ");
		put_text(out, text_of(o, "write_error"));
		buf_u8(out, '\n');
	}
}

static void put_ship(struct buf *out, const json_t *o)
{
	double backlog = json_number(o, "ship_backlog"), refused = json_number(o, "ship_refused"),
	       expired = json_number(o, "ship_expired"), failures = json_number(o, "ship_failures");

	if (!*text_of(o, "ship_round")) /* none runs, or the daemon is older */
		return;
	put_label(out, "ship");
	put_count(out, backlog);
	buf_printf(out, " %s; last success ",
		   plural((uint64_t)backlog, "block waits", "blocks wait"));
	put_time(out, text_of(o, "ship_success"));
	if (failures > 0)
		buf_printf(out, ", %.0f failed round%s since", failures,
			   plural_s((uint64_t)failures));
	buf_str(out, "; ");
	put_count(out, refused);
	buf_printf(out, " block%s refused, ", plural_s((uint64_t)refused));
	put_count(out, expired);
	buf_printf(out, " sample%s expired\n", plural_s((uint64_t)expired));
}

static void show_status(struct buf *out, const json_t *o)
{
	put_label(out, "daemon");
	put_text(out, text_of(o, "version"));
	buf_printf(out, ", process %.0f, since ", json_number(o, "pid"));
	put_time(out, text_of(o, "since"));
	buf_str(out, " (");
	put_duration(out, json_number(o, "uptime_s"));
	buf_printf(out, "); %s\n",
		   json_is_true(json_object_get(o, "counting")) ? "counting" : "stopped");
	put_label(out, "session");
	put_text(out, text_of(o, "session_dir"));
	buf_u8(out, '\n');
	put_events(out, o);
	put_label(out, "stacks");
	put_text(out, text_of(o, "stacks"));
	buf_str(out, ", by ");
	put_text(out, text_of(o, "collector"));
	buf_u8(out, '\n');
	put_samples(out, o);
	put_cost(out, o);
	put_rights(out, o);
	put_helpers(out, o);
	put_disk(out, o);
	put_ship(out, o);
}

/* ---- the others ---- */

static void show_list(struct buf *out, const json_t *o)
{
	const json_t *list = json_object_get(o, "sessions"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		struct buf size = { 0 };

		put_bytes(&size, json_number(one, "size_bytes"));
		if (!strcmp(text_of(one, "store"), "oprofile"))
			buf_printf(out, "%10s sample files  ", buf_cstr(&size));
		else
			buf_printf(out, "%10s %6.0f %s  ", buf_cstr(&size),
				   json_number(one, "parts"),
				   json_number(one, "parts") == 1 ? "part " : "parts");
		put_text(out, text_of(one, "name"));
		buf_u8(out, '\n');
		buf_fini(&size);
	}
}

static void show_metrics(struct buf *out, const json_t *o)
{
	buf_str(out, text_of(o, "text"));
}

/* { "features": [ { "name": …, statistics… } ] } */
static void show_features(struct buf *out, const json_t *o)
{
	const json_t *list = json_object_get(o, "features"), *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		const char *key;
		json_t *value;

		put_text(out, text_of(one, "name"));
		buf_u8(out, '\n');
		json_object_foreach((json_t *)(uintptr_t)one, key, value)
		{
			if (!json_is_number(value))
				continue;
			buf_printf(out, "  %-32s ", key);
			put_count(out, json_number_value(value));
			buf_u8(out, '\n');
		}
	}
}

/* The others have nothing to say but that it went well. */
static void show_record(struct buf *out, const json_t *o)
{
	buf_printf(out, "assay report --since @%.0f --until @%.0f ",
		   json_number(o, "since_seconds"), json_number(o, "until_seconds"));
	put_text(out, text_of(o, "filter"));
	buf_u8(out, '\n');
}

static const struct {
	enum request_id request;
	void (*show)(struct buf *out, const json_t *reply);
} views[] = {
	{ REQUEST_status, show_status },   { REQUEST_list, show_list },
	{ REQUEST_metrics, show_metrics }, { REQUEST_features, show_features },
	{ REQUEST_record, show_record },
};

static void ctl_show(const struct request_row *row, const json_t *reply, bool as_json,
		     struct buf *out)
{
	if (as_json) {
		cleanup(free_at_exit) char *text =
			json_dumps(reply, JSON_INDENT(1) | JSON_REAL_PRECISION(8));

		buf_printf(out, "%s\n", text);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(views); i++)
		if (row == &request_rows[views[i].request])
			views[i].show(out, reply);
}

/* ---- the command ---- */

static int ctl_ask(const struct ctl_args *args, const struct request_row *row, json_t *request)
{
	cleanup(free_at_exit) char *dir = NULL;
	struct error err = { 0 };
	struct buf out = { 0 };
	json_t *reply = NULL;
	int r = client_choose_dir(args->dir, DAEMON_DIR, &dir, &err);

	if (r >= 0 && row->effect == REQUEST_CHANGES && !args->dir && strcmp(dir, DAEMON_DIR))
		log_info("%s: the daemon of '%s'", row->name, dir);
	r = r < 0 ? r : client_ask(dir, request, args->patience_s, &reply, &err);
	if (r >= 0) {
		ctl_show(row, reply, !strcmp(args->format, "json"), &out);
		r = out.len ? output_whole("-", out.data, out.len, &err) : 0;
	}
	if (r < 0)
		log_error("ctl: %s", err.text);
	json_decref(reply);
	buf_fini(&out);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int ctl_parse(const struct option_list *words, const struct request_row **row,
		     json_t **request, struct error *err)
{
	if (!words->n)
		return error_set(err, -EINVAL, "no request is named; try 'assay ctl status'");
	*row = request_find(words->data[0]);
	if (!*row)
		return error_set(err, -EINVAL,
				 "there is no request '%s'; 'assay ctl --help' "
				 "lists all",
				 words->data[0]);
	return request_from_words(*row, words->data + 1, words->n - 1, request, err);
}

static int ctl_run(const struct command *self, int argc, char **argv)
{
	const struct request_row *row = NULL;
	struct option_list words = { 0 };
	struct error err = { 0 };
	struct ctl_args args = { 0 };
	json_t *request = NULL;
	int status = command_begin(self, false, argc, argv, &args, &words);

	if (status < 0 && ctl_parse(&words, &row, &request, &err) < 0) {
		log_error("ctl: %s", err.text);
		fprintf(stderr, "Try 'assay ctl --help'.\n");
		status = EXIT_USAGE;
	}
	if (status < 0)
		status = ctl_ask(&args, row, request);
	json_decref(request);
	option_list_fini(&words);
	return status;
}

static const struct command_word ctl_words[] = {
#define REQUEST(name, changes, words, help, ...) { #name, words, help },
#include "daemon/requests.def"
#undef REQUEST
	{ NULL, NULL, NULL },
};

static const struct command_section ctl_sections[] = {
	{ "EXIT STATUS",
	  "0; 1 if no daemon runs, or if it refuses or does not answer; 2 for wrong usage." },
	{ "FILES", "_DIR_/control is the daemon's socket. It belongs to root and to the group "
		   "*assay*, if this group exists. The members of the group may send all "
		   "requests." },
	{ NULL, NULL },
};

static const struct command_example ctl_examples[] = {
	{ "assay ctl status", "when the daemon started, and its cost" },
	{ "assay ctl save before", "keep the samples so far, and begin anew" },
	{ "assay ctl set rate=199", "look more closely from now on" },
	{ "assay ctl record pid:4711 10 rate=499", "look more closely for ten seconds" },
	{ "assay ctl dump && assay report --session-dir /var/lib/assay",
	  "include this second in the report" },
	{ "assay ctl metrics >/var/lib/prometheus/node-exporter/assay.prom",
	  "statistics for Prometheus" },
	{ NULL, NULL },
};

const struct command ctl_command = {
	.name = "ctl",
	.summary = "ask the daemon: status, dump, save, start, stop and more",
	.synopsis = "[OPTIONS] WHAT [ARGUMENT…]",
	.description = "Sends one request to the daemon of a session directory "
		       "(*assay-daemon*(1)), and waits for the answer.",
	.options = OPTIONS(ctl_options),
	.words = ctl_words,
	.sections = ctl_sections,
	.examples = ctl_examples,
	.run = ctl_run,
};
