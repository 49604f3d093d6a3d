/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event tables of libpfm4: the names of the vendors' manuals, which are similar to OProfile's.
 *
 * Initialising the library examines the processor and takes longer than the rest of parsing. So it
 * happens at the first name that no other table knows, and never for "cycles". Not safe for
 * threads.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/lazy_library.h"
#include "base/mem.h"
#include "config.h"
#include "counter/catalog/catalog.h"
#include "counter/catalog/event_file.h"
#include "counter/draft.h"

#ifdef HAVE_LIBPFM
#include <perfmon/pfmlib_perf_event.h>

#define FUNCTIONS(X)                 \
	X(pfm_initialize)            \
	X(pfm_strerror)              \
	X(pfm_find_event)            \
	X(pfm_get_event_info)        \
	X(pfm_get_event_next)        \
	X(pfm_get_event_attr_info)   \
	X(pfm_get_os_event_encoding) \
	X(pfm_get_pmu_info)

static struct {
	FUNCTIONS(LAZY_POINTER)
} lib;

static bool pfm_load(void)
{
#define ROW(function) { #function, &lib.function },
	static const struct lazy_function functions[] = { FUNCTIONS(ROW) };
#undef ROW

	return lazy_library_load(LIBPFM_SONAMES, functions, ARRAY_SIZE(functions), NULL) == 0;
}

static bool pfm_prepare(void)
{
	static enum { UNTRIED, READY, BROKEN } state;

	if (state == UNTRIED)
		state = pfm_load() && lib.pfm_initialize() == PFM_SUCCESS ? READY : BROKEN;
	return state == READY;
}

/* The unit masks of an event, for a message. */
static void list_masks(int event, struct buf *b)
{
	pfm_event_info_t info = { .size = sizeof(info) };

	if (lib.pfm_get_event_info(event, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS)
		return;
	for (int i = 0; i < info.nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (lib.pfm_get_event_attr_info(event, i, PFM_OS_PERF_EVENT_EXT, &attr) ==
			    PFM_SUCCESS &&
		    attr.type == PFM_ATTR_UMASK)
			buf_printf(b, "%s%s", b->len ? ", " : "", attr.name);
	}
}

static int explain_failure(const char *name, const char *spec, int code, struct error *err)
{
	struct buf masks = { 0 };
	char event[128];
	int r, index;

	snprintf(event, sizeof(event), "%.*s", (int)strcspn(name, ":"), name);
	index = lib.pfm_find_event(strstr(name, "::") ? name : event);
	if (index >= 0)
		list_masks(index, &masks);
	if (code == PFM_ERR_UMASK || code == PFM_ERR_ATTR)
		r = error_set(err, -EINVAL, "event '%s': %s; %s%.500s", spec,
			      code == PFM_ERR_ATTR ? "no such unit mask or attribute"
						   : "it needs another unit mask",
			      masks.len ? "it has " : "it has no unit masks",
			      masks.len ? buf_cstr(&masks) : "");
	else
		r = error_set(err, -EINVAL, "event '%s': %s", spec, lib.pfm_strerror(code));
	buf_fini(&masks);
	return r;
}

static void take_encoding(const struct perf_event_attr *attr, const char *name, struct draft *out)
{
	out->attr.type = attr->type;
	out->attr.config = attr->config;
	out->attr.config1 = attr->config1;
	out->attr.config2 = attr->config2;
	out->attr.precise_ip = attr->precise_ip;
	out->attr.pinned = attr->pinned;
	out->attr.exclusive = attr->exclusive;
	out->is_core = attr->type != PERF_TYPE_SOFTWARE && attr->type != PERF_TYPE_TRACEPOINT;
	/* Its own :u and :k; all else was asked for as the default below. */
	if (attr->exclude_user || attr->exclude_kernel) {
		out->has_mode = true;
		out->attr.exclude_user = attr->exclude_user;
		out->attr.exclude_kernel = attr->exclude_kernel;
		out->attr.exclude_hv = attr->exclude_hv;
	}
	if (attr->sample_period) {
		out->has_freq = attr->freq;
		out->has_count = !attr->freq;
		out->freq_hz = out->count = attr->sample_period;
	}
	snprintf(out->name, sizeof(out->name), "%s", name);
}

int pfm_find(const char *name, const char *spec, struct draft *out, struct error *err)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	char *full_name = NULL;
	pfm_perf_encode_arg_t arg = {
		.attr = &attr, .fstr = &full_name, .size = sizeof(arg), .cpu = -1
	};
	int r;

	memset(out, 0, sizeof(*out));
	if (!pfm_prepare())
		return 0;
	r = lib.pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
	free(full_name);
	if (r == PFM_ERR_NOTFOUND || r == PFM_ERR_NOTSUPP || r == PFM_ERR_NOINIT)
		return 0;
	if (r != PFM_SUCCESS)
		return explain_failure(name, spec, r, err);
	take_encoding(&attr, name, out);
	return 1;
}

/* More than any event of libpfm4's tables has. */
#define MASKS_MAX 128

static uint32_t pfm_masks_of(const pfm_event_info_t *event, struct event_mask *masks)
{
	uint32_t n = 0;

	for (int i = 0; i < event->nattrs && n < MASKS_MAX; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (lib.pfm_get_event_attr_info(event->idx, i, PFM_OS_PERF_EVENT_EXT, &attr) ==
			    PFM_SUCCESS &&
		    attr.type == PFM_ATTR_UMASK)
			masks[n++] = (struct event_mask){ .name = attr.name,
							  .help = attr.desc ? attr.desc : "",
							  .is_default = attr.is_dfl };
	}
	return n;
}

