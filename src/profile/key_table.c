/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The keys' table: for each key its text, and its value of a class or of a function. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "lang/language.h"
#include "profile/index.h"
#include "profile/profile.h"
#include "profile/wakers.h"
#include "store/session.h"

const char *profile_nameless_text(const struct profile *p, uint32_t image)
{
	const struct image *of = p->images.data[image].image;

	if (image_is_wait_mark(of) || image_is_cut_mark(of))
		return of->path;
	return of->kind == IMAGE_UNKNOWN ? "(unknown)" : "(no symbols)";
}

static const char *function_text(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct profile_image *image = &p->images.data[f->image];

	if (f->inlined)
		return f->inlined;
	if (f->symbol != NO_SYMBOL)
		return symbol_name(p->symbols, image->table, f->symbol);
	return profile_nameless_text(p, f->image);
}

static const char *process_text(const struct profile *p, const struct profile_process *process,
				char scratch[static KEY_TEXT_SIZE])
{
	const char *comm = process->pid ? strings_get(&p->comms, process->comm) : "[idle]";
	int id = process->tid >= 0 && process->pid ? process->tid : process->pid;

	if (id == CLASS_ALL) /* its name is that of any of them */
		return "all";
	if (id == PID_OTHER_NAMESPACE)
		return *comm ? comm : "all";
	snprintf(scratch, KEY_TEXT_SIZE, *comm ? "%.40s (%d)" : "%.0s%d", comm, id);
	return scratch;
}

static bool are_masks_merged(const struct profile *p, uint32_t counter)
{
	for (uint32_t i = 0; i < p->n_lanes; i++)
		if (p->lanes[i].counter == counter)
			return p->lanes[i].masks_merged;
	return false;
}

/* Events of one name also show their count and unit mask: "cycles:100000:0x1". */
static const char *profile_event_text(const struct profile *p, uint32_t counter,
				      char scratch[static KEY_TEXT_SIZE])
{
	const struct session_info *info = &p->session->info;
	const struct counter_info *c = &info->counters[counter];
	bool other_count = false, other_mask = false;
	int n;

	for (uint32_t i = 0; i < info->n_counters; i++) {
		bool is_namesake = !strcmp(info->counters[i].name, c->name);

		other_count |= is_namesake && info->counters[i].count != c->count;
		other_mask |= is_namesake && info->counters[i].unit_mask != c->unit_mask;
	}
	if (!other_count && !other_mask)
		return c->name;
	n = snprintf(scratch, KEY_TEXT_SIZE, "%.20s:%" PRIu64, c->name, c->count);
	if (other_mask && !are_masks_merged(p, counter))
		snprintf(scratch + n, (size_t)(KEY_TEXT_SIZE - n), ":0x%" PRIx64, c->unit_mask);
	return scratch;
}

/* ---- values of CLASS keys ---- */

static uint32_t app_key_value(struct profile *p, enum profile_key key,
			      const struct class_facts *facts)
{
	(void)key;
	return facts->is_idle ? index_idle_image(p) : facts->app;
}

static uint32_t process_key_value(struct profile *p, enum profile_key key,
				  const struct class_facts *facts)
{
	(void)key;
	return index_process(p, facts->class->pid);
}

static uint32_t thread_key_value(struct profile *p, enum profile_key key,
				 const struct class_facts *facts)
{
	(void)key;
	return index_thread(p, facts->class->pid, facts->class->tid);
}

static uint32_t comm_key_value(struct profile *p, enum profile_key key,
			       const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->comm;
}

static uint32_t host_key_value(struct profile *p, enum profile_key key,
			       const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->host;
}

static uint32_t service_key_value(struct profile *p, enum profile_key key,
				  const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->service;
}

static uint32_t cpu_key_value(struct profile *p, enum profile_key key,
			      const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->class->cpu == (uint32_t)CLASS_ALL ? PROFILE_CPU_ALL : facts->class->cpu;
}

static uint32_t cgroup_key_value(struct profile *p, enum profile_key key,
				 const struct class_facts *facts)
{
	return profile_cgroup_value(p, key, facts->cgroup);
}

