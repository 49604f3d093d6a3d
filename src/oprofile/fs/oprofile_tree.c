/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/oprofile_tree.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "counter/catalog/event_files.h"
#include "counter/pmu.h"
#include "oprofile/fs/event_buffer.h"

#define MAX_COUNTERS 32
#define NAME_SIZE    128
#define TEXT_SIZE    128 /* of a written text */

/* A numbered directory. */
struct slot {
	uint64_t enabled, event, count, unit_mask, kernel, user, extra;
	char name[NAME_SIZE]; /* "": by `event` */
};

/*
 * ibs_fetch/ and ibs_op/, with the driver's values at its start. Fetches are always taken at random
 * distances; a branch's target is always in the samples.
 */
enum ibs { IBS_FETCH, IBS_OP, N_IBS };
struct ibs_slot {
	uint64_t enable, max_count, rand_enable, dispatched_ops, branch_target;
};
static const struct {
	const char *pmu, *event;
} ibs_kinds[N_IBS] = { { "ibs_fetch", "IBS_FETCH_ALL" }, { "ibs_op", "IBS_OP_ALL" } };
#define IBS_MAX_COUNT 250000

enum place {
	PLACE_ROOT,
	PLACE_TOP,
	PLACE_COUNTER,
	PLACE_STATS,
	PLACE_CPU,
	PLACE_IBS_FETCH,
	PLACE_IBS_OP
};

struct row {
	const char *name;
	uint32_t permissions;
	enum place place;
	void (*get)(struct oprofile_tree *t, const struct row *row, uint32_t index,
		    struct buf *out);
	int (*put)(struct oprofile_tree *t, const struct row *row, uint32_t index, const char *text,
		   struct error *err);
	size_t field; /* the number for get_… and put_… functions */
	uint64_t min, max;
};

struct node {
	char name[32];
	uint32_t parent, index; /* index: of the counter or CPU */
	const struct row *row;  /* NULL: a directory */
};

struct oprofile_tree {
	const struct oprofile_host *host;
	struct oprofile_sizes sizes;
	struct slot slots[MAX_COUNTERS];
	struct ibs_slot ibs[N_IBS];
	bool has_ibs[N_IBS];
	uint32_t n_slots;               /* that are shown */
	uint32_t n_hw;                  /* counters of the processor */
	const struct counter *replaced; /* `enable` asked for others in their place; or NULL */
	bool has_pending;               /* slots were written to since `enable` took them */
	struct error last;              /* why the last write was refused */
	char cpu_type[64];
	VEC(struct node) nodes;
};

/* ---- events ---- */

static uint64_t count_of(const struct counter *c)
{
	if (!c->attr.freq)
		return c->attr.sample_period;
	/* A rate is a count of time for clocks alone. */
	return strcmp(c->unit, "ns") || !c->attr.sample_freq ? 0
							     : NS_PER_SECOND / c->attr.sample_freq;
}

static struct slot oprofile_tree_slot_of(const struct counter *c)
{
	struct slot s = {
		.enabled = 1,
		.event = c->event_code,
		.count = count_of(c),
		.unit_mask = c->unit_mask,
		.kernel = !c->attr.exclude_kernel,
		.user = !c->attr.exclude_user,
	};

	if (!s.event && c->attr.type == PERF_TYPE_RAW)
		s.event = (c->attr.config & 0xff) | (c->attr.config >> 24 & 0xf00);
	snprintf(s.name, sizeof(s.name), "%s", c->name);
	return s;
}

/* The directory of an event, if the processor has it; N_IBS: it is a numbered one. */
static enum ibs ibs_of(const struct oprofile_tree *t, const struct counter *c)
{
	for (int k = 0; k < N_IBS; k++) {
		size_t len = strlen(ibs_kinds[k].event);

		if (t->has_ibs[k] && c->ext && !strncmp(c->name, ibs_kinds[k].event, len) &&
		    (!c->name[len] || c->name[len] == ':'))
			return (enum ibs)k;
	}
	return N_IBS;
}

static void show_ibs(struct ibs_slot *s, const struct counter *c)
{
	s->enable = 1;
	s->max_count = count_of(c);
	s->dispatched_ops = c->unit_mask & 1;
}

