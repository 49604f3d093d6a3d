/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay info: what is in a session. The facts are gathered once, as JSON or text. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "open/input.h"
#include "store/row_reader.h"
#include "store/session.h"

struct info_args {
	const char *input, *format;
};

#define FIELD(f) offsetof(struct info_args, f)
static const struct option_spec info_options[] = {
	{ 'i', "input", "DIR", OPT_STRING, FIELD(input), NULL,
	  "session, or perf.data file, to describe", "Default: *./assay.data*, or the operand." },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text or json",
	  .choices = "text|json" },
};

struct facts {
	const struct session *session;
	uint64_t *samples, *period; /* by counter */
	uint64_t all_samples, losses[N_LOSS_REASONS];
	uint64_t first_ns, last_ns; /* of the samples; 0 if there are none */
	uint64_t n_blocks, n_nodes, n_symbols, n_classes, n_unreadable;
	struct intmap processes, threads, cpus; /* sets: only their size is of interest */
	struct image_table *images;
};

static void gather_rows(struct facts *f, const struct segment *seg, struct count_rows *rows)
{
	for (uint32_t b = 0; b < seg->n_blocks; b++) {
		rows->n = 0;
		if (segment_read_rows(seg, b, rows, NULL) < 0) {
			f->n_unreadable++;
			f->losses[LOSS_DAMAGED] += seg->blocks[b].samples;
		}
		for (size_t i = 0; i < rows->n; i++) {
			const struct count_row *row = &rows->data[i];
			uint32_t counter = seg->classes[row->class].counter;

			if (!row->samples) /* an arc (machine/image.h) */
				continue;
			f->samples[counter] += row->samples;
			f->period[counter] += row->period;
			f->all_samples += row->samples;
		}
	}
}

static void gather_blocks(struct facts *f, const struct segment *seg)
{
	for (uint32_t b = 0; b < seg->n_blocks; b++) {
		const struct block *block = &seg->blocks[b];

		for (uint32_t i = 0; i < block->n_losses; i++)
			f->losses[block->losses[i].reason] += block->losses[i].n;
		if (!block->size_bytes) /* stands for a damaged part */
			continue;
		f->n_blocks++;
		if (!block->samples)
			continue;
		if (!f->first_ns || block->first_ns < f->first_ns)
			f->first_ns = block->first_ns;
		f->last_ns = MAX(f->last_ns, block->last_ns);
	}
}

static void gather_names(struct facts *f, const struct segment *seg)
{
	f->n_nodes += seg->n_nodes - 1; /* without the root */
	f->n_symbols += seg->n_symbols;
	f->n_classes += seg->n_classes;
	for (uint32_t i = 1; i < seg->n_images; i++)
		image_intern(f->images, &seg->images[i]);
	for (uint32_t i = 0; i < seg->n_classes; i++) {
		const struct profile_class *c = &seg->classes[i];

		intmap_put(&f->processes, (uint32_t)c->pid, NULL);
		intmap_put(&f->threads, (uint64_t)(uint32_t)c->pid << 32 | (uint32_t)c->tid, NULL);
		intmap_put(&f->cpus, c->cpu, NULL);
	}
}

static void facts_init(struct facts *f, const struct session *s)
{
	struct count_rows rows = { 0 };

	*f = (struct facts){ .session = s, .images = image_table_new() };
	f->samples = xcalloc(s->info.n_counters, sizeof(*f->samples));
	f->period = xcalloc(s->info.n_counters, sizeof(*f->period));
	for (uint32_t i = 0; i < s->n_segments; i++) {
		gather_rows(f, s->segments[i], &rows);
		gather_blocks(f, s->segments[i]);
		gather_names(f, s->segments[i]);
	}
	vec_fini(&rows);
}

static void facts_fini(struct facts *f)
{
	intmap_fini(&f->processes);
	intmap_fini(&f->threads);
	intmap_fini(&f->cpus);
	image_table_free(f->images);
	free(f->samples);
	free(f->period);
}

