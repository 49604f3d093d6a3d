/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay events: what can be counted here. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/event_help.h"
#include "commands/events_intel_pt.h"
#include "counter/catalog/catalog.h"
#include "counter/catalog/event_files.h"
#include "counter/sources.h"
#include "report/markup.h"

struct events_args {
	const char *search, *kind, *format, *output, *cpu;
	bool check, no_pager;
};

#define FIELD(f) offsetof(struct events_args, f)
static const struct option_spec events_options[] = {
	{ 's', "search", "TEXT", OPT_STRING, FIELD(search), NULL,
	  "events that have TEXT in name or description" },
#define X(id, key, text) "|" key
	{ 'k', "kind", "KIND", OPT_CHOICE, FIELD(kind), "all", "events of one kind only",
	  .choices = "all" EVENT_KINDS(X) },
#undef X
	{ 0, "cpu", "CPU", OPT_STRING, FIELD(cpu), NULL,
	  "events of another processor, by OProfile's name (i386/nehalem)",
	  "They are those of the event files and of libpfm4. They can't be counted here." },
	{ 'e', "check", NULL, OPT_FLAG, FIELD(check), NULL,
	  "check whether each EVENT can be counted, and all of them at once",
	  "The exit status is 1 if one can't be counted. Events that do not fit at once are "
	  "counted in turn while recording, and scaled." },
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "what to print",
	  .choices = "text|json|xml" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "write to FILE" },
	{ 0, "no-pager", NULL, OPT_FLAG, FIELD(no_pager), NULL, "write to the terminal directly" },
};

static const struct counter_sources sources;

/* Choosing. */

struct listing {
	const struct events_args *args;
	const struct option_list *names;
	struct output *out;
	const struct lister *lister;
	enum event_kind kind; /* of the event before */
	bool has_kind;
	uint64_t n;
	json_t *json;
};

struct lister {
	const char *name;
	void (*begin)(struct listing *l);
	void (*event)(struct listing *l, const struct event_name *e);
	void (*end)(struct listing *l);
};

static bool has_text(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text; text++)
		if (!strncasecmp(text, part, n))
			return true;
	return !n;
}

