/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "counter/foreign_trace.h"
#include "counter/intel_pt.h"
#include "counter/sources.h"

/* The present event, for lookups and messages. */
struct pmu_parse {
	const struct counter_sources *sources;
	const char *pmu, *spec;
	bool in_alias;
	struct draft *d;
	struct error *err;
};

static char *pmu_path(const struct counter_sources *sources, const char *pmu, const char *rest)
{
	return xasprintf("%s/bus/event_source/devices/%s%s%s", sources_sysfs(sources), pmu,
			 *rest ? "/" : "", rest);
}

/* A word of the user's becomes part of a path: one component, and not a hidden one. */
static bool pmu_is_component(const char *word)
{
	return *word && *word != '.' && !strchr(word, '/') && strlen(word) < PMU_NAME_SIZE;
}

static bool pmu_read_line(const struct counter_sources *sources, const char *pmu, const char *rest,
			  char *line, size_t size)
{
	char *path = pmu_path(sources, pmu, rest);
	bool ok = file_read_line(path, line, size);

	free(path);
	return ok;
}

static bool exists(const struct counter_sources *sources, const char *pmu, const char *rest)
{
	char *path = pmu_path(sources, pmu, rest);
	bool ok = access(path, F_OK) == 0;

	free(path);
	return ok;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The visible entries of a directory below a PMU's, sorted; none when it is not there. */
static void list(const struct counter_sources *sources, const char *pmu, const char *rest,
		 struct pmu_names *out)
{
	cleanup(free_at_exit) char *path = pmu_path(sources, pmu, rest);
	DIR *dir = opendir(path);
	const struct dirent *d;

	if (!dir)
		return;
	while ((d = readdir(dir)))
		if (pmu_is_component(d->d_name))
			vec_push(out, xstrdup(d->d_name));
	closedir(dir);
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_text);
}

void pmu_names_fini(struct pmu_names *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_fini(names);
}

/* Every PMU, sorted. */
static void pmu_list(const struct counter_sources *sources, struct pmu_names *out)
{
	list(sources, "", "", out);
}

/* Keeps the names whose PMU has the file. */
static void keep_with(const struct counter_sources *sources, const char *file,
		      struct pmu_names *names)
{
	size_t n = 0;

	for (size_t i = 0; i < names->n; i++) {
		if (exists(sources, names->data[i], file))
			names->data[n++] = names->data[i];
		else
			free(names->data[i]);
	}
	names->n = n;
}

void pmu_list_cores(const struct counter_sources *sources, struct pmu_names *out)
{
	pmu_list(sources, out);
	keep_with(sources, "cpus", out);
}

void pmu_list_hybrid(const struct counter_sources *sources, struct pmu_names *out)
{
	pmu_list_cores(sources, out);
	if (out->n < 2)
		pmu_names_fini(out);
}

void pmu_list_with_alias(const struct counter_sources *sources, const char *alias,
			 struct pmu_names *out)
{
	char file[PMU_NAME_SIZE + 8];

	if (!pmu_is_component(alias))
		return;
	snprintf(file, sizeof(file), "events/%s", alias);
	pmu_list(sources, out);
	keep_with(sources, file, out);
}

bool pmu_has_alias(const struct counter_sources *sources, const char *pmu, const char *alias)
{
	char file[PMU_NAME_SIZE + 8];

	snprintf(file, sizeof(file), "events/%s", alias);
	return pmu_is_component(pmu) && pmu_is_component(alias) && exists(sources, pmu, file);
}

bool pmu_type(const struct counter_sources *sources, const char *pmu, uint32_t *type)
{
	char line[32], *end;
	unsigned long v;

	if (!pmu_is_component(pmu) || !pmu_read_line(sources, pmu, "type", line, sizeof(line)))
		return false;
	v = strtoul(line, &end, 10);
	if (end == line || *end || v > UINT32_MAX)
		return false;
	*type = (uint32_t)v;
	return true;
}

bool pmu_file_number(const struct counter_sources *sources, const char *pmu, const char *file,
		     int base, uint64_t *out)
{
	char line[32], *end;
	uint64_t v;

	if (!pmu_is_component(pmu) || !pmu_read_line(sources, pmu, file, line, sizeof(line)))
		return false;
	v = strtoull(line, &end, base);
	if (end == line || *end)
		return false;
	*out = v;
	return true;
}

char *pmu_cpus(const struct counter_sources *sources, const char *pmu)
{
	char line[256];

	if (*pmu && (pmu_read_line(sources, pmu, "cpus", line, sizeof(line)) ||
		     pmu_read_line(sources, pmu, "cpumask", line, sizeof(line))))
		return *line ? xstrdup(line) : NULL;
	return NULL;
}

