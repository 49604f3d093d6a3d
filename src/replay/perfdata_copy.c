/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording again, in the form that all tools read. The source may have any form that
 * assay reads. A processor trace is written as recorded, or as the samples that --itrace makes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "event/trace_error.h"
#include "guard/open.h"
#include "machine/image_look.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "pt/flow.h"
#include "replay/perfdata_file.h"
#include "replay/replay.h"
#include "trace/itrace.h"

/* What perf adds to the id of the event that was traced, for those that are made of it. */
#define SYNTH_ID_BASE 1000000000ULL

/* An id for each event that is made. */
enum { MAX_MADE = 64 };

struct copying {
	const struct perfdata_copy *config;
	const struct perfdata_info *info;
	struct perfdata_file *file;
	bool has_rounds; /* one file: its rounds still hold */
	struct buf record;
	/* Samples of the trace. */
	struct event_sink sink;
	struct machine *machine; /* that a filter of branches looks at; NULL: none does */
	size_t n_counters;       /* of the recording itself */
	uint64_t ids[MAX_MADE];
	struct perf_event_attr attrs[MAX_MADE];
	uint64_t n_made, n_errors, n_unverified, n_unwritten;
	VEC(struct branch) branches; /* of the sample at hand, changed */
	struct strings mapped;       /* files that may want a build id */
};

/*
 * perf's own records that a file has; what a pipe tells of events and features by records stands in
 * the header and its sections. Those of the other byte order are not turned.
 */