/* Up to the end, or to the last sample where there is none. */
static double duration_s(const struct facts *f)
{
	uint64_t end = f->session->has_end ? f->session->end.end_ns : f->last_ns;
	uint64_t start = f->session->info.start_ns;

	return end > start ? (double)(end - start) / (double)NS_PER_SECOND : 0;
}

/* In seconds since the session's start; samples of one moment earlier are possible. */
static double since_start_s(const struct facts *f, uint64_t time_ns)
{
	const uint64_t start_ns = f->session->info.start_ns;
	const double ns =
		time_ns < start_ns ? -(double)(start_ns - time_ns) : (double)(time_ns - start_ns);

	return ns / (double)NS_PER_SECOND;
}

static double bytes_per_sample(const struct facts *f)
{
	return f->all_samples ? (double)f->session->size_bytes / (double)f->all_samples : 0;
}

static void start_text(const struct session_info *info, char *text, size_t size)
{
	time_t seconds = (time_t)(info->start_wall_ns / NS_PER_SECOND);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(text, size, "[unknown]");
}

static void exit_text(int status, char *text, size_t size)
{
	if (status == -1)
		snprintf(text, size, "no command");
	else if (WIFEXITED(status))
		snprintf(text, size, "the command ended with exit status %d", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		snprintf(text, size, "the command was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else
		snprintf(text, size, "the command's status was %#x", (unsigned int)status);
}

static void print_counter(const struct facts *f, uint32_t i)
{
	const struct counter_info *c = &f->session->info.counters[i];
	struct buf text = { 0 };

	buf_str(&text, c->name);
	if (c->freq_hz)
		buf_printf(&text, " at %" PRIu64 " Hz", c->freq_hz);
	else if (c->count)
		buf_printf(&text, " every %" PRIu64, c->count);
	if (!c->in_user || !c->in_kernel)
		buf_str(&text, c->in_user ? ", user" : ", kernel");
	buf_printf(&text, ": %" PRIu64 " samples, ", f->samples[i]);
	if (!strcmp(c->unit, "ns"))
		buf_printf(&text, "%.3f s", (double)f->period[i] / (double)NS_PER_SECOND);
	else
		buf_printf(&text, "%" PRIu64 " %s", f->period[i], c->unit);
	output_line(stdout, "%-10s  %s", i ? "" : "events", buf_cstr(&text));
	buf_fini(&text);
}

static void print_losses(const struct facts *f)
{
	bool any = false;

	for (int i = 0; i < N_LOSS_REASONS; i++) {
		if (!f->losses[i])
			continue;
		printf("%-10s  %" PRIu64 ": %s\n", any ? "" : "losses", f->losses[i],
		       loss_texts[i].text);
		any = true;
	}
	if (!any)
		printf("%-10s  none\n", "losses");
}

static void print_end(const struct facts *f)
{
	const struct session_end *end = &f->session->end;
	char text[128];

	if (!f->session->has_end) {
		printf("%-10s  no: still recording, or the recorder was killed\n", "ended");
		return;
	}
	exit_text(end->exit_status, text, sizeof(text));
	printf("%-10s  %s\n", "ended", text);
	printf("%-10s  %.3f s of CPU time and %.1f MB of memory\n", "own cost",
	       (double)end->own_cpu_ns / (double)NS_PER_SECOND, (double)end->own_peak_bytes / 1e6);
}

static void print_said(const char *title, const char *text)
{
	if (text[0])
		output_line(stdout, "%-10s  %s", title, text);
}

/* A perf.data file may not say all of it. */
static void print_machine(const struct session_info *info)
{
	char cpus[32] = "";
	const char *const parts[] = { info->hostname, info->os_release, info->arch, cpus,
				      info->cpu_model };
	struct buf text = { 0 };

	if (info->n_cpus)
		snprintf(cpus, sizeof(cpus), "%u CPUs", info->n_cpus);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i][0])
			buf_printf(&text, "%s%s", text.len ? ", " : "", parts[i]);
	print_said("machine", buf_cstr(&text));
	output_line(stdout, "%-10s  assay %s, %s, stacks: %s", "recorder", info->version,
		    info->collector, info->stacks);
	buf_fini(&text);
}