static bool is_named(const struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->names->n && name; i++)
		if (!strcasecmp(l->names->data[i], name) ||
		    fnmatch(l->names->data[i], name, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct listing *l, const struct event_name *e)
{
	const struct events_args *a = l->args;

	if (strcmp(a->kind, "all") != 0 && strcmp(a->kind, event_kind_keys[e->kind]) != 0)
		return false;
	if (a->search && !has_text(e->name, a->search) && !has_text(e->help, a->search) &&
	    !(e->alias && has_text(e->alias, a->search)))
		return false;
	return !l->names->n || is_named(l, e->name) || is_named(l, e->alias);
}

static void events_visit(void *ctx, const struct event_name *e)
{
	struct listing *l = ctx;

	if (!is_wanted(l, e))
		return;
	l->n++;
	l->lister->event(l, e);
	l->kind = e->kind;
	l->has_kind = true;
}

/* Text. */

#define NAME_COLUMNS 34

/* Sentences behind an indent, broken between words. */
static void print_wrapped(FILE *out, const char *text, uint32_t indent, uint32_t width)
{
	size_t room = width > indent + 20 ? width - indent : 20;

	while (*text) {
		size_t n = strlen(text);

		if (n > room) {
			for (n = room; n && text[n] != ' ';)
				n--;
			if (!n)
				n = strcspn(text, " ");
		}
		fprintf(out, "%.*s\n", (int)n, text);
		text += n;
		text += strspn(text, " ");
		if (*text)
			fprintf(out, "%*s", (int)indent, "");
	}
}

static void print_mask(struct listing *l, const struct event_mask *m)
{
	char name[128];

	snprintf(name, sizeof(name), ":%s%s", m->name, m->is_default ? " (default)" : "");
	fprintf(l->out->file, "      %-28s ", name);
	if (strlen(name) > 28)
		fprintf(l->out->file, "\n%*s", NAME_COLUMNS + 1, "");
	print_wrapped(l->out->file, *m->help ? m->help : "-", NAME_COLUMNS + 1,
		      output_width(l->out));
}

static void text_event(struct listing *l, const struct event_name *e)
{
	FILE *out = l->out->file;
	char name[256];

	if (!l->has_kind || l->kind != e->kind)
		fprintf(out, "%s%s (%s)\n", l->has_kind ? "\n" : "", event_kind_keys[e->kind],
			event_kind_texts[e->kind]);
	snprintf(name, sizeof(name), "%s%s%s", e->name, e->alias ? ", " : "",
		 e->alias ? e->alias : "");
	fprintf(out, "  %-*s", *e->help ? NAME_COLUMNS - 2 : 0, name);
	if (*e->help && strlen(name) > NAME_COLUMNS - 3)
		fprintf(out, "\n%*s", NAME_COLUMNS, "");
	if (*e->help)
		print_wrapped(out, e->help, NAME_COLUMNS, output_width(l->out));
	else
		fputc('\n', out);
	if (e->min_count && l->names->n)
		fprintf(out, "      code 0x%" PRIx32 ", a count of at least %" PRIu64 "\n",
			e->table->code, e->min_count);
	/* The whole list would get thousands of lines, so masks are only shown for named events. */
	for (uint32_t i = 0; i < e->n_masks && l->names->n; i++)
		print_mask(l, &e->masks[i]);
}

static void nothing(struct listing *l)
{
	(void)l;
}

/* JSON. */

static void json_begin(struct listing *l)
{
	l->json = json_array();
}

static void json_event(struct listing *l, const struct event_name *e)
{
	json_t *o = json_pack("{s:s, s:s, s:s}", "name", e->name, "kind", event_kind_keys[e->kind],
			      "description", e->help);
	json_t *masks = json_array();

	if (e->alias)
		json_object_set_new(o, "alias", json_string(e->alias));
	for (uint32_t i = 0; i < e->n_masks; i++)
		json_array_append_new(masks, json_pack("{s:s, s:s, s:b}", "name", e->masks[i].name,
						       "description", e->masks[i].help, "default",
						       e->masks[i].is_default));
	json_object_set_new(o, "unit_masks", masks);
	if (e->min_count)
		json_object_set_new(o, "minimum_count", json_integer((json_int_t)e->min_count));
	if (e->table)
		json_object_set_new(o, "code", json_integer(e->table->code));
	json_array_append_new(l->json, o);
}

static void json_end(struct listing *l)
{
	json_dumpf(l->json, l->out->file, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	fputc('\n', l->out->file);
	json_decref(l->json);
}

/* XML. */

static void print_attribute(FILE *out, const char *name, const char *value)
{
	fprintf(out, " %s=\"", name);
	markup_print_text(value, out);
	fputc('"', out);
}

static void xml_begin(struct listing *l)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<events>\n", l->out->file);
}

static void xml_event(struct listing *l, const struct event_name *e)
{
	FILE *out = l->out->file;

	fputs("<event", out);
	print_attribute(out, "name", e->name);
	print_attribute(out, "kind", event_kind_keys[e->kind]);
	if (e->alias)
		print_attribute(out, "alias", e->alias);
	print_attribute(out, "description", e->help);
	if (e->min_count)
		fprintf(out, " minimum_count=\"%" PRIu64 "\"", e->min_count);
	if (e->table)
		fprintf(out, " code=\"%" PRIu32 "\"", e->table->code);
	fputs(e->n_masks ? ">\n" : "/>\n", out);
	for (uint32_t i = 0; i < e->n_masks; i++) {
		fputs("<unit_mask", out);
		print_attribute(out, "name", e->masks[i].name);
		print_attribute(out, "default", e->masks[i].is_default ? "yes" : "no");
		print_attribute(out, "description", e->masks[i].help);
		fputs("/>\n", out);
	}
	if (e->n_masks)
		fputs("</event>\n", out);
}

static void xml_end(struct listing *l)
{
	fputs("</events>\n", l->out->file);
}

static const struct lister listers[] = {
	{ "text", nothing, text_event, nothing },
	{ "json", json_begin, json_event, json_end },
	{ "xml", xml_begin, xml_event, xml_end },
};

static int none_found(const struct listing *l, struct error *err)
{
	char near[256] = "";

	if (l->names->n == 1)
		catalog_nearest(&sources, l->names->data[0], near, sizeof(near));
	return error_set(err, -ENOENT, "no event of %s%s%s%s",
			 l->names->n ? "that name" : "that kind",
			 l->args->search ? " and text" : "",
			 *near ? "; nearest: " : "; 'assay events' lists all", near);
}

/* Reports errors in event files. They do not stop the command. */
static bool tell_complaints(void)
{
	const struct cpu_type *cpu;
	struct event_table t;
	bool has_any;

	event_files_load(&sources, NULL, &t, &cpu, NULL);
	has_any = t.complaints.n;
	vec_foreach (&t.complaints, text)
		log_warning("%s", *text);
	event_table_fini(&t);
	return has_any;
}

/* The events of this machine, or those of the tables of another processor. */
static int visit_events(struct listing *l, struct error *err)
{
	const struct cpu_type *cpu;
	struct event_table t;
	int r;

	if (!l->args->cpu) {
		catalog_each(&sources, events_visit, l);
		return 0;
	}
	r = event_files_load(&sources, l->args->cpu, &t, &cpu, err);
	if (r >= 0)
		event_table_each(&t, events_visit, l);
	event_table_fini(&t);
	return r;
}

static int list_events(const struct events_args *args, const struct option_list *names,
		       struct error *err)
{
	struct output out;
	struct listing l = { .args = args, .names = names, .out = &out };
	int r = output_open(&out, args->output, !args->no_pager, err), r_close;

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(listers); i++)
		if (!strcmp(listers[i].name, args->format))
			l.lister = &listers[i];
	l.lister->begin(&l);
	r = visit_events(&l, err);
	l.lister->end(&l);
	r_close = output_close(&out, r < 0 ? NULL : err);
	if (r < 0 || r_close < 0)
		return r < 0 ? r : r_close;
	return l.n ? 0 : none_found(&l, err);
}

