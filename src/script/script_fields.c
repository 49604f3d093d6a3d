/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "script/script_fields.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "pt/synth_raw.h"

const struct script_field_row script_field_rows[N_SCRIPT_FIELDS] = {
#define X(id, name, type, what, key) { name, type, what, key },
	SCRIPT_FIELDS(X)
#undef X
};

enum { TYPE_OTHER = SCRIPT_TYPES - 2, TYPE_SYNTH };

/* The words before a ':' in -F, and the types of events that they mean. */
static const struct {
	const char *name;
	uint32_t type;
} type_names[] = {
	{ "hw", PERF_TYPE_HARDWARE },      { "sw", PERF_TYPE_SOFTWARE },
	{ "trace", PERF_TYPE_TRACEPOINT }, { "raw", PERF_TYPE_RAW },
	{ "synth", TYPE_SYNTH },
};

#define WHO   (FIELD_BIT(COMM) | FIELD_BIT(TID) | FIELD_BIT(CPU) | FIELD_BIT(TIME) | FIELD_BIT(EVENT))
#define WHERE (FIELD_BIT(IP) | FIELD_BIT(SYM) | FIELD_BIT(SYMOFF) | FIELD_BIT(DSO))
#define RAW                                                                                 \
	(FIELD_BIT(ADDR) | FIELD_BIT(DATA_SRC) | FIELD_BIT(WEIGHT) | FIELD_BIT(PHYS_ADDR) | \
	 FIELD_BIT(DATA_PAGE_SIZE) | FIELD_BIT(CODE_PAGE_SIZE))

/* Fields that only tracepoints can have. */
#define OF_TRACEPOINTS FIELD_BIT(TRACE)

/* Fields of samples that are instructions. */
#define OF_INSTRUCTIONS (FIELD_BIT(INSN) | FIELD_BIT(DISASM) | FIELD_BIT(CALLINDENT))

uint32_t script_type(const struct perf_event_attr *attr)
{
	if (attr->type == PT_SYNTH_TYPE)
		return TYPE_SYNTH;
	return attr->type < TYPE_OTHER ? attr->type : TYPE_OTHER;
}

void script_fields_init(struct script_fields *f)
{
	*f = (struct script_fields){ 0 };
	for (uint32_t i = 0; i < SCRIPT_TYPES; i++)
		f->of_type[i] = WHO | WHERE | FIELD_BIT(PERIOD);
	f->of_type[PERF_TYPE_TRACEPOINT] = WHO | FIELD_BIT(TRACE);
	f->of_type[PERF_TYPE_RAW] |= RAW;
	f->of_type[PERF_TYPE_SOFTWARE] |= FIELD_BIT(BPF_OUTPUT);
	f->of_type[TYPE_SYNTH] = WHO | WHERE | FIELD_BIT(SYNTH);
}

void script_fields_preset(struct script_fields *f, uint64_t add, uint64_t remove)
{
	for (uint32_t i = 0; i < SCRIPT_TYPES; i++) {
		if (i == PERF_TYPE_TRACEPOINT)
			continue;
		f->of_type[i] |= i == TYPE_SYNTH ? add & ~OF_INSTRUCTIONS : add;
		f->of_type[i] &= ~remove;
		if (!(f->of_type[i] & (FIELD_BIT(IP) | FIELD_BIT(ADDR) | FIELD_BIT(CALLINDENT))))
			f->of_type[i] &= ~(WHERE | FIELD_BIT(SRCLINE));
	}
	f->is_set = true;
}

static int script_fields_refuse(struct error *err, const char *word, size_t len)
{
	static const char names[] = SCRIPT_FIELD_NAMES;

	return error_set(err, -EINVAL, "there is no field '%.*s'; there are %.*s", (int)len, word,
			 (int)strlen(names) - 1, names);
}

static int script_fields_find_field(const char *word, size_t len, uint64_t *bit, struct error *err)
{
	for (size_t i = 0; i < N_SCRIPT_FIELDS; i++) {
		if (strlen(script_field_rows[i].name) == len &&
		    !memcmp(script_field_rows[i].name, word, len)) {
			*bit = (uint64_t)1 << i;
			return 0;
		}
	}
	return script_fields_refuse(err, word, len);
}

static int refuse_type(const char *word, size_t len, struct error *err)
{
	struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		buf_printf(&names, "%s%s", i ? ", " : "", type_names[i].name);
	error_set(err, -EINVAL, "'%.*s' is no type of event; there are %s", (int)len, word,
		  buf_cstr(&names));
	buf_fini(&names);
	return -EINVAL;
}

/* Takes "hw:" off: the type, -1 for all, or -EINVAL. */
static int script_fields_take_type(const char **text, int *type, struct error *err)
{
	const char *colon = strchr(*text, ':');

	*type = -1;
	if (!colon)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(type_names); i++)
		if (strlen(type_names[i].name) == (size_t)(colon - *text) &&
		    !strncmp(type_names[i].name, *text, (size_t)(colon - *text)))
			*type = (int)type_names[i].type;
	if (*type < 0)
		return refuse_type(*text, (size_t)(colon - *text), err);
	*text = colon + 1;
	return 0;
}