static bool perfdata_copy_is_kept(const struct copying *c, uint32_t type)
{
	/* The trace is replaced; its samples come behind all else, so that rounds hold no more. */
	if (c->config->itrace && (type == USER_AUXTRACE_INFO || type == USER_AUXTRACE ||
				  type == USER_AUXTRACE_ERROR || type == USER_FINISHED_ROUND))
		return false;
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

/* Of the kernel's records: what says of the trace where it is goes with it. */
static bool is_dropped(const struct copying *c, const struct perfdata_record *r)
{
	if (!c->config->itrace)
		return false;
	return r->type == PERF_RECORD_AUX || r->type == PERF_RECORD_ITRACE_START ||
	       r->type == PERF_RECORD_AUX_OUTPUT_HW_ID ||
	       (c->config->strips && r->type == PERF_RECORD_SAMPLE);
}

/* A sample's own piece of trace is its last field: a size and so many bytes. */
static void copy_without_aux(struct copying *c, const struct perfdata_record *r)
{
	uint64_t aux_size = r->event.sample.extra->aux_size;
	size_t size = r->size - aux_size;
	uint16_t size16 = (uint16_t)size;

	c->record.len = 0;
	buf_bytes(&c->record, r->bytes, size);
	memcpy(c->record.data + 6, &size16, sizeof(size16));
	memset(c->record.data + size - 8, 0, 8);
	perfdata_file_record(c->file, c->record.data, size);
}

static bool has_aux(const struct perfdata_record *r)
{
	const struct sample_extra *x =
		r->has_event && r->type == PERF_RECORD_SAMPLE ? r->event.sample.extra : NULL;

	return x && x->aux && x->aux_size && x->aux + x->aux_size == r->bytes + r->size;
}

/* A piece of trace that was cut has fewer bytes than its record says. */
static void copy_aux(struct copying *c, const struct perfdata_record *r)
{
	uint8_t bytes[WRITER_AUX_SIZE];

	memcpy(bytes, r->bytes, sizeof(bytes));
	memcpy(bytes + 8, &r->payload_size, sizeof(r->payload_size));
	perfdata_file_record(c->file, bytes, sizeof(bytes));
}

static int copy_record(void *context, const struct perfdata_record *r)
{
	struct copying *c = context;

	if (c->config->with_build_ids && r->has_event && r->event.type == EVENT_MAPPING &&
	    r->event.mapping.path[0] == '/' && !r->event.mapping.build_id.len)
		strings_add(&c->mapped, r->event.mapping.path);
	if (is_dropped(c, r))
		return 0;
	if (c->config->itrace && has_aux(r)) {
		copy_without_aux(c, r);
		return perfdata_file_failure(c->file);
	}
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
	if (r->type == USER_AUXTRACE && r->size == WRITER_AUX_SIZE &&
	    perfdata_copy_is_kept(c, r->type))
		copy_aux(c, r);
	else if (r->type == USER_FINISHED_ROUND && c->has_rounds)
		perfdata_file_round(c->file);
	else if (r->type < USER_RECORD_FIRST || perfdata_copy_is_kept(c, r->type))
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

struct known_build {
	const char *path;
	bool is_known;
};

static void known_build_compare(void *context, const char *path, const struct build_id *id)
{
	struct known_build *known = context;

	known->is_known |= id->len && !strcmp(path, known->path);
}

/* Of files that are here, if the recording has no build ids of them. */
static void add_build_ids(struct copying *c, const struct perfdata *data, struct buf *out)
{
	for (uint32_t i = 1; i < c->mapped.n; i++) {
		struct known_build known = { .path = strings_get(&c->mapped, (string_id){ i }) };
		struct file_mapping bytes;
		struct image_look look;

		perfdata_each_build_id(data, known_build_compare, &known);
		if (known.is_known ||
		    guard_map(GUARD_HERE, known.path, &guard_image_rules, &bytes, NULL) < 0)
			continue;
		image_look(&bytes, &(struct image_look_wish){ IMAGE_AT_ITS_PATH }, &look, NULL);
		if (look.head.build_id.len)
			take_build_id(out, known.path, &look.head.build_id);
		image_look_fini(&look);
		file_unmap(&bytes);
	}
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
	if (info->is_foreign || info->is_pipe || c->config->with_build_ids)
		perfdata_each_build_id(data, take_build_id, &build_ids);
	if (c->config->with_build_ids)
		add_build_ids(c, data, &build_ids);
	if (c->config->itrace &&
	    (c->config->itrace->last_branches || c->config->itrace->adds_last_branches))
		writer_section(s, FEATURE_BRANCH_STACK);
	if (build_ids.len)
		buf_bytes(writer_section(s, FEATURE_BUILD_ID), build_ids.data, build_ids.len);
	buf_fini(&build_ids);
}

/* ---- the samples of the trace ---- */

/*
 * Events that are made get an id, where the others have theirs: all of a file's have to agree in
 * that. -ENOTSUP: they have none.
 */
static int add_ids(struct copying *c, const struct perfdata_info *made, struct error *err)
{
	uint64_t where = made->counters.data[0].attr.sample_type & PERF_SAMPLE_IDENTIFIER;
	uint64_t first = 0;

	if (!where)
		return error_set(err, -ENOTSUP,
				 "its samples have no ids (PERF_SAMPLE_IDENTIFIER), so that no "
				 "events can be added to it");
	for (size_t i = 0; i < c->n_counters; i++)
		for (uint32_t k = 0; k < made->counters.data[i].n_ids; k++)
			first = MAX(first, made->counters.data[i].ids[k]);
	for (size_t i = c->n_counters; i < made->counters.n && i - c->n_counters < MAX_MADE; i++) {
		size_t k = i - c->n_counters;

		c->ids[k] = first + SYNTH_ID_BASE + k;
		c->attrs[k] = made->counters.data[i].attr;
		c->attrs[k].sample_type |= where;
		c->attrs[k].sample_id_all = made->counters.data[0].attr.sample_id_all;
	}
	return 0;
}

/* With mispred-all every branch counts as mispredicted: AutoFDO's tools take no others. */
static const struct sample_extra *mark_branches(struct copying *c, const struct sample_extra *x,
						struct sample_extra *changed)
{
	if (!c->config->marks_mispredicted || !x || !x->n_branches)
		return x;
	*changed = *x;
	c->branches.n = 0;
	for (uint32_t i = 0; i < x->n_branches; i++) {
		vec_push(&c->branches, x->branches[i]);
		c->branches.data[i].flags |= 1; /* perf_branch_entry.mispred */
	}
	changed->branches = c->branches.data;
	return changed;
}

/* Of a recorded event whose samples are in the trace (PEBS), and so are made. */
static bool is_in_trace(const struct copying *c, const struct event *e)
{
	const struct perfdata_counter *counter = &c->info->counters.data[e->sample.counter];

	return e->sample.counter < c->n_counters && counter->attr.aux_output && counter->n_ids;
}

static void write_sample(struct copying *c, const struct event *e)
{
	const struct perfdata_counter *own =
		is_in_trace(c, e) ? &c->info->counters.data[e->sample.counter] : NULL;
	size_t k = e->sample.counter - c->n_counters;
	struct sample_extra changed;
	struct event sample = *e;

	sample.sample.extra = mark_branches(c, e->sample.extra, &changed);
	c->record.len = 0;
	if ((own || k < MAX_MADE) &&
	    writer_sample(own ? &own->attr : &c->attrs[k], own ? own->ids[0] : c->ids[k], &sample,
			  &c->record)) {
		perfdata_file_record(c->file, c->record.data, c->record.len);
		c->n_made++;
	} else {
		c->n_unwritten++;
	}
}

/* As perf's struct perf_record_auxtrace_error, in the format without a machine. */
static void write_error_record(struct copying *c, const struct event *e, uint32_t code, uint64_t ip,
			       const char *text)
{
	struct {
		struct perf_event_header header;
		uint32_t type, code, cpu, pid, tid, format;
		uint64_t ip, time_ns;
		char text[64];
	} error = {
		.header = { .type = USER_AUXTRACE_ERROR, .size = sizeof(error) },
		.type = 1, /* of an instruction trace */
		.code = code,
		.cpu = e->cpu,
		.pid = (uint32_t)e->pid,
		.tid = (uint32_t)e->tid,
		.format = 1,
		.ip = ip,
		.time_ns = e->time_ns,
	};

	snprintf(error.text, sizeof(error.text), "%s", text);
	perfdata_file_record(c->file, &error, sizeof(error));
}

static void write_error(struct copying *c, const struct event *e)
{
	write_error_record(c, e, trace_error_code(e->trace_error.reason), e->trace_error.addr,
			   trace_error_text(e->trace_error.reason));
	c->n_errors++;
}

/* perf has no record for it, and shows it as an error. The record has the time of its end. */
static void write_unverified(struct copying *c, const struct event *e)
{
	cleanup(free_at_exit) char *text =
		xasprintf("unverified: %" PRIu64 " instructions from %" PRIu64 ".%09" PRIu64,
			  e->trace_unverified.insns, e->trace_unverified.from_ns / NS_PER_SECOND,
			  e->trace_unverified.from_ns % NS_PER_SECOND);

	write_error_record(c, e, TRACE_ERROR_UNVERIFIED, 0, text);
	c->n_unverified++;
}

static int take_made(struct event_sink *sink, const struct event *e)
{
	struct copying *c = (struct copying *)((char *)sink - offsetof(struct copying, sink));

	if (e->type == EVENT_SAMPLE && (e->sample.counter >= c->n_counters || is_in_trace(c, e)))
		write_sample(c, e);
	else if (e->type == EVENT_TRACE_ERROR)
		write_error(c, e);
	else if (e->type == EVENT_TRACE_UNVERIFIED)
		write_unverified(c, e);
	if (e->type != EVENT_SAMPLE && c->machine)
		machine_event(c->machine, e);
	return perfdata_file_failure(c->file);
}

/* ---- all of it ---- */

static int open_copy(struct copying *c, const struct perfdata_info *made, struct error *err)
{
	VEC(struct writer_event) events = { 0 };
	int r;

	vec_foreach (&c->info->counters, counter)
		vec_push(&events, (struct writer_event){ counter->attr, counter->name, counter->ids,
							 counter->n_ids });
	for (size_t i = c->n_counters; made && i < MIN(made->counters.n, c->n_counters + MAX_MADE);
	     i++)
		vec_push(&events, (struct writer_event){ c->attrs[i - c->n_counters],
							 made->counters.data[i].name,
							 &c->ids[i - c->n_counters], 1 });
	r = perfdata_file_open(c->config->output, events.data, events.n, &c->file, err);
	vec_fini(&events);
	return r;
}

/* A second reader of the recording, which decodes. -ENODATA: there is nothing to decode. */
static int open_decoder(struct copying *c, struct replay **out, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *r = NULL;
	int e = replay_open(c->config->path, &r, err);

	if (e < 0)
		return e;
	if (!replay_find_trace(r)) {
		e = replay_no_trace(r,
				    ": there is nothing to decode (without --itrace it is copied)",
				    err);
		return error_wrap(err, e, "%s", c->config->path);
	}
	c->n_counters = perfdata_info(replay_data(r))->counters.n;
	e = replay_decode(r, c->config->itrace, c->config->places, err);
	if (e >= 0)
		e = add_ids(c, perfdata_info(replay_data(r)), err);
	if (e < 0)
		return error_wrap(err, e, "%s", c->config->path);
	*out = take_ptr(r);
	return 0;
}

static int perfdata_copy_records(struct copying *c, struct replay *replay, struct replay *decoder,
				 struct perfdata_copied *result, struct error *damage,
				 struct error *err)
{
	struct perfdata *data = replay_data(replay);
	struct error again = { 0 };
	int r;

	c->info = perfdata_info(data);
	c->has_rounds = perfdata_n_files(data) == 1;
	r = open_copy(c, decoder ? perfdata_info(replay_data(decoder)) : NULL, err);
	if (r < 0)
		return r;
	r = perfdata_each_record(data, copy_record, c, damage);
	c->machine = decoder && c->config->itrace->filter ? replay_machine(decoder) : NULL;
	if (decoder && (r >= 0 || damage->code))
		r = replay_events(decoder, &c->sink, &again);
	if (r < 0 && !damage->code && !again.code) {
		perfdata_file_abandon(c->file);
		return error_errno(err, r, "%s could not be written", c->config->output);
	}
	copy_sections(c, data);
	*result = (struct perfdata_copied){ .samples = perfdata_file_samples(c->file),
					    .made = c->n_made,
					    .errors = c->n_errors,
					    .unverified = c->n_unverified,
					    .unwritten = c->n_unwritten };
	return perfdata_file_close(c->file, NULL, err);
}

int perfdata_file_copy(const struct perfdata_copy *config, struct perfdata_copied *result,
		       struct error *damage, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL, *decoder = NULL;
	struct copying c = { .config = config, .sink.push = take_made };
	int r = 0;

	if (config->itrace)
		r = open_decoder(&c, &decoder, err);
	if (r >= 0)
		r = replay_open(config->path, &replay, err);
	if (r < 0)
		return r;
	strings_init(&c.mapped);
	r = perfdata_copy_records(&c, replay, decoder, result, damage, err);
	if (decoder && config->note)
		replay_trace_notes(decoder, config->note, config->context);
	strings_fini(&c.mapped);
	vec_fini(&c.branches);
	buf_fini(&c.record);
	return r;
}