/* Checking. */

struct verdict {
	const struct counter *counter;
	struct error why; /* code 0: it can be counted */
};

static const char *type_text(uint32_t type)
{
	static const char *const types[] = { "hardware", "software", "tracepoint",
					     "cache",    "raw",      "breakpoint" };

	return type < ARRAY_SIZE(types) ? types[type] : "PMU";
}

static int open_one(const struct counter *c, int leader)
{
	struct perf_event_attr attr = c->attr;
	int cpu = c->cpus ? atoi(c->cpus) : -1;

	attr.disabled = leader < 0;
	return sources_open_in_group(&sources, &attr, 0, cpu, leader);
}

static void judge(struct verdict *v)
{
	cleanup(close_at_exit) int fd = open_one(v->counter, -1);

	if (fd < 0)
		counter_explain(&sources, v->counter, fd, &v->why);
}

/* Whether the hardware has room for all of them: the kernel refuses a group that has none. */
static bool fit_at_once(const struct counters *counters)
{
	VEC(int) fds = { 0 };
	bool fit = true;

	for (size_t i = 0; i < counters->n && fit; i++) {
		int fd = open_one(&counters->data[i], fds.n ? fds.data[0] : -1);

		fit = fd >= 0;
		if (fit)
			vec_push(&fds, fd);
	}
	vec_foreach (&fds, fd)
		close(*fd);
	vec_fini(&fds);
	return fit;
}

static void print_verdict(FILE *out, const struct verdict *v)
{
	const struct perf_event_attr *a = &v->counter->attr;

	fprintf(out, "%-24s %-10s type %-2" PRIu32 " config 0x%-8" PRIx64, v->counter->name,
		type_text(a->type), a->type, (uint64_t)a->config);
	if (a->freq)
		fprintf(out, " %" PRIu64 " Hz", (uint64_t)a->sample_freq);
	else
		fprintf(out, " count %" PRIu64, (uint64_t)a->sample_period);
	fprintf(out, ": %s\n", v->why.code ? v->why.text : "can be counted");
}

static json_t *verdict_json(const struct verdict *v)
{
	const struct perf_event_attr *a = &v->counter->attr;
	json_t *o = json_pack("{s:s, s:s, s:I, s:I, s:b}", "name", v->counter->name, "spec",
			      v->counter->spec, "type", (json_int_t)a->type, "config",
			      (json_int_t)a->config, "can_be_counted", !v->why.code);

	if (v->why.code)
		json_object_set_new(o, "reason", json_string(v->why.text));
	return o;
}

