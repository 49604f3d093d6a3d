/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IBS as an extended feature: arguments, counters, statistics and logs. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "counter/sources.h"
#include "pipeline/ext.h"
#include "pipeline/ibs.h"

/* Bits of the unit mask of op events, as OProfile defines them. The kernel handles bit 0. */
#define MASK_ACCESSES (1U << 1) /* log what loads and stores touch */
#define MASK_TARGETS  (1U << 2) /* log where branches go */

#define EVENT_NAME_SIZE 64
#define OP_BRANCH       (1ULL << 37)
#define OP_ACCESS       3ULL

/* X(id, mask, file, header) */
#define LOGS(X)                                                                   \
	X(ACCESSES, MASK_ACCESSES, "ibs_memaccess.log",                           \
	  "pid tid cpu ip access linear-address physical-address missed latency") \
	X(TARGETS, MASK_TARGETS, "ibs_bta.log", "pid tid cpu ip target")

enum log {
#define X(id, mask, file, header) LOG_##id,
	LOGS(X)
#undef X
		N_LOGS
};

static const struct {
	uint32_t mask;
	const char *file, *header;
} logs[N_LOGS] = {
#define X(id, mask, file, header) { mask, file, header },
	LOGS(X)
#undef X
};

struct ibs_state {
	const struct counters *counters;
	uint32_t family, masks; /* masks: of all op events */
	FILE *logs[N_LOGS];
	uint64_t n_fetch, n_op, n_no_address, n_bad, n_counts;
};

/* ---- arguments: fetch:EVENT,…:COUNT:MASK|op:EVENT,…:COUNT:MASK ---- */

static int add_events(char *names, const char *count, const char *mask,
		      int (*add)(void *context, const char *event), void *context)
{
	int r = 0;

	for (char *name; !r && (name = strsep(&names, ","));) {
		char event[EVENT_NAME_SIZE * 2];

		snprintf(event, sizeof(event), "%.60s:%.30s%s%.30s", name, count, mask ? ":" : "",
			 mask ? mask : "");
		r = add(context, event);
	}
	return r;
}

static int init_part(char *part, int (*add)(void *context, const char *event), void *context,
		     struct error *err)
{
	const char *kind = strsep(&part, ":");
	char *names = strsep(&part, ":"), *count = strsep(&part, ":"), *mask = strsep(&part, ":");

	if ((strcmp(kind, "fetch") != 0 && strcmp(kind, "op") != 0) || !names || !*names ||
	    !count || part)
		return error_set(err, -EINVAL, "'%s…': wanted are %s", kind, ibs_feature.args);
	return add_events(names, count, mask, add, context);
}

static int ibs_init(const char *args, int (*add)(void *context, const char *event), void *context,
		    struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(args);
	char *rest = copy;
	int r = 0;

	for (char *part; !r && (part = strsep(&rest, "|"));)
		r = init_part(part, add, context, err);
	return r;
}

/* ---- a recording ---- */

static uint32_t read_family(const struct counter_sources *sources)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/cpuinfo", sources_proc(sources));
	cleanup(free_at_exit) char *text = NULL;
	uint32_t family = 0;
	const char *line;
	size_t size;

	if (file_read_all(path, 64 << 20, &text, &size) < 0)
		return 0;
	line = strstr(text, "cpu family");
	if (line && sscanf(line, "cpu family : %" SCNu32, &family) != 1)
		family = 0;
	return family;
}

static int ibs_check_event(const struct ibs_state *s, const struct counter *c, struct error *err)
{
	if (ibs_event_exists(c->event_code, s->family))
		return 0;
	return error_set(err, -ENOTSUP,
			 "event '%s': processors of family %" PRIx32 "h cannot count it", c->name,
			 s->family);
}

static int ibs_open(const struct counters *counters, const struct counter_sources *sources,
		    void **state, struct error *err)
{
	struct ibs_state *s = NULL;
	int r = 0;

	for (size_t i = 0; i < counters->n && !r; i++) {
		const struct counter *c = &counters->data[i];
		enum ibs_kind kind = ibs_kind_of(c->ext);

		if (kind == IBS_NONE)
			continue;
		if (!s) {
			s = xcalloc(1, sizeof(*s));
			s->counters = counters;
			s->family = read_family(sources);
		}
		r = ibs_check_event(s, c, err);
		if (kind == IBS_OP)
			s->masks |= (uint32_t)c->unit_mask;
	}
	*state = s;
	return r;
}