static uint32_t waker_key_value(struct profile *p, enum profile_key key,
				const struct class_facts *facts)
{
	return profile_waker_value(p, key, facts->waker);
}

static uint32_t parallelism_key_value(struct profile *p, enum profile_key key,
				      const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->parallelism;
}

static uint32_t event_key_value(struct profile *p, enum profile_key key,
				const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->class->counter;
}

static uint32_t context_key_value(struct profile *p, enum profile_key key,
				  const struct class_facts *facts)
{
	(void)p, (void)key;
	return facts->context;
}

/* ---- values of CODE keys ---- */

static uint32_t code_mode_of(const struct profile *p, uint32_t function)
{
	uint32_t image = p->functions.data[function].image;

	return image_code_mode(p->images.data[image].image);
}

static uint32_t code_language_of(const struct profile *p, uint32_t function)
{
	return p->functions.data[function].language;
}

static uint32_t code_image_of(const struct profile *p, uint32_t function)
{
	return p->functions.data[function].image;
}

static uint32_t code_symbol_of(const struct profile *p, uint32_t function)
{
	return p->functions.data[function].whole;
}

static uint32_t code_file_of(const struct profile *p, uint32_t function)
{
	return p->lines.data[p->functions.data[function].line].file;
}

static uint32_t code_line_of(const struct profile *p, uint32_t function)
{
	return p->functions.data[function].line;
}

static uint32_t code_address_of(const struct profile *p, uint32_t function)
{
	(void)p;
	return function;
}

/* ---- texts ---- */

/* The argument of a text function. The text may be in scratch. */
struct key_value {
	enum profile_key key;
	uint32_t value;
	char *scratch; /* KEY_TEXT_SIZE */
};

static const char *image_key_text(const struct profile *p, const struct key_value *v)
{
	return p->images.data[v->value].name;
}

/* Of an image without a build id, its name: so rows of different images differ. */
static const char *build_key_text(const struct profile *p, const struct key_value *v)
{
	const struct build_id *id = &p->images.data[v->value].image->build_id;

	if (!id->len)
		return p->images.data[v->value].name;
	for (uint8_t i = 0; i < id->len; i++)
		snprintf(v->scratch + 2 * (size_t)i, 3, "%02x", id->bytes[i]);
	return v->scratch;
}

static const char *process_key_text(const struct profile *p, const struct key_value *v)
{
	return process_text(p, &p->processes.data[v->value], v->scratch);
}

static const char *thread_key_text(const struct profile *p, const struct key_value *v)
{
	return process_text(p, &p->threads.data[v->value], v->scratch);
}

static const char *comm_key_text(const struct profile *p, const struct key_value *v)
{
	return strings_get(&p->comms, (string_id){ v->value });
}

static const char *cpu_key_text(const struct profile *p, const struct key_value *v)
{
	(void)p;
	if (v->value == PROFILE_CPU_ALL)
		return "all";
	snprintf(v->scratch, KEY_TEXT_SIZE, "%" PRIu32, v->value);
	return v->scratch;
}

static const char *cgroup_key_text(const struct profile *p, const struct key_value *v)
{
	return profile_cgroup_text(p, v->key, v->value);
}

static const char *waker_key_text(const struct profile *p, const struct key_value *v)
{
	return profile_waker_text(p, v->value);
}

static const char *parallelism_key_text(const struct profile *p, const struct key_value *v)
{
	(void)p;
	if (!v->value)
		return "[unknown]";
	snprintf(v->scratch, KEY_TEXT_SIZE, "%" PRIu32, v->value);
	return v->scratch;
}

static const char *event_key_text(const struct profile *p, const struct key_value *v)
{
	return profile_event_text(p, v->value, v->scratch);
}

static const char *context_key_text(const struct profile *p, const struct key_value *v)
{
	(void)p;
	return sample_context_names[v->value];
}

static const char *mode_key_text(const struct profile *p, const struct key_value *v)
{
	(void)p;
	return code_mode_names[v->value];
}

static const char *language_key_text(const struct profile *p, const struct key_value *v)
{
	(void)p;
	return language_key(v->value);
}