static void pmu_add_names(struct buf *b, const struct counter_sources *sources, const char *pmu,
			  const char *rest)
{
	struct pmu_names names = { 0 };

	list(sources, pmu, rest, &names);
	vec_foreach (&names, name)
		if (!strchr(*name, '.')) /* events/NAME.unit, NAME.scale: about NAME */
			buf_printf(b, "%s%s", b->len ? ", " : "", *name);
	pmu_names_fini(&names);
}

static int unknown_pmu(const struct counter_sources *sources, const char *pmu, const char *spec,
		       struct error *err)
{
	struct buf names = { 0 };
	int r;

	if (!strcmp(pmu, INTEL_PT)) {
		intel_pt_absence(sources, &names);
		r = error_set(err, -ENOENT, "event '%s': no Intel PT here: %s", spec,
			      buf_cstr(&names));
		buf_fini(&names);
		return r;
	}
	pmu_add_names(&names, sources, "", "");
	r = error_set(err, -ENOENT, "event '%s': no PMU '%s' here; there are: %.400s", spec, pmu,
		      names.len ? buf_cstr(&names) : "none");
	buf_fini(&names);
	return r;
}

static int unknown_term(const struct pmu_parse *p, const char *term)
{
	struct buf names = { 0 };
	int r;

	if (!*p->pmu)
		return error_set(p->err, -EINVAL,
				 "event '%s': it has no term '%s'; it has: period, freq, name, "
				 "aux-output, aux-sample-size",
				 p->spec, term);
	pmu_add_names(&names, p->sources, p->pmu, "format");
	pmu_add_names(&names, p->sources, p->pmu, "events");
	r = error_set(p->err, -EINVAL,
		      "event '%s': PMU '%s' has no term or event '%s'; it has: %.400s%sconfig, "
		      "config1, config2, period, freq, name",
		      p->spec, p->pmu, term, names.len ? buf_cstr(&names) : "",
		      names.len ? ", " : "");
	buf_fini(&names);
	return r;
}

static int pmu_parse_value(const struct pmu_parse *p, const char *term, const char *text,
			   uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return error_set(p->err, -EINVAL, "event '%s': %s='%s' is not a number", p->spec,
				 term, text);
	return 0;
}