/* Shows the present events, unless other settings were written and wait. */
static void oprofile_tree_refresh(struct oprofile_tree *t)
{
	const struct counters *counters = t->host->counters(t->host->context);
	uint32_t n = 0;

	/* Until the new events are counted, they are as they were written. */
	if (t->has_pending || (t->replaced && counters && counters->data == t->replaced))
		return;
	t->replaced = NULL;
	for (int k = 0; k < N_IBS; k++)
		t->ibs[k].enable = 0;
	for (size_t i = 0; counters && i < counters->n; i++) {
		enum ibs kind = ibs_of(t, &counters->data[i]);

		if (kind != N_IBS)
			show_ibs(&t->ibs[kind], &counters->data[i]);
		else if (n < MAX_COUNTERS)
			t->slots[n++] = oprofile_tree_slot_of(&counters->data[i]);
	}
	t->n_slots = MAX(t->n_hw, n);
	for (; n < MAX_COUNTERS; n++)
		t->slots[n] = (struct slot){ .kernel = 1, .user = 1 };
}

/* The name of an event that a table of this processor has by this code. */
static bool find_name(const struct oprofile_tree *t, const struct slot *s, char *out, size_t size)
{
	const struct cpu_type *cpu;
	struct event_table table;
	bool found = false;

	event_files_load(t->host->sources, NULL, &table, &cpu, NULL);
	vec_foreach (&table.events, e) {
		if (e->code != s->event)
			continue;
		snprintf(out, size, "%s", e->name);
		found = true;
		break;
	}
	event_table_fini(&table);
	return found;
}

/* NAME:COUNT:UNITMASK:KERNEL:USER */
static int spec_of(const struct oprofile_tree *t, uint32_t i, char **out, struct error *err)
{
	const struct slot *s = &t->slots[i];
	uint64_t unit_mask = s->unit_mask;
	char name[NAME_SIZE];

	if (!s->count)
		return error_set(err, -EINVAL, "counter %u has no count", i);
	if (!s->event && !*s->name)
		return error_set(err, -EINVAL, "counter %u has no event", i);
	if (*s->name) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(s->name, ":"), s->name);
	} else if (s->extra || !find_name(t, s, name, sizeof(name))) {
		/* The register's own layout has the unit mask in it. */
		snprintf(name, sizeof(name), "r%" PRIx64,
			 (s->event & 0xff) | (s->event & 0xf00) << 24 | (s->unit_mask & 0xff) << 8 |
				 s->extra);
		unit_mask = 0;
	}
	if (strchr(name, '/'))
		return error_set(err, -EINVAL,
				 "counter %u: '%s' has terms, with which no count can be given", i,
				 name);
	*out = xasprintf("%s:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64, name, s->count,
			 unit_mask, s->kernel, s->user);
	return 0;
}

static int oprofile_tree_take_events(struct oprofile_tree *t, struct error *err)
{
	const struct counters *counters = t->host->counters(t->host->context);
	const struct counter *before = NULL;
	char *specs[MAX_COUNTERS + N_IBS] = { 0 };
	size_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < MAX_COUNTERS && !r; i++)
		if (t->slots[i].enabled)
			r = spec_of(t, i, &specs[n++], err);
	for (int k = 0; k < N_IBS && !r; k++)
		if (t->ibs[k].enable)
			specs[n++] = xasprintf("%s:%" PRIu64 ":%" PRIu64 ":1:1", ibs_kinds[k].event,
					       t->ibs[k].max_count, t->ibs[k].dispatched_ops);
	if (counters)
		before = counters->data;
	if (!r && !n)
		r = error_set(err, -EINVAL, "no counter is enabled: write 1 to 0/enabled");
	if (!r)
		r = t->host->set_events(t->host->context, (const char *const *)specs, n, err);
	if (!r) {
		t->has_pending = false;
		t->replaced = before;
	}
	for (size_t i = 0; i < ARRAY_SIZE(specs); i++)
		free(specs[i]);
	return r;
}

/* ---- files ---- */

