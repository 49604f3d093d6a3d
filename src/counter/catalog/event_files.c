/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/catalog/event_files.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "config.h"
#include "counter/catalog/catalog.h"
#include "counter/draft.h"
#include "counter/pmu.h"

#define FILE_MAX_SIZE ((size_t)4 << 20)
#define MAX_INCLUDES  32

struct dir_list {
	char **data;
	size_t n, cap;
};

static void dir_list_fini(struct dir_list *l)
{
	vec_foreach (l, dir)
		free(*dir);
	vec_fini(l);
}

struct loading {
	const struct counter_sources *sources;
	struct event_table *t;
	char **dirs;
	size_t n_dirs;
	const char *file;     /* "events" or "unit_masks" */
	struct dir_list read; /* the processors whose file was read, or is being read */
};

static void add_dirs(struct dir_list *l, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, ":");

		if (len)
			vec_push(l, xstrndup(text, len));
		text += len + (text[len] == ':');
	}
}

/* Beside a program that was unpacked and not installed: bin/assay, share/assay/events. */
static char *unpacked_dir(void)
{
	char path[PATH_MAX], *dir;
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n < 0)
		return NULL;
	path[n] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return NULL;
		*slash = '\0';
	}
	dir = xasprintf("%s/share/assay/events", path);
	if (!strcmp(dir, ASSAY_EVENTS_DIR)) {
		free(dir);
		return NULL;
	}
	return dir;
}

static void list_dirs(const struct counter_sources *sources, struct dir_list *l)
{
	static const char *const variables[] = { "OPROFILE_EVENTS_DIR", "ASSAY_EVENTS_DIR" };
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char *unpacked;

	if (sources && sources->events) {
		add_dirs(l, sources->events);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value) {
			add_dirs(l, value);
			return;
		}
	}
	if (config && *config)
		vec_push(l, xasprintf("%s/assay/events", config));
	else if (home && *home)
		vec_push(l, xasprintf("%s/.config/assay/events", home));
	add_dirs(l, "/etc/assay/events:" ASSAY_EVENTS_DIR);
	unpacked = unpacked_dir();
	if (unpacked)
		vec_push(l, unpacked);
	add_dirs(l, "/usr/share/oprofile");
}

/* A name becomes part of a path: it must not lead out of the folder. */
static bool is_cpu_name(const char *name)
{
	return *name && *name != '/' && !strstr(name, "..") && strlen(name) < 64;
}

static void event_files_read_cpu(struct loading *l, const char *cpu);

static void read_included(void *context, struct event_table *t, const char *cpu)
{
	struct loading *l = context;

	if (is_cpu_name(cpu) && l->read.n < MAX_INCLUDES)
		event_files_read_cpu(l, cpu);
	else
		vec_push(&t->complaints,
			 xasprintf("%s: 'include:%.60s' is not possible", l->file, cpu));
}

/* One of the two files of a processor, in every folder that has it. */
static void event_files_read_cpu(struct loading *l, const char *cpu)
{
	const struct event_include include = { read_included, l };

	vec_foreach (&l->read, name)
		if (!strcmp(*name, cpu))
			return;
	vec_push(&l->read, xstrdup(cpu));
	for (size_t i = 0; i < l->n_dirs; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", l->dirs[i], cpu, l->file);
		cleanup(free_at_exit) char *text = NULL;
		size_t size;
		int r = file_read_all(path, FILE_MAX_SIZE, &text, &size);

		if (r == -ENOENT || r == -ENOTDIR)
			continue;
		if (r < 0)
			vec_push(&l->t->complaints, xasprintf("%s: %s", path, strerror(-r)));
		else if (!strcmp(l->file, "events"))
			event_table_read_events(l->t, text, path, &include);
		else
			event_table_read_masks(l->t, text, path, &include);
	}
}

static void read_cpus(struct loading *l)
{
	for (size_t i = 0; i < l->n_dirs; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/cpus", l->dirs[i]);
		cleanup(free_at_exit) char *text = NULL;
		size_t size;

		if (file_read_all(path, FILE_MAX_SIZE, &text, &size) == 0)
			event_table_read_cpus(l->t, text, path);
	}
}