static void log_sample(struct ibs_state *s, const struct event *e, const struct ibs_sample *ibs)
{
	FILE *accesses = s->logs[LOG_ACCESSES], *targets = s->logs[LOG_TARGETS];

	if (accesses && ibs->data3 & OP_ACCESS)
		fprintf(accesses, "%d %d %u 0x%" PRIx64 " %s 0x%" PRIx64 " 0x%" PRIx64 " %u %u\n",
			e->pid, e->tid, e->cpu, e->sample.ip,
			(ibs->data3 & OP_ACCESS) == 1   ? "load"
			: (ibs->data3 & OP_ACCESS) == 2 ? "store"
							: "load+store",
			ibs->linear, ibs->physical, (unsigned int)(ibs->data3 >> 7 & 1),
			(unsigned int)(ibs->data3 >> 32 & 0xffff));
	if (targets && ibs->has_target && ibs->data1 & OP_BRANCH)
		fprintf(targets, "%d %d %u 0x%" PRIx64 " 0x%" PRIx64 "\n", e->pid, e->tid, e->cpu,
			e->sample.ip, ibs->target);
}

static int ibs_derive(void *state, const struct event *e, struct ext_count counts[EXT_MAX_COUNTS])
{
	struct ibs_state *s = state;
	enum ibs_kind kind = ibs_kind_of(s->counters->data[e->sample.counter].ext);
	const struct sample_extra *extra = e->sample.extra;
	struct ibs_sample ibs;
	int n = 0;

	if (!extra || !extra->raw || !ibs_parse(kind, extra->raw, extra->raw_size, &ibs)) {
		s->n_bad++;
		return EXT_BAD;
	}
	s->n_fetch += kind == IBS_FETCH;
	s->n_op += kind == IBS_OP;
	if (!ibs_has_address(&ibs, s->family)) {
		s->n_no_address++;
		return EXT_LOST;
	}
	for (uint32_t i = 0; i < s->counters->n && n < EXT_MAX_COUNTS; i++) {
		const struct counter *c = &s->counters->data[i];
		uint64_t count = 0;

		if (ibs_kind_of(c->ext) == kind)
			count = ibs_count(&ibs, c->event_code, s->family);
		if (count)
			counts[n++] = (struct ext_count){ i, count,
							  ibs_counts_cycles(c->event_code)
								  ? count
								  : e->sample.period };
	}
	if (kind == IBS_OP)
		log_sample(s, e, &ibs);
	s->n_counts += (uint64_t)n;
	return n;
}

static void ibs_print(const void *state, ext_visitor visit, void *context)
{
	const struct ibs_state *s = state;

	visit(context, "ibs", "fetch-samples", s->n_fetch);
	visit(context, "ibs", "op-samples", s->n_op);
	visit(context, "ibs", "without-address", s->n_no_address);
	visit(context, "ibs", "incomplete", s->n_bad);
	visit(context, "ibs", "counts", s->n_counts);
}

/* ---- logs ---- */

static void close_files(void *state)
{
	struct ibs_state *s = state;

	for (size_t i = 0; i < N_LOGS; i++) {
		if (s->logs[i])
			fclose(s->logs[i]);
		s->logs[i] = NULL;
	}
}

static int create_files(void *state, const char *dir, struct error *err)
{
	struct ibs_state *s = state;

	for (size_t i = 0; i < N_LOGS; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, logs[i].file);

		if (!(s->masks & logs[i].mask))
			continue;
		s->logs[i] = fopen(path, "we");
		if (!s->logs[i])
			return error_errno(err, -errno, "cannot write %s", path);
		fprintf(s->logs[i], "# %s\n", logs[i].header);
	}
	return 0;
}

static int dup_files(void *state, const char *dir, struct error *err)
{
	close_files(state);
	return create_files(state, dir, err);
}

static void sync_files(void *state)
{
	struct ibs_state *s = state;

	for (size_t i = 0; i < N_LOGS; i++)
		if (s->logs[i])
			fflush(s->logs[i]);
}

static const struct ext_file_handlers files = {
	.create = create_files,
	.dup = dup_files,
	.sync = sync_files,
	.close = close_files,
};

const struct ext_feature ibs_feature = {
	.name = "ibs",
	.args = "fetch:EVENT,…:COUNT:MASK|op:EVENT,…:COUNT:MASK",
	.help = "instruction-based sampling of AMD processors",
	.init = ibs_init,
	.open = ibs_open,
	.close = free,
	.derive = ibs_derive,
	.print = ibs_print,
	.files = &files,
};