/* "1 image", "2 images" */
static void print_count(uint64_t n, const char *what, const char *many, const char *behind)
{
	printf("%" PRIu64 " %s%s%s", n, what, n == 1 ? "" : many, behind);
}

static void print_contents(const struct facts *f)
{
	printf("%-10s  ", "holds");
	print_count(f->processes.n, "process", "es", ", ");
	print_count(f->threads.n, "thread", "s", " on ");
	print_count(f->cpus.n, "CPU", "s", ", ");
	print_count(image_count(f->images) - 1, "image", "s", ", ");
	print_count(f->n_classes, "class", "es", ", ");
	print_count(f->n_nodes, "call tree node", "s", ", ");
	print_count(f->n_symbols, "code symbol", "s", "\n");
	printf("%-10s  ", "size");
	print_count(f->session->size_bytes, "byte", "s", ", ");
	printf("%.2f a sample, in ", bytes_per_sample(f));
	print_count(f->session->n_segments, "segment", "s", " of ");
	print_count(f->n_blocks, "block", "s", "\n");
}

static void print_text(const struct facts *f)
{
	const struct session *s = f->session;
	char start[64];

	print_said("session", s->path);
	print_said("command", s->info.command);
	print_said("target", s->info.target);
	print_machine(&s->info);
	print_said("note", s->info.note);
	start_text(&s->info, start, sizeof(start));
	printf("%-10s  %s, %.3f s\n", "started", start, duration_s(f));
	print_end(f);
	for (uint32_t i = 0; i < s->info.n_counters; i++)
		print_counter(f, i);
	if (f->first_ns)
		printf("%-10s  %.3f s to %.3f s\n", "samples", since_start_s(f, f->first_ns),
		       since_start_s(f, f->last_ns));
	print_contents(f);
	print_losses(f);
	for (size_t i = 0; i < s->warnings.n; i++)
		output_line(stdout, "%-10s  %s", "warning", s->warnings.data[i]);
}

/* Text of the machine may be in any encoding; JSON is UTF-8. */
static json_t *json_text(const char *text)
{
	json_t *value = json_string(text);
	size_t len = strlen(text);
	char *ascii;

	if (value)
		return value;
	ascii = xstrndup(text, len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)ascii[i] >= 0x80)
			ascii[i] = '?';
	value = json_string(ascii);
	free(ascii);
	return value;
}

static void set_number(json_t *object, const char *key, uint64_t n)
{
	json_object_set_new(object, key, json_integer((json_int_t)n));
}

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_text(text));
}

static json_t *json_counters(const struct facts *f)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < f->session->info.n_counters; i++) {
		const struct counter_info *c = &f->session->info.counters[i];
		json_t *o = json_object();

		set_text(o, "name", c->name);
		set_text(o, "spec", c->spec);
		set_text(o, "unit", c->unit);
		set_number(o, "freq_hz", c->freq_hz);
		set_number(o, "count", c->count);
		set_number(o, "unit_mask", c->unit_mask);
		json_object_set_new(o, "user", json_boolean(c->in_user));
		json_object_set_new(o, "kernel", json_boolean(c->in_kernel));
		set_number(o, "samples", f->samples[i]);
		set_number(o, "events", f->period[i]);
		json_array_append_new(array, o);
	}
	return array;
}

static json_t *json_losses(const struct facts *f)
{
	json_t *object = json_object();

	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (f->losses[i])
			set_number(object, loss_texts[i].key, f->losses[i]);
	return object;
}

static json_t *json_end(const struct session *s)
{
	json_t *o;

	if (!s->has_end)
		return json_null();
	o = json_object();
	json_object_set_new(o, "wait_status", json_integer(s->end.exit_status));
	set_number(o, "own_cpu_ns", s->end.own_cpu_ns);
	set_number(o, "own_peak_bytes", s->end.own_peak_bytes);
	return o;
}