static const struct cpu_type *find_named(const struct event_table *t, const char *name)
{
	vec_foreach (&t->cpus, c)
		if (!strcmp(c->type.name, name))
			return &c->type;
	return cpu_type_find(name);
}

/* OProfile's own folders are whole; and those of a test are all that it wants. */
static bool takes_libpfm(const struct counter_sources *sources)
{
	const char *own = getenv("OPROFILE_EVENTS_DIR");

	return !(sources && sources->events) && !(own && *own);
}

int event_files_load(const struct counter_sources *sources, const char *name, struct event_table *t,
		     const struct cpu_type **cpu, struct error *err)
{
	static const char *const files[] = { "unit_masks", "events" };
	struct dir_list dirs = { 0 };
	struct loading l = { .sources = sources, .t = t };

	event_table_init(t);
	list_dirs(sources, &dirs);
	l.dirs = dirs.data;
	l.n_dirs = dirs.n;
	read_cpus(&l);
	*cpu = name ? find_named(t, name) : cpu_type_detect(sources, t);
	for (size_t i = 0; *cpu && i < ARRAY_SIZE(files); i++) {
		l.file = files[i];
		event_files_read_cpu(&l, (*cpu)->name);
		dir_list_fini(&l.read);
	}
	event_table_finish(t, sources);
	dir_list_fini(&dirs);
	if (name && *cpu && takes_libpfm(sources))
		pfm_add_to_table((*cpu)->name, t);
	if (name && !*cpu)
		return error_set(err, -ENOENT, "unknown processor '%s'", name);
	return 0;
}

static bool is_x86(const struct cpu_type *cpu)
{
	return !strncmp(cpu->name, "i386/", 5) || !strncmp(cpu->name, "x86-64/", 7);
}

/*
 * x86: the layout of the event select register, as sysfs has it in cpu/format. AMD's events have
 * four more bits, at 32. Elsewhere the code is the number of the event.
 */
static uint64_t table_event_config(const struct cpu_type *cpu, const struct table_event *e,
				   const struct mask_choice *mask, bool *is_precise)
{
	uint32_t extra = mask->extra & ~(EXTRA_PEBS | EXTRA_NONE);

	*is_precise = mask->extra & EXTRA_PEBS;
	if (!is_x86(cpu))
		return e->code;
	return (e->code & 0xff) | (uint64_t)(e->code & 0xf00) << 24 | (mask->value & 0xff) << 8 |
	       extra;
}

/*
 * IBS. Bit 0 of the unit mask of op events makes the kernel count dispatched operations instead of
 * cycles. Fetches are chosen with some randomness, because a fixed distance could match the period
 * of loops.
 */
static const struct {
	const char *ext, *terms, *other_terms; /* with bit 0 of the mask, and without */
} extensions[] = {
	{ "ibs_fetch", "rand_en=1", "rand_en=1" },
	{ "ibs_op", "cnt_ctl=1", "" },
};

static int take_extended(const struct counter_sources *sources, const struct table_event *e,
			 const char *mask, struct draft *out, struct error *err)
{
	struct mask_choice choice;
	uint32_t type;
	int r = table_event_mask(e, mask, &choice, err);

	for (size_t i = 0; i < ARRAY_SIZE(extensions) && r >= 0; i++) {
		if (strcmp(extensions[i].ext, e->ext) != 0)
			continue;
		if (!pmu_type(sources, e->ext, &type))
			return error_set(err, -ENODEV,
					 "event '%s' needs samples of %s, and there is no %s "
					 "here: the processor or this virtual machine has none, "
					 "or the kernel has no driver",
					 e->name, e->ext, e->ext);
		r = pmu_parse(sources, e->ext,
			      choice.value & 1 ? extensions[i].terms : extensions[i].other_terms,
			      e->name, out, err);
		if (r < 0)
			return r;
		out->ext = extensions[i].ext;
		out->min_count = e->minimum;
		out->event_code = e->code;
		out->unit_mask = choice.value;
		snprintf(out->name, sizeof(out->name), "%s", e->name);
		return 1;
	}
	return r < 0 ? r
		     : error_set(err, -ENOTSUP,
				 "event '%s' needs the extended feature %s, which assay does not "
				 "support",
				 e->name, e->ext);
}