static int print_verdicts(const struct events_args *args, const struct verdict *verdicts, size_t n,
			  bool all_good, const char *conflict, struct error *err)
{
	bool as_json = !strcmp(args->format, "json");
	json_t *list = json_array();
	struct output out;
	int r = output_open(&out, args->output, false, err);

	for (size_t i = 0; i < n && r >= 0; i++) {
		if (as_json)
			json_array_append_new(list, verdict_json(&verdicts[i]));
		else
			print_verdict(out.file, &verdicts[i]);
	}
	if (r >= 0 && as_json) {
		json_t *o = json_pack("{s:O, s:b}", "events", list, "fit_at_once",
				      all_good && !conflict);

		if (conflict)
			json_object_set_new(o, "conflict", json_string(conflict));
		json_dumpf(o, out.file, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
		fputc('\n', out.file);
		json_decref(o);
	} else if (r >= 0 && n > 1 && all_good) {
		fprintf(out.file, "all at once: %s%s%s\n", conflict ? "no: " : "yes",
			conflict ? conflict : "",
			conflict ? "; they are counted in turn, and scaled" : "");
	}
	json_decref(list);
	return r < 0 ? r : output_close(&out, err);
}

/* Why not all can be counted at once, as the event files or the kernel have it; NULL: they can. */
static const char *find_conflict(const struct counters *counters, struct error *why)
{
	if (event_files_allocate(&sources, counters, why) < 0)
		return why->text;
	return fit_at_once(counters) ? NULL : "the kernel has no room for all of them";
}

static int check_counters(const struct events_args *args, const struct counters *counters,
			  struct error *err)
{
	struct verdict *verdicts = xcalloc(counters->n + 1, sizeof(*verdicts));
	const struct verdict *bad = NULL;
	struct error why = { 0 };
	int r;

	for (size_t i = 0; i < counters->n; i++) {
		verdicts[i].counter = &counters->data[i];
		judge(&verdicts[i]);
		if (verdicts[i].why.code && !bad)
			bad = &verdicts[i];
	}
	r = print_verdicts(args, verdicts, counters->n, !bad,
			   bad ? NULL : find_conflict(counters, &why), err);
	if (r >= 0 && bad)
		r = error_set(err, bad->why.code, "'%s' can't be counted here", bad->counter->name);
	free(verdicts);
	return r;
}

static int check_events(const struct events_args *args, const struct option_list *specs,
			struct error *err)
{
	static const struct counter_rate rate;
	struct counters counters = { 0 };
	int r = 0;

	if (!specs->n)
		r = error_set(err, -EINVAL,
			      "--check: name the events, as 'assay events --check cycles'");
	else if (!strcmp(args->format, "xml"))
		r = error_set(err, -EINVAL, "--check prints text or json");
	for (size_t i = 0; i < specs->n && r >= 0; i++)
		r = counter_parse(&sources, specs->data[i], &rate, &counters, err);
	if (r >= 0)
		r = check_counters(args, &counters, err);
	counters_fini(&counters);
	return r;
}

static int explain_pmu(const struct events_args *args, struct error *err)
{
	struct output out;
	int r = output_open(&out, args->output, !args->no_pager, err), r_close;

	if (r < 0)
		return r;
	r = explain_intel_pt(&sources, !strcmp(args->format, "json"), out.file, err);
	r_close = output_close(&out, r < 0 ? NULL : err);
	return r < 0 ? r : r_close;
}

static int events_run(const struct command *self, int argc, char **argv)
{
	struct events_args args = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (status < 0) {
		bool is_damaged = tell_complaints();

		if (args.check && args.cpu)
			r = error_set(&err, -EINVAL,
				      "--check is of this processor, and --cpu of another");
		else if (args.check)
			r = check_events(&args, &operands, &err);
		else if (operands.n == 1 && is_intel_pt_itself(operands.data[0]))
			r = explain_pmu(&args, &err);
		else
			r = list_events(&args, &operands, &err);
		status = r == -EINVAL ? EXIT_USAGE : r < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
		if (r < 0)
			log_error("events: %s", err.text);
	}
	option_list_fini(&operands);
	return status;
}

static const struct command_section events_sections[] = {
	EVENTS_SECTION,
	{ "EVENT FILES",
	  "Textual files in OProfile's syntax name events by their codes: "
	  "_DIR_/_ARCH_/_CPU_/events and _unit\\_masks_. The folders are those of "
	  "*$ASSAY\\_EVENTS\\_DIR* (or *$OPROFILE\\_EVENTS\\_DIR*; several with colons "
	  "between). The default is _~/.config/assay/events_, _/etc/assay/events_, the "
	  "files that are installed with assay, and OProfile's. The first one wins. "
	  "assay leaves out wrong lines and names their file and line. A file _DIR_/cpus "
	  "adds processors." },
	{ "EXIT STATUS",
	  "0 if there was an event, or with *--check*, if all can be counted; 1 if not, or if an "
	  "event file has a bad line; 2 for wrong usage." },
	{ NULL },
};

static const struct command_example events_examples[] = {
	{ "assay events", "all events that can be counted here" },
	{ "assay events --search cache", "events about caches" },
	{ "assay events 'sched:*'", "the scheduler's tracepoints" },
	{ "assay events intel_pt",
	  "the abilities of this processor's Intel PT, and the obstacles" },
	{ "assay events --check cycles:u page-faults",
	  "check that both can be counted, and at once" },
	{ NULL },
};

const struct command events_command = {
	.name = "events",
	.summary = "list the events that can be counted here",
	.synopsis = "[OPTIONS] [EVENT…]",
	.description =
		"Lists the events that *assay record -e* takes on this machine. These are the "
		"kernel's generic and software events, its tracepoints, and the events that "
		"PMU drivers name in sysfs. Event files and the names in the manual add events "
		"of this processor. With operands (globs), it lists those alone, and their "
		"unit masks.",
	.options = OPTIONS(events_options),
	.sections = events_sections,
	.examples = events_examples,
	.run = events_run,
};