static void set_session_info(json_t *o, const struct session_info *info)
{
	char start[64];

	set_text(o, "command", info->command);
	set_text(o, "target", info->target);
	set_text(o, "hostname", info->hostname);
	set_text(o, "os_release", info->os_release);
	set_text(o, "arch", info->arch);
	set_text(o, "cpu_model", info->cpu_model);
	set_number(o, "cpus", info->n_cpus);
	set_text(o, "version", info->version);
	set_text(o, "collector", info->collector);
	set_text(o, "stacks", info->stacks);
	set_text(o, "note", info->note);
	start_text(info, start, sizeof(start));
	set_text(o, "start", start);
}

static int print_json(const struct facts *f)
{
	const struct session *s = f->session;
	json_t *o = json_object(), *warnings = json_array();
	int r;

	set_text(o, "session", s->path);
	set_session_info(o, &s->info);
	json_object_set_new(o, "duration_s", json_real(duration_s(f)));
	json_object_set_new(o, "end", json_end(s));
	json_object_set_new(o, "events", json_counters(f));
	if (f->first_ns) {
		json_object_set_new(o, "first_sample_s", json_real(since_start_s(f, f->first_ns)));
		json_object_set_new(o, "last_sample_s", json_real(since_start_s(f, f->last_ns)));
	}
	set_number(o, "samples", f->all_samples);
	set_number(o, "lost", losses_of_kind(f->losses, LOSS_LOST));
	json_object_set_new(o, "losses", json_losses(f));
	set_number(o, "processes", f->processes.n);
	set_number(o, "threads", f->threads.n);
	set_number(o, "images", image_count(f->images) - 1);
	set_number(o, "classes", f->n_classes);
	set_number(o, "nodes", f->n_nodes);
	set_number(o, "code_symbols", f->n_symbols);
	set_number(o, "segments", s->n_segments);
	set_number(o, "blocks", f->n_blocks);
	set_number(o, "size_bytes", s->size_bytes);
	json_object_set_new(o, "bytes_per_sample", json_real(bytes_per_sample(f)));
	for (size_t i = 0; i < s->warnings.n; i++)
		json_array_append_new(warnings, json_text(s->warnings.data[i]));
	json_object_set_new(o, "warnings", warnings);
	r = json_dumpf(o, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(o);
	return r;
}

static int info_describe(const struct info_args *args)
{
	cleanup(input_free_at_exit) struct input *in = NULL;
	cleanup(session_close_at_exit) struct session *s = NULL;
	struct error err = { 0 };
	struct facts facts;
	bool is_damaged;

	if (opening_begin("info", &(struct open_config){ 0 }, &in) >= 0)
		return EXIT_FAILED;
	if (input_open(in, args->input, &s, &is_damaged, &err) < 0) {
		log_error("info: %s", err.text);
		return EXIT_FAILED;
	}
	facts_init(&facts, s);
	if (!strcmp(args->format, "json"))
		print_json(&facts);
	else
		print_text(&facts);
	facts_fini(&facts);
	return is_damaged ? EXIT_FAILED : EXIT_OK;
}

static int info_run(const struct command *self, int argc, char **argv)
{
	struct info_args args = { 0 };
	struct option_list operands = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands);

	if (status < 0 && operands.n + (args.input != NULL) > 1) {
		log_error("info: more than one session: %s", operands.data[operands.n - 1]);
		status = EXIT_USAGE;
	}
	if (status < 0) {
		if (!args.input)
			args.input = operands.n ? operands.data[0] : "assay.data";
		status = info_describe(&args);
	}
	option_list_fini(&operands);
	return status;
}

const struct command info_command = {
	.name = "info",
	.summary = "show the contents of a session",
	.synopsis = "[OPTIONS] [DIR]",
	.description = "Prints the facts of a session: the command, target and machine, the events "
		       "with their rates and totals, and the time range. It counts processes, "
		       "threads, images and call tree nodes. It shows the size, every loss by its "
		       "reason, and any damage.\n\nIt works while the recording goes on.",
	.options = OPTIONS(info_options),
	.examples =
		(const struct command_example[]){
			{ "assay info", "the session in ./assay.data" },
			{ "assay info --format json a.assay | jq .losses",
			  "what was lost, by reason" },
			{ NULL },
		},
	.run = info_run,
};