/* "config", "config1" or "config2"; a kernel with a config3 is newer than these headers. */
static __u64 *config_field(struct perf_event_attr *attr, const char *name, size_t len)
{
	static const struct {
		const char *name;
		size_t offset;
	} fields[] = {
		{ "config", offsetof(struct perf_event_attr, config) },
		{ "config1", offsetof(struct perf_event_attr, config1) },
		{ "config2", offsetof(struct perf_event_attr, config2) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (strlen(fields[i].name) == len && !strncmp(fields[i].name, name, len))
			return (__u64 *)((char *)attr + fields[i].offset);
	return NULL;
}

/* One "LOW-HIGH" or "BIT" of a format; *text moves behind it and its comma. */
static bool pmu_next_range(const char **text, unsigned int *low, unsigned int *high)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	*low = *high = (unsigned int)strtoul(*text, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*high = (unsigned int)strtoul(end + 1, &end, 10);
	if ((*end && *end != ',') || *high > 63 || *low > *high)
		return false;
	*text = *end ? end + 1 : end;
	return true;
}

/*
 * Puts the value into the bits that a format names, lowest bits first:
 *
 *   config:0-7,32-35    value bits 0-7 -> config bits 0-7, value bits 8-11 -> bits 32-35
 */
static int set_bits(const struct pmu_parse *p, const char *term, const char *format, uint64_t value)
{
	size_t len = strcspn(format, ":");
	__u64 *field = config_field(&p->d->attr, format, len);
	const char *at = format[len] ? format + len + 1 : "";
	unsigned int low, high, width = 0;
	uint64_t set = 0, mask = 0;

	if (!field || !*at)
		return error_set(
			p->err, -EINVAL,
			"event '%s': the format of '%s' is '%s', which assay does not know",
			p->spec, term, format);
	while (*at) {
		uint64_t ones;

		if (!pmu_next_range(&at, &low, &high))
			return error_set(p->err, -EINVAL,
					 "event '%s': the format of '%s' is damaged: '%s'", p->spec,
					 term, format);
		ones = high - low == 63 ? UINT64_MAX : (1ULL << (high - low + 1)) - 1;
		mask |= ones << low;
		if (width < 64)
			set |= (value >> width & ones) << low;
		width += high - low + 1;
	}
	if (width < 64 && value >> width)
		return error_set(p->err, -EINVAL,
				 "event '%s': %s=%#" PRIx64 " is too large; it has %u bit%s",
				 p->spec, term, value, width, width == 1 ? "" : "s");
	*field = (*field & ~mask) | set;
	if (field == &p->d->attr.config)
		p->d->set_config |= mask;
	return 0;
}

uint64_t pmu_format_bits(const struct counter_sources *sources, const char *pmu, const char *term)
{
	char file[PMU_NAME_SIZE + 8], format[128];
	const char *at = format + strlen("config:");
	unsigned int low, high;
	uint64_t bits = 0;

	snprintf(file, sizeof(file), "format/%s", term);
	if (!pmu_is_component(term) || !pmu_read_line(sources, pmu, file, format, sizeof(format)) ||
	    strncmp(format, "config:", strlen("config:")) != 0)
		return 0;
	while (*at && pmu_next_range(&at, &low, &high))
		bits |= (high - low == 63 ? UINT64_MAX : (1ULL << (high - low + 1)) - 1) << low;
	return bits;
}

/* Parses a term of an event about the trace in its group. Returns 1 if it was such a term. */
static int aux_term(const struct pmu_parse *p, const char *term, const char *value)
{
	uint64_t number = 1;
	int r = 0;

	if (!strcmp(term, "aux-output")) {
		p->d->attr.aux_output = 1;
		return 1;
	}
	if (strcmp(term, "aux-sample-size") != 0)
		return 0;
	r = pmu_parse_value(p, term, value ? value : "", &number);
	if (!r && number > AUX_SAMPLE_MAX)
		r = error_set(p->err, -EINVAL,
			      "event '%s': aux-sample-size=%" PRIu64
			      " is too large: a sample takes %d "
			      "bytes of trace at most",
			      p->spec, number, AUX_SAMPLE_MAX);
	p->d->attr.aux_sample_size = (uint32_t)number;
	return r < 0 ? r : 1;
}

/* Terms that every PMU has, whatever its format/ says. 1: it was one. */
static int well_known_term(const struct pmu_parse *p, const char *term, const char *value)
{
	__u64 *field = config_field(&p->d->attr, term, strlen(term));
	bool is_period = !strcmp(term, "period"), is_freq = !strcmp(term, "freq");
	uint64_t number;
	int r;

	if (!strcmp(term, "name")) {
		if (!value || !*value)
			return error_set(p->err, -EINVAL, "event '%s': name= needs a name",
					 p->spec);
		snprintf(p->d->name, sizeof(p->d->name), "%s", value);
		return 1;
	}
	if (!field && !is_period && !is_freq)
		return 0;
	r = pmu_parse_value(p, term, value ? value : "", &number);
	if (r < 0)
		return r;
	if (field) {
		*field = number;
		if (field == &p->d->attr.config)
			p->d->set_config = UINT64_MAX;
	} else if (is_period) {
		p->d->has_count = true;
		p->d->count = number;
	} else {
		p->d->has_freq = true;
		p->d->freq_hz = number;
	}
	return 1;
}

static int format_term(const struct pmu_parse *p, const char *term, const char *value)
{
	char file[PMU_NAME_SIZE + 8], format[128];
	uint64_t number = 1; /* a term alone sets its bit */
	int r = 0;

	snprintf(file, sizeof(file), "format/%s", term);
	if (!pmu_read_line(p->sources, p->pmu, file, format, sizeof(format)))
		return 0;
	if (value)
		r = pmu_parse_value(p, term, value, &number);
	if (r == 0)
		r = set_bits(p, term, format, number);
	return r < 0 ? r : 1;
}

static int parse_terms(const struct pmu_parse *p, const char *terms);

static int alias_term(const struct pmu_parse *p, const char *term)
{
	struct pmu_parse inner = *p;
	char file[PMU_NAME_SIZE + 8], terms[512];
	int r;

	snprintf(file, sizeof(file), "events/%s", term);
	if (p->in_alias || !pmu_read_line(p->sources, p->pmu, file, terms, sizeof(terms)))
		return 0;
	inner.in_alias = true;
	r = parse_terms(&inner, terms);
	return r < 0 ? r : 1;
}

/* cpu/cycles/: the kernel's own names, on the PMU of a processor core. */
static int generic_term(const struct pmu_parse *p, const char *term)
{
	struct draft found = { 0 };
	uint32_t type = p->d->attr.type;

	if (!*p->pmu || !p->d->is_core || generic_find(term, &found) <= 0 || !found.is_core)
		return 0;
	p->d->attr.type = found.attr.type;
	/* Bits 32 to 63 choose the PMU; without them the kernel takes the first core PMU. */
	p->d->attr.config = found.attr.config;
	if (type != PERF_TYPE_RAW)
		p->d->attr.config |= (uint64_t)type << PERF_PMU_TYPE_SHIFT;
	return 1;
}

static int raw_term(const struct pmu_parse *p, const char *term)
{
	struct draft found = { 0 };

	if (!*p->pmu || raw_find(term, &found) <= 0)
		return 0;
	p->d->attr.config = found.attr.config;
	return 1;
}

static int parse_term(const struct pmu_parse *p, char *term)
{
	char *value = strchr(term, '=');
	int r;

	if (value)
		*value++ = '\0';
	if (!pmu_is_component(term))
		return error_set(p->err, -EINVAL, "event '%s': '%s' is no term", p->spec, term);
	r = well_known_term(p, term, value);
	if (r == 0)
		r = aux_term(p, term, value);
	if (r == 0)
		r = format_term(p, term, value);
	if (r == 0 && !value)
		r = alias_term(p, term);
	if (r == 0 && !value)
		r = generic_term(p, term);
	if (r == 0 && !value)
		r = raw_term(p, term);
	return r ? r : unknown_term(p, term);
}

static int parse_terms(const struct pmu_parse *p, const char *terms)
{
	cleanup(free_at_exit) char *text = xstrdup(terms);
	char *rest = *text ? text : NULL; /* intel_pt// has none */

	for (char *term; (term = strsep(&rest, ","));) {
		int r = parse_term(p, term);

		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * IBS has no modes in hardware. Since Linux 6.14 the kernel drops samples of other modes if config2
 * asks for it, and refuses modes if not (arch/x86/events/amd/ibs.c, swfilt).
 */
static void learn_ibs(const struct pmu_parse *p)
{
	struct draft with = { 0 };
	struct pmu_parse q = *p;

	q.d = &with;
	p->d->is_ibs = true;
	if (format_term(&q, "swfilt", NULL) > 0)
		p->d->filter = with.attr.config2;
}

int pmu_parse(const struct counter_sources *sources, const char *pmu, const char *terms,
	      const char *spec, struct draft *out, struct error *err)
{
	struct pmu_parse p = { sources, pmu, spec, false, out, err };
	uint32_t type;
	int r;

	memset(out, 0, sizeof(*out));
	if (foreign_trace_of_pmu(pmu))
		return error_set(err, -ENOTSUP,
				 "event '%s': assay does not record %s; the one trace that it "
				 "records and decodes is Intel PT",
				 spec, foreign_trace_of_pmu(pmu));
	if (!pmu_type(sources, pmu, &type))
		return unknown_pmu(sources, pmu, spec, err);
	out->attr.type = type;
	out->is_core = !strcmp(pmu, "cpu") || exists(sources, pmu, "cpus");
	snprintf(out->pmu, sizeof(out->pmu), "%s", pmu);
	if (!strcmp(pmu, INTEL_PT))
		intel_pt_defaults(sources, &out->attr);
	if (!strcmp(pmu, "ibs_op") || !strcmp(pmu, "ibs_fetch"))
		learn_ibs(&p);
	r = parse_terms(&p, terms);
	if (r >= 0 && !strcmp(pmu, INTEL_PT))
		r = intel_pt_check(sources, spec, out, err);
	return r < 0 ? r : 0;
}

int generic_parse(const struct counter_sources *sources, const char *name, const char *terms,
		  const char *spec, struct draft *out, struct error *err)
{
	struct pmu_parse p = { sources, "", spec, true, out, err };
	int r;

	if (generic_find(name, out) <= 0)
		return 0;
	r = parse_terms(&p, terms);
	return r < 0 ? r : 1;
}

void pmu_each(const struct counter_sources *sources, event_visitor visit, void *ctx)
{
	struct pmu_names pmus = { 0 };

	pmu_list(sources, &pmus);
	vec_foreach (&pmus, pmu) {
		struct pmu_names aliases = { 0 };

		list(sources, *pmu, "events", &aliases);
		vec_foreach (&aliases, alias) {
			char *name = xasprintf("%s/%s/", *pmu, *alias);

			if (!strchr(*alias, '.'))
				visit(ctx, &(struct event_name){ .kind = EVENT_PMU,
								 .name = name,
								 .alias = *alias,
								 .help = "" });
			free(name);
		}
		pmu_names_fini(&aliases);
	}
	pmu_names_fini(&pmus);
}