/* The words of the list: bits to set, to add and to remove. */
static int script_fields_read_words(const char *text, uint64_t bits[static 3], struct error *err)
{
	for (const char *word = text; *word;) {
		size_t len = strcspn(word, ","), sign = *word == '+' ? 1 : *word == '-' ? 2 : 0;
		uint64_t bit = 0;
		int r = script_fields_find_field(word + !!sign, len - !!sign, &bit, err);

		if (r < 0)
			return r;
		bits[sign] |= bit;
		word += len + (word[len] == ',');
	}
	if (bits[0] && (bits[1] || bits[2]))
		return error_set(err, -EINVAL,
				 "'%s' sets fields, and also adds or removes some: use two "
				 "options",
				 text);
	return 0;
}

int script_fields_parse(struct script_fields *f, const char *text, struct error *err)
{
	uint64_t bits[3] = { 0 };
	int type, r = script_fields_take_type(&text, &type, err);

	if (r < 0 || (r = script_fields_read_words(text, bits, err)) < 0)
		return r;
	/* As in perf, flags alone leave branches the address that they go to. */
	f->is_set |= bits[0] || bits[2] || bits[1] != FIELD_BIT(FLAGS);
	if (type >= 0 && type != PERF_TYPE_TRACEPOINT && ((bits[0] | bits[1]) & OF_TRACEPOINTS))
		return error_set(err, -EINVAL, "only tracepoints (trace:) have the field 'trace'");
	for (uint32_t i = 0; i < SCRIPT_TYPES; i++) {
		uint64_t not_there = i == PERF_TYPE_TRACEPOINT ? 0 : OF_TRACEPOINTS;

		if (type >= 0 && i != (uint32_t)type)
			continue;
		if (bits[1] || bits[2])
			f->of_type[i] = (f->of_type[i] | (bits[1] & ~not_there)) & ~bits[2];
		else
			f->of_type[i] = bits[0] & ~not_there;
		f->chosen[i] = (f->chosen[i] | bits[0] | bits[1]) & f->of_type[i];
	}
	return 0;
}

/* The event that only brings mappings and names of processes: it has no samples. */
static bool is_side_band(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static int script_fields_check_event(struct script_fields *f, const struct script_event *e,
				     bool is_trace, struct error *err)
{
	uint32_t type = script_type(e->attr);

	for (size_t i = 0; i < N_SCRIPT_FIELDS; i++) {
		uint64_t bit = (uint64_t)1 << i;

		if (!(f->of_type[type] & bit) || !script_field_rows[i].sample_type ||
		    e->attr->sample_type & script_field_rows[i].sample_type)
			continue;
		if (f->chosen[type] & bit && (is_trace || is_side_band(e->attr)))
			continue;
		if (f->chosen[type] & bit)
			return error_set(
				err, -EINVAL,
				"the samples of '%s' have no %s, so there is no field '%s'",
				e->name, script_field_rows[i].what, script_field_rows[i].name);
		f->of_type[type] &= ~bit;
	}
	return 0;
}

/* Names need an address to be the names of. */
static int check_needs(const struct script_fields *f, uint32_t type, struct error *err)
{
	uint64_t of = f->of_type[type],
		 branches = FIELD_BIT(BRSTACK) | FIELD_BIT(BRSTACKSYM) | FIELD_BIT(BRSTACKOFF);

	if (of & FIELD_BIT(SYM) &&
	    !(of & (FIELD_BIT(IP) | FIELD_BIT(ADDR) | FIELD_BIT(CALLINDENT))))
		return error_set(err, -EINVAL, "'sym' needs an address to name: add ip or addr");
	if (of & FIELD_BIT(CALLINDENT))
		return 0;
	if (of & FIELD_BIT(DSO) && !(of & (FIELD_BIT(IP) | FIELD_BIT(ADDR) | branches)))
		return error_set(err, -EINVAL,
				 "'dso' needs an address to name: add ip, addr or brstack");
	if (of & FIELD_BIT(SYMOFF) && !(of & FIELD_BIT(SYM)))
		return error_set(err, -EINVAL, "'symoff' counts from a symbol: add sym");
	if (of & (FIELD_BIT(SRCLINE) | FIELD_BIT(SRCCODE)) && !(of & FIELD_BIT(IP)))
		return error_set(err, -EINVAL, "'%s' needs an address: add ip",
				 of & FIELD_BIT(SRCLINE) ? "srcline" : "srccode");
	return 0;
}

int script_fields_fit(struct script_fields *f, const struct script_event *events, size_t n,
		      bool is_trace, struct error *err)
{
	bool has_chains = false;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++)
		r = script_fields_check_event(f, &events[i], is_trace, err);
	for (size_t i = 0; i < n && !r; i++)
		r = check_needs(f, script_type(events[i].attr), err);
	/* A tracepoint's call chain is shown where there is one, its pc alone is not. */
	for (size_t i = 0; i < n; i++)
		has_chains |= events[i].attr->type == PERF_TYPE_TRACEPOINT &&
			      events[i].attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	if (has_chains && !f->chosen[PERF_TYPE_TRACEPOINT])
		f->of_type[PERF_TYPE_TRACEPOINT] |= WHERE;
	return r;
}