static const char *symbol_key_text(const struct profile *p, const struct key_value *v)
{
	return function_text(p, v->value);
}

static const char *file_key_text(const struct profile *p, const struct key_value *v)
{
	const char *file = strings_get(&p->files, (string_id){ v->value });

	return *file ? file : profile_no_line;
}

static const char *line_key_text(const struct profile *p, const struct key_value *v)
{
	return p->lines.data[v->value].name;
}

static const char *address_key_text(const struct profile *p, const struct key_value *v)
{
	snprintf(v->scratch, KEY_TEXT_SIZE, "%08" PRIx64, profile_address(p, v->value));
	return v->scratch;
}

/* A row for each key. `of_class` belongs to CLASS keys, `of_code` to CODE keys. */
static const struct {
	const char *(*text)(const struct profile *p, const struct key_value *v);
	uint32_t (*of_class)(struct profile *p, enum profile_key key,
			     const struct class_facts *facts);
	uint32_t (*of_code)(const struct profile *p, uint32_t function);
} key_operations[N_PROFILE_KEYS] = {
	[PROFILE_APP] = { image_key_text, app_key_value, NULL },
	[PROFILE_PROCESS] = { process_key_text, process_key_value, NULL },
	[PROFILE_THREAD] = { thread_key_text, thread_key_value, NULL },
	[PROFILE_COMM] = { comm_key_text, comm_key_value, NULL },
	[PROFILE_CPU] = { cpu_key_text, cpu_key_value, NULL },
	[PROFILE_CGROUP] = { cgroup_key_text, cgroup_key_value, NULL },
	[PROFILE_UNIT] = { cgroup_key_text, cgroup_key_value, NULL },
	[PROFILE_CONTAINER] = { cgroup_key_text, cgroup_key_value, NULL },
	[PROFILE_POD] = { cgroup_key_text, cgroup_key_value, NULL },
	[PROFILE_WAKER] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_WAKER_SYMBOL] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_WAKER_STACK] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_REASON] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_OWNER] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_DEVICE] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_MEM] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_TLB] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_SNOOP] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_DATA_SYMBOL] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_DATA_IMAGE] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_TRACE] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_SPAN] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_LABEL] = { waker_key_text, waker_key_value, NULL },
	[PROFILE_PARALLELISM] = { parallelism_key_text, parallelism_key_value, NULL },
	[PROFILE_HOST] = { comm_key_text, host_key_value, NULL },
	[PROFILE_SERVICE] = { comm_key_text, service_key_value, NULL },
	[PROFILE_EVENT] = { event_key_text, event_key_value, NULL },
	[PROFILE_CONTEXT] = { context_key_text, context_key_value, NULL },
	[PROFILE_MODE] = { mode_key_text, NULL, code_mode_of },
	[PROFILE_LANGUAGE] = { language_key_text, NULL, code_language_of },
	[PROFILE_IMAGE] = { image_key_text, NULL, code_image_of },
	[PROFILE_BUILD] = { build_key_text, NULL, code_image_of },
	[PROFILE_SYMBOL] = { symbol_key_text, NULL, code_symbol_of },
	[PROFILE_FILE] = { file_key_text, NULL, code_file_of },
	[PROFILE_LINE] = { line_key_text, NULL, code_line_of },
	[PROFILE_ADDRESS] = { address_key_text, NULL, code_address_of },
};

const char *profile_key_text(const struct profile *p, enum profile_key key, uint32_t value,
			     char scratch[static KEY_TEXT_SIZE])
{
	const struct key_value v = { key, value, scratch };

	return key_operations[key].text(p, &v);
}

uint32_t profile_code_value(const struct profile *p, enum profile_key key, uint32_t function)
{
	assert(profile_keys[key].kind == KEY_CODE);
	return key_operations[key].of_code(p, function);
}

uint32_t index_class_value(struct profile *p, enum profile_key key, const struct class_facts *facts)
{
	assert(profile_keys[key].kind == KEY_CLASS);
	return key_operations[key].of_class(p, key, facts);
}