static int event_files_take(const struct counter_sources *sources, const struct cpu_type *cpu,
			    const struct table_event *e, const char *mask, struct draft *out,
			    struct error *err)
{
	struct mask_choice choice;
	bool is_precise;
	int r;

	if (e->ext)
		return take_extended(sources, e, mask, out, err);
	r = table_event_mask(e, mask, &choice, err);
	if (r < 0)
		return r;
	memset(out, 0, sizeof(*out));
	out->attr.type = PERF_TYPE_RAW;
	out->attr.config = table_event_config(cpu, e, &choice, &is_precise);
	out->attr.precise_ip = is_precise ? 2 : 0;
	out->is_core = true;
	out->min_count = e->minimum;
	out->event_code = e->code;
	out->unit_mask = choice.name ? choice.extra : choice.value;
	snprintf(out->name, sizeof(out->name), "%s", e->name);
	return 1;
}

int event_files_find(const struct counter_sources *sources, const char *name, const char *mask,
		     struct draft *out, struct error *err)
{
	const struct cpu_type *cpu;
	struct event_table t;
	const struct table_event *e;
	int r;

	event_files_load(sources, NULL, &t, &cpu, NULL);
	e = event_table_find(&t, name);
	r = e ? event_files_take(sources, cpu, e, mask, out, err) : 0;
	event_table_fini(&t);
	return r;
}

int event_files_allocate(const struct counter_sources *sources, const struct counters *counters,
			 struct error *err)
{
	VEC(const struct table_event *) events = { 0 };
	const struct cpu_type *cpu;
	struct event_table t;
	int r = 0;

	event_files_load(sources, NULL, &t, &cpu, NULL);
	for (size_t i = 0; i < counters->n; i++) {
		cleanup(free_at_exit) char *name =
			xstrndup(counters->data[i].spec, strcspn(counters->data[i].spec, ":"));
		const struct table_event *e = event_table_find(&t, name);

		if (e)
			vec_push(&events, e);
	}
	if (events.n) {
		int *numbers = xcalloc(events.n, sizeof(*numbers));

		r = table_events_allocate(events.data, events.n, cpu_type_n_counters(cpu, sources),
					  numbers, err);
		free(numbers);
	}
	vec_fini(&events);
	event_table_fini(&t);
	return r;
}

/* ---- for the catalogue ---- */

static uint32_t event_files_masks_of(const struct table_event *e, struct event_mask *out,
				     char (*texts)[16])
{
	uint32_t n = 0;

	vec_foreach (&e->mask.units, u) {
		snprintf(texts[n], sizeof(*texts), "0x%02x", u->value);
		out[n] = (struct event_mask){
			.name = u->name ? u->name : texts[n],
			.help = u->help,
			.is_default = e->mask.default_name
					      ? u->name && !strcmp(u->name, e->mask.default_name)
					      : u->value == e->mask.default_value,
		};
		n++;
	}
	return n;
}

static void visit_event(const struct table_event *e, event_visitor visit, void *ctx)
{
	char(*texts)[16] = xcalloc(e->mask.units.n + 1, sizeof(*texts));
	struct event_mask *masks = xcalloc(e->mask.units.n + 1, sizeof(*masks));
	uint32_t n = event_files_masks_of(e, masks, texts);

	visit(ctx, &(struct event_name){
			   .kind = EVENT_TABLE,
			   .name = e->name,
			   .help = e->help,
			   .masks = masks,
			   .n_masks = n,
			   .min_count = e->minimum,
			   .table = e,
		   });
	free(masks);
	free(texts);
}

void event_table_each(const struct event_table *t, event_visitor visit, void *ctx)
{
	vec_foreach (&t->events, e)
		visit_event(e, visit, ctx);
}

void event_files_each(const struct counter_sources *sources, event_visitor visit, void *ctx)
{
	const struct cpu_type *cpu;
	struct event_table t;

	event_files_load(sources, NULL, &t, &cpu, NULL);
	event_table_each(&t, visit, ctx);
	event_table_fini(&t);
}
