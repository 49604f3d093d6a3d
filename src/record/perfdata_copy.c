/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording written again: any of the forms that are read, as the one that all tools read. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "record/perfdata_file.h"
#include "record/replay.h"

struct copying {
	const struct perfdata_info *info;
	struct perfdata_file *file;
	bool has_rounds; /* one file: its rounds still hold */
};

/*
 * perf's own records that a file has; what a pipe tells of events and features by records stands in
 * the header and its sections. Those of the other byte order are not turned.
 */
static bool is_kept(const struct copying *c, uint32_t type)
{
	switch (type) {
	case USER_FINISHED_ROUND:
		return c->has_rounds;
	case USER_ID_INDEX:
	case USER_AUXTRACE_INFO:
	case USER_AUXTRACE:
	case USER_AUXTRACE_ERROR:
	case USER_THREAD_MAP:
	case USER_CPU_MAP:
	case USER_TIME_CONV:
	case USER_FINISHED_INIT:
	case USER_BPF_METADATA:
		return !c->info->is_foreign;
	default:
		return false;
	}
}

static int copy_record(void *context, const struct perfdata_record *r)
{
	struct copying *c = context;

	/* A pipe has the formats of tracepoints as a record, with its size before the padding. */
	if (r->type == USER_TRACING_DATA && r->size >= 12) {
		uint32_t size;

		memcpy(&size, r->bytes + 8, sizeof(size));
		if (!c->info->is_foreign && size <= r->payload_size)
			buf_bytes(writer_section(perfdata_file_sections(c->file),
						 FEATURE_TRACING_DATA),
				  r->payload, size);
		return 0;
	}
	if (r->type == USER_FINISHED_ROUND && c->has_rounds)
		perfdata_file_round(c->file);
	else if (r->type < USER_RECORD_FIRST || is_kept(c, r->type))
		perfdata_file_record(c->file, r->bytes, r->size);
	else
		return 0;
	if (r->payload_size)
		perfdata_file_payload(c->file, r->payload, r->payload_size);
	return perfdata_file_failure(c->file);
}

/* Sections that say how a file is laid out, which the new one is not. */
static bool is_about_layout(uint32_t bit)
{
	return bit == FEATURE_DIR_FORMAT || bit == FEATURE_COMPRESSED || bit == FEATURE_AUXTRACE ||
	       bit == FEATURE_EVENT_DESC;
}

static void take_build_id(void *context, const char *path, const struct build_id *id)
{
	/* perf takes what is marked as the kernel's for its modules, and crashes at a vdso. */
	bool is_kernel = (path[0] == '[' && strncmp(path, "[vdso", 5) != 0) ||
			 !strncmp(path, "/lib/modules/", 13);

	writer_build_id(context, path, id, is_kernel);
}

static void copy_sections(struct copying *c, const struct perfdata *data)
{
	struct writer_sections *s = perfdata_file_sections(c->file);
	const struct perfdata_info *info = c->info;
	struct buf build_ids = { 0 };

	vec_foreach (&info->sections, section) {
		if (is_about_layout(section->feature) || info->is_foreign)
			continue;
		buf_bytes(writer_section(s, section->feature), section->bytes, section->size_bytes);
	}
	if (info->is_foreign) {
		uint32_t n_cpus[2] = { info->n_cpus, info->n_cpus };

		writer_text_section(s, FEATURE_HOSTNAME, info->hostname);
		writer_text_section(s, FEATURE_OSRELEASE, info->os_release);
		writer_text_section(s, FEATURE_VERSION, info->version);
		writer_text_section(s, FEATURE_ARCH, info->arch);
		writer_text_section(s, FEATURE_CPUDESC, info->cpu_desc);
		writer_text_section(s, FEATURE_CPUID, info->cpu_id);
		if (info->n_cpus)
			buf_bytes(writer_section(s, FEATURE_NRCPUS), n_cpus, sizeof(n_cpus));
	}
	if (info->is_foreign || info->is_pipe)
		perfdata_each_build_id(data, take_build_id, &build_ids);
	if (build_ids.len)
		buf_bytes(writer_section(s, FEATURE_BUILD_ID), build_ids.data, build_ids.len);
	buf_fini(&build_ids);
}

static int open_copy(struct copying *c, const char *output, struct error *err)
{
	VEC(struct writer_event) events = { 0 };
	int r;

	vec_foreach (&c->info->counters, counter)
		vec_push(&events, (struct writer_event){ counter->attr, counter->name, counter->ids,
							 counter->n_ids });
	r = perfdata_file_open(output, events.data, events.n, &c->file, err);
	vec_fini(&events);
	return r;
}

int perfdata_file_copy(const char *path, const char *output, uint64_t *n_samples,
		       struct error *damage, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	struct copying c = { 0 };
	struct perfdata *data;
	int r = replay_open(path, &replay, err);

	if (r < 0)
		return r;
	data = replay_data(replay);
	c.info = perfdata_info(data);
	c.has_rounds = perfdata_n_files(data) == 1;
	r = open_copy(&c, output, err);
	if (r < 0)
		return r;
	r = perfdata_each_record(data, copy_record, &c, damage);
	if (r < 0 && !damage->code) {
		perfdata_file_abandon(c.file);
		return error_errno(err, r, "%s could not be written", output);
	}
	copy_sections(&c, data);
	*n_samples = perfdata_file_samples(c.file);
	return perfdata_file_close(c.file, NULL, err);
}