/* Decimal, hexadecimal or octal as C has it, with nothing but space around. */
static int oprofile_tree_parse_number(const struct row *row, const char *text, uint64_t *out,
				      struct error *err)
{
	char *end;
	size_t space;

	errno = 0;
	*out = strtoull(text, &end, 0);
	space = strspn(end, " \t\n");
	if (!isdigit((unsigned char)*text) || end[space] || errno)
		return error_set(err, -EINVAL, "%s: '%.*s' is not a number", row->name,
				 (int)strcspn(text, "\n"), text);
	if (*out < row->min || *out > row->max)
		return error_set(err, -EINVAL,
				 "%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64, row->name,
				 *out, row->min, row->max);
	return 0;
}

static void oprofile_tree_put_line(struct buf *out, uint64_t n)
{
	buf_printf(out, "%" PRIu64 "\n", n);
}

static void get_enable(struct oprofile_tree *t, const struct row *row, uint32_t index,
		       struct buf *out)
{
	(void)row, (void)index;
	oprofile_tree_put_line(out, t->host->is_enabled(t->host->context));
}

static int put_enable(struct oprofile_tree *t, const struct row *row, uint32_t index,
		      const char *text, struct error *err)
{
	uint64_t on;
	int r = oprofile_tree_parse_number(row, text, &on, err);

	(void)index;
	if (!r && on && t->has_pending)
		r = oprofile_tree_take_events(t, err);
	return r < 0 ? r : t->host->enable(t->host->context, on, err);
}

static void get_zero(struct oprofile_tree *t, const struct row *row, uint32_t index,
		     struct buf *out)
{
	(void)t, (void)row, (void)index;
	oprofile_tree_put_line(out, 0);
}

static int put_dump(struct oprofile_tree *t, const struct row *row, uint32_t index,
		    const char *text, struct error *err)
{
	(void)row, (void)index, (void)text;
	return t->host->dump(t->host->context, err);
}

static void get_cpu_type(struct oprofile_tree *t, const struct row *row, uint32_t index,
			 struct buf *out)
{
	const struct counters *counters = t->host->counters(t->host->context);
	bool is_timer = counters && counters->n && !strcmp(counters->data[0].unit, "ns");

	(void)row, (void)index;
	/* Without hardware counters OProfile samples by the timer, and says so. */
	buf_printf(out, "%s\n", is_timer ? "timer" : t->cpu_type);
}

static void get_pointer_size(struct oprofile_tree *t, const struct row *row, uint32_t index,
			     struct buf *out)
{
	(void)t, (void)row, (void)index;
	oprofile_tree_put_line(out, sizeof(uint64_t));
}

static void get_cookies(struct oprofile_tree *t, const struct row *row, uint32_t index,
			struct buf *out)
{
	(void)row, (void)index;
	t->host->cookies(t->host->context, out);
}

static void get_last_error(struct oprofile_tree *t, const struct row *row, uint32_t index,
			   struct buf *out)
{
	(void)row, (void)index;
	if (t->last.code)
		buf_printf(out, "%s\n", t->last.text);
}

static uint64_t *number_in(void *base, const struct row *row)
{
	return (uint64_t *)((char *)base + row->field);
}

static void get_size(struct oprofile_tree *t, const struct row *row, uint32_t index,
		     struct buf *out)
{
	(void)index;
	oprofile_tree_put_line(out, *number_in(&t->sizes, row));
}

static int put_size(struct oprofile_tree *t, const struct row *row, uint32_t index,
		    const char *text, struct error *err)
{
	uint64_t n;
	int r = oprofile_tree_parse_number(row, text, &n, err);

	(void)index;
	if (!r)
		*number_in(&t->sizes, row) = n;
	return r;
}

static void get_number(struct oprofile_tree *t, const struct row *row, uint32_t index,
		       struct buf *out)
{
	oprofile_tree_refresh(t);
	oprofile_tree_put_line(out, *number_in(&t->slots[index], row));
}