/* ---- the tables of other processors ---- */

/* libpfm4 has no least counts. Events that are as frequent as cycles need no smaller one. */
#define LEAST_COUNT 6000

static const struct {
	const char *cpu, *pmu;
} pfm_cpus[] = {
#define PFM_CPU(cpu, pmu) { cpu, pmu },
#include "counter/catalog/pfm_cpus.def"
#undef PFM_CPU
};

static const char *pfm_keep(struct event_table *t, const char *text)
{
	return text ? arena_strndup(t->arena, text, strlen(text)) : "";
}

/*
 * A mask of Intel's tables has the bits of the event select register above the mask, too: edge,
 * inversion and the counter mask.
 */
static struct event_unit unit_of(const pfm_pmu_info_t *pmu, const pfm_event_attr_info_t *attr,
				 struct event_table *t)
{
	bool has_bits = strncmp(pmu->name, "amd", 3) != 0 && strncmp(pmu->name, "netburst", 8) != 0;
	uint32_t code = (uint32_t)attr->code;
	uint32_t extra = has_bits ? code << 8 & (EXTRA_EDGE | EXTRA_ANY | EXTRA_INV |
						 UINT32_C(0xff) << EXTRA_CMASK)
				  : 0;

	return (struct event_unit){ .value = has_bits ? code & 0xff : code,
				    .extra = extra ? extra : EXTRA_NONE,
				    .name = pfm_keep(t, attr->name),
				    .help = pfm_keep(t, attr->desc) };
}

/* Unit masks by name, because several may share a code. */
static void take_masks(const pfm_pmu_info_t *pmu, const pfm_event_info_t *event,
		       struct event_table *t, struct unit_mask *out)
{
	*out = (struct unit_mask){ .name = "", .type = UNIT_MASK_EXCLUSIVE };
	for (int i = 0; i < event->nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };
		struct event_unit unit;

		if (lib.pfm_get_event_attr_info(event->idx, i, PFM_OS_NONE, &attr) != PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		unit = unit_of(pmu, &attr, t);
		if (attr.is_dfl || !out->units.n) {
			out->default_value = unit.value;
			out->default_name = unit.name;
		}
		vec_push(&out->units, unit);
	}
}

static void take_events(const pfm_pmu_info_t *pmu, struct event_table *t)
{
	for (int i = pmu->first_event; i >= 0; i = lib.pfm_get_event_next(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };
		struct table_event event;

		if (lib.pfm_get_event_info(i, PFM_OS_NONE, &info) != PFM_SUCCESS || info.equiv ||
		    event_table_find(t, info.name))
			continue;
		event = (struct table_event){ .name = pfm_keep(t, info.name),
					      .help = pfm_keep(t, info.desc),
					      .code = (uint32_t)info.code,
					      .counters = ALL_COUNTERS,
					      .minimum = LEAST_COUNT,
					      .filter = FILTER_NONE,
					      .mask_names = "",
					      .file = "libpfm4" };
		take_masks(pmu, &info, t, &event.mask);
		vec_push(&t->events, event);
	}
}

void pfm_add_to_table(const char *cpu, struct event_table *t)
{
	pfm_pmu_t pmu;

	for (size_t i = 0; i < ARRAY_SIZE(pfm_cpus); i++) {
		if (strcmp(pfm_cpus[i].cpu, cpu) != 0 || !pfm_prepare())
			continue;
		pfm_for_all_pmus(pmu)
		{
			pfm_pmu_info_t info = { .size = sizeof(info) };

			if (lib.pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS &&
			    !strcmp(info.name, pfm_cpus[i].pmu))
				take_events(&info, t);
		}
	}
}

static void each_of_pmu(const pfm_pmu_info_t *pmu, event_visitor visit, void *ctx)
{
	struct event_mask masks[MASKS_MAX];

	for (int i = pmu->first_event; i >= 0; i = lib.pfm_get_event_next(i)) {
		pfm_event_info_t info = { .size = sizeof(info) };

		if (lib.pfm_get_event_info(i, PFM_OS_PERF_EVENT_EXT, &info) == PFM_SUCCESS)
			visit(ctx, &(struct event_name){ .kind = EVENT_PROCESSOR,
							 .name = info.name,
							 .help = info.desc ? info.desc : "",
							 .masks = masks,
							 .n_masks = pfm_masks_of(&info, masks) });
	}
}

void pfm_each(event_visitor visit, void *ctx)
{
	pfm_pmu_t pmu;

	if (!pfm_prepare())
		return;
	pfm_for_all_pmus(pmu)
	{
		pfm_pmu_info_t info = { .size = sizeof(info) };

		if (lib.pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && info.is_present &&
		    info.type == PFM_PMU_TYPE_CORE)
			each_of_pmu(&info, visit, ctx);
	}
}
#else
int pfm_find(const char *name, const char *spec, struct draft *out, struct error *err)
{
	(void)name, (void)spec, (void)err;
	memset(out, 0, sizeof(*out));
	return 0;
}

void pfm_each(event_visitor visit, void *ctx)
{
	(void)visit, (void)ctx;
}

void pfm_add_to_table(const char *cpu, struct event_table *t)
{
	(void)cpu, (void)t;
}
#endif