static int oprofile_tree_put_number(struct oprofile_tree *t, const struct row *row, uint32_t index,
				    const char *text, struct error *err)
{
	uint64_t n;
	int r = oprofile_tree_parse_number(row, text, &n, err);

	if (r < 0)
		return r;
	oprofile_tree_refresh(t);
	t->has_pending = true;
	*number_in(&t->slots[index], row) = n;
	if (row->field == offsetof(struct slot, event))
		*t->slots[index].name = '\0';
	return 0;
}

static void oprofile_tree_get_name(struct oprofile_tree *t, const struct row *row, uint32_t index,
				   struct buf *out)
{
	(void)row;
	oprofile_tree_refresh(t);
	if (*t->slots[index].name ||
	    find_name(t, &t->slots[index], t->slots[index].name, NAME_SIZE))
		buf_printf(out, "%s\n", t->slots[index].name);
}

static int oprofile_tree_put_name(struct oprofile_tree *t, const struct row *row, uint32_t index,
				  const char *text, struct error *err)
{
	size_t len = strcspn(text, " \t\n");

	if (!len || text[len + strspn(text + len, " \t\n")] || strcspn(text, ",{}") < len)
		return error_set(err, -EINVAL, "%s: '%.*s' is not the name of one event", row->name,
				 (int)strcspn(text, "\n"), text);
	oprofile_tree_refresh(t);
	t->has_pending = true;
	t->slots[index].event = 0;
	snprintf(t->slots[index].name, NAME_SIZE, "%.*s", (int)len, text);
	return 0;
}

static void get_ibs(struct oprofile_tree *t, const struct row *row, uint32_t index, struct buf *out)
{
	oprofile_tree_refresh(t);
	oprofile_tree_put_line(out, *number_in(&t->ibs[index], row));
}

static int put_ibs(struct oprofile_tree *t, const struct row *row, uint32_t index, const char *text,
		   struct error *err)
{
	uint64_t n;
	int r = oprofile_tree_parse_number(row, text, &n, err);

	if (r < 0)
		return r;
	oprofile_tree_refresh(t);
	t->has_pending = true;
	*number_in(&t->ibs[index], row) = n;
	return 0;
}

static void get_stat(struct oprofile_tree *t, const struct row *row, uint32_t index,
		     struct buf *out)
{
	struct oprofile_stats stats = { 0 };

	(void)index;
	t->host->stats(t->host->context, &stats);
	oprofile_tree_put_line(out, *number_in(&stats, row));
}

/* `field`: of the pointer to the values by CPU. */
static void get_cpu_stat(struct oprofile_tree *t, const struct row *row, uint32_t index,
			 struct buf *out)
{
	struct oprofile_stats stats = { 0 };
	const uint64_t *values;

	t->host->stats(t->host->context, &stats);
	memcpy(&values, (char *)&stats + row->field, sizeof(values));
	oprofile_tree_put_line(out, values && index < stats.n_cpus ? values[index] : 0);
}

#define SIZE_ROW(name, min, max)                                                                   \
	{                                                                                          \
#name, 0644, PLACE_TOP, get_size, put_size, offsetof(struct oprofile_sizes, name), \
			min, max                                                                   \
	}
#define SLOT_ROW(name, max)                                                       \
	{                                                                         \
#name, 0644, PLACE_COUNTER, get_number, oprofile_tree_put_number, \
			offsetof(struct slot, name), 0, max                       \
	}
#define IBS_ROW(kind, name, min, max)                                                             \
	{                                                                                         \
#name, 0644, PLACE_IBS_##kind, get_ibs, put_ibs, offsetof(struct ibs_slot, name), \
			min, max                                                                  \
	}
#define CPU_ROW(name, values)                                   \
	{                                                       \
#name, 0444, PLACE_CPU, get_cpu_stat, NULL,     \
			offsetof(struct oprofile_stats, values) \
	}
#define STAT_ROW(name, text) \
	{ #name, 0444, PLACE_STATS, get_stat, NULL, offsetof(struct oprofile_stats, name) },

static const struct row rows[] = {
	{ "enable", 0644, PLACE_TOP, get_enable, put_enable, .max = 1 },
	{ "dump", 0666, PLACE_TOP, get_zero, put_dump },
	{ "buffer", 0400, PLACE_TOP },
	SIZE_ROW(buffer_size, 1024, 1 << 24),
	SIZE_ROW(buffer_watershed, 0, 1 << 24),
	SIZE_ROW(cpu_buffer_size, 0, 1 << 24),
	SIZE_ROW(backtrace_depth, 0, 127),
	{ "cpu_type", 0444, PLACE_TOP, get_cpu_type },
	{ "pointer_size", 0444, PLACE_TOP, get_pointer_size },
	{ "cookies", 0400, PLACE_TOP, get_cookies },
	{ "last_error", 0444, PLACE_TOP, get_last_error },
	SLOT_ROW(enabled, 1),
	SLOT_ROW(event, 0xfffff),
	SLOT_ROW(count, INT64_MAX),
	SLOT_ROW(unit_mask, UINT32_MAX),
	SLOT_ROW(kernel, 1),
	SLOT_ROW(user, 1),
	SLOT_ROW(extra, UINT32_MAX),
	{ "name", 0644, PLACE_COUNTER, oprofile_tree_get_name, oprofile_tree_put_name },
	/* counts of 20 bits; of operations 27, since family 15h */
	IBS_ROW(FETCH, enable, 0, 1),
	IBS_ROW(FETCH, max_count, 1, (1 << 20) - 1),
	IBS_ROW(FETCH, rand_enable, 1, 1),
	IBS_ROW(OP, enable, 0, 1),
	IBS_ROW(OP, max_count, 1, (1 << 27) - 1),
	IBS_ROW(OP, dispatched_ops, 0, 1),
	IBS_ROW(OP, branch_target, 0, 1),
	OPROFILE_STATS(STAT_ROW) CPU_ROW(sample_received, cpu_samples),
	CPU_ROW(sample_lost_overflow, cpu_losses),
	{ "backtrace_aborted", 0444, PLACE_CPU, get_zero },
	{ "sample_invalid_eip", 0444, PLACE_CPU, get_zero },
};

/* ---- nodes ---- */

static uint32_t oprofile_tree_add_node(struct oprofile_tree *t, const char *name, uint32_t parent,
				       uint32_t index, const struct row *row)
{
	struct node *node = vec_add(&t->nodes);

	snprintf(node->name, sizeof(node->name), "%s", name);
	node->parent = parent;
	node->index = index;
	node->row = row;
	return (uint32_t)t->nodes.n - 1;
}

static void add_files(struct oprofile_tree *t, enum place place, uint32_t parent, uint32_t index)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].place == place)
			oprofile_tree_add_node(t, rows[i].name, parent, index, &rows[i]);
}

static void add_directories(struct oprofile_tree *t, enum place place, const char *prefix,
			    uint32_t parent, size_t n)
{
	char name[32];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s%u", prefix, i);
		add_files(t, place, oprofile_tree_add_node(t, name, parent, i, NULL), i);
	}
}

static void find_cpu(struct oprofile_tree *t)
{
	const struct counter_sources *sources = t->host->sources;
	const struct cpu_type *cpu;
	struct event_table table;

	event_files_load(sources, NULL, &table, &cpu, NULL);
	t->n_hw = cpu ? MIN(cpu_type_n_counters(cpu, sources), (uint32_t)MAX_COUNTERS) : 1;
	snprintf(t->cpu_type, sizeof(t->cpu_type), "%s", cpu ? cpu->name : "unknown");
	event_table_fini(&table);
}

/* Only where the processor has IBS, as in the driver. */
static void add_ibs(struct oprofile_tree *t)
{
	for (uint32_t k = 0; k < N_IBS; k++) {
		uint32_t type;

		t->ibs[k] = (struct ibs_slot){ .max_count = IBS_MAX_COUNT, .rand_enable = 1 };
		t->has_ibs[k] = pmu_type(t->host->sources, ibs_kinds[k].pmu, &type);
		if (t->has_ibs[k])
			add_files(t, k == IBS_OP ? PLACE_IBS_OP : PLACE_IBS_FETCH,
				  oprofile_tree_add_node(t, ibs_kinds[k].pmu, 0, k, NULL), k);
	}
}

struct oprofile_tree *oprofile_tree_new(const struct oprofile_host *host, size_t n_cpus)
{
	struct oprofile_tree *t = xcalloc(1, sizeof(*t));
	uint32_t stats;

	t->host = host;
	t->sizes = (struct oprofile_sizes){ .buffer_size = EVENT_BUFFER_WORDS,
					    .buffer_watershed = EVENT_BUFFER_WATERSHED,
					    .cpu_buffer_size = 8192 };
	find_cpu(t);
	oprofile_tree_add_node(t, "", 0, 0, NULL);
	add_files(t, PLACE_TOP, 0, 0);
	stats = oprofile_tree_add_node(t, "stats", 0, 0, NULL);
	add_files(t, PLACE_STATS, stats, 0);
	add_directories(t, PLACE_CPU, "cpu", stats, n_cpus);
	add_directories(t, PLACE_COUNTER, "", 0, MAX_COUNTERS);
	add_ibs(t);
	return t;
}

void oprofile_tree_free(struct oprofile_tree *t)
{
	if (!t)
		return;
	vec_fini(&t->nodes);
	free(t);
}

uint32_t oprofile_tree_count(const struct oprofile_tree *t)
{
	return (uint32_t)t->nodes.n;
}

/* Directories of counters that neither the processor has nor anybody uses are not there. */
static bool oprofile_tree_is_shown(const struct oprofile_tree *t, const struct node *node)
{
	bool is_counter = node->row ? node->row->place == PLACE_COUNTER
				    : !node->parent && isdigit((unsigned char)*node->name);

	return !is_counter || node->index < t->n_slots;
}

bool oprofile_tree_get(struct oprofile_tree *t, uint32_t node, struct oprofile_node *out)
{
	const struct node *n;

	oprofile_tree_refresh(t);
	if (node >= t->nodes.n)
		return false;
	n = &t->nodes.data[node];
	if (!oprofile_tree_is_shown(t, n))
		return false;
	*out = (struct oprofile_node){
		.name = n->name,
		.parent = n->parent,
		.mode = n->row ? S_IFREG | n->row->permissions : S_IFDIR | 0755,
	};
	return true;
}

bool oprofile_tree_find(struct oprofile_tree *t, uint32_t parent, const char *name, uint32_t *out)
{
	oprofile_tree_refresh(t);
	for (uint32_t i = 1; i < t->nodes.n; i++) {
		const struct node *n = &t->nodes.data[i];

		if (n->parent != parent || strcmp(n->name, name) || !oprofile_tree_is_shown(t, n))
			continue;
		*out = i;
		return true;
	}
	return false;
}

bool oprofile_tree_is_buffer(const struct oprofile_tree *t, uint32_t node)
{
	const struct row *row = t->nodes.data[node].row;

	return row && !row->get;
}

void oprofile_tree_read(struct oprofile_tree *t, uint32_t node, struct buf *out)
{
	const struct node *n = &t->nodes.data[node];

	n->row->get(t, n->row, n->index, out);
}

int oprofile_tree_write(struct oprofile_tree *t, uint32_t node, const char *text, size_t size)
{
	const struct node *n = &t->nodes.data[node];
	struct error err = { 0 };
	char copy[TEXT_SIZE];
	int r;

	if (!n->row || !n->row->put)
		return -EACCES;
	if (size >= sizeof(copy) || memchr(text, 0, size)) {
		r = error_set(&err, -EINVAL, "%s: more than %d characters, or no text",
			      n->row->name, TEXT_SIZE - 1);
	} else {
		memcpy(copy, text, size);
		copy[size] = '\0';
		r = n->row->put(t, n->row, n->index, copy, &err);
	}
	t->last = err;
	return r;
}

/* As the driver, which checked the two when the buffer was opened: either may be written first. */
int oprofile_tree_check_sizes(struct oprofile_tree *t, struct oprofile_sizes *out)
{
	*out = t->sizes;
	if (t->sizes.buffer_watershed < t->sizes.buffer_size)
		return 0;
	return error_set(&t->last, -EINVAL,
			 "buffer: buffer_watershed is %" PRIu64 ", and buffer_size is %" PRIu64
			 ": it must be less",
			 t->sizes.buffer_watershed, t->sizes.buffer_size);
}
