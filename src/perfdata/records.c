/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a recording one by one, as in the file, and the AUX data among them. */
#include "base/error.h"
#include "base/reserve.h"
#include "perfdata/state.h"

static const char *const kernel_records[] = {
	[PERF_RECORD_MMAP] = "MMAP",
	[PERF_RECORD_LOST] = "LOST",
	[PERF_RECORD_COMM] = "COMM",
	[PERF_RECORD_EXIT] = "EXIT",
	[PERF_RECORD_THROTTLE] = "THROTTLE",
	[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
	[PERF_RECORD_FORK] = "FORK",
	[PERF_RECORD_READ] = "READ",
	[PERF_RECORD_SAMPLE] = "SAMPLE",
	[PERF_RECORD_MMAP2] = "MMAP2",
	[PERF_RECORD_AUX] = "AUX",
	[PERF_RECORD_ITRACE_START] = "ITRACE_START",
	[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
	[PERF_RECORD_SWITCH] = "SWITCH",
	[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
	[PERF_RECORD_NAMESPACES] = "NAMESPACES",
	[PERF_RECORD_KSYMBOL] = "KSYMBOL",
	[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
	[PERF_RECORD_CGROUP] = "CGROUP",
	[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
	[PERF_RECORD_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
	[RECORD_CALLCHAIN_DEFERRED] = "CALLCHAIN_DEFERRED",
};

static const char *const user_records[] = {
#define X(id, number, name) [number - USER_RECORD_FIRST] = name,
	USER_RECORDS(X)
#undef X
};

const char *perfdata_record_name(uint32_t type)
{
	if (type < ARRAY_SIZE(kernel_records))
		return kernel_records[type];
	type -= USER_RECORD_FIRST;
	return type < ARRAY_SIZE(user_records) ? user_records[type] : NULL;
}

static struct perfdata_record records_describe(struct perfdata *p, uint32_t file,
					       const struct raw_record *raw)
{
	struct perfdata_record r = {
		.type = raw->type,
		.misc = raw->misc,
		.size = raw->size,
		.bytes = raw->bytes,
		.file = file,
		.file_off = raw->file_off,
		.payload = raw->payload ? raw->bytes + raw->size : NULL,
		.payload_size = raw->payload,
	};
	const struct record_format *f;

	if (raw->type >= USER_RECORD_FIRST)
		return r;
	f = record_format_of(p, raw->bytes, raw->type, raw->size);
	r.time_ns = f ? record_time_of(p, f, raw) : 0;
	if (!f)
		f = &p->formats.data[0];
	r.bytes = record_in_our_order(p, f, raw->bytes, raw->size);
	r.has_event = record_decode(f, r.bytes, r.size, 0, &p->scratch, &r.event) == RECORD_OK;
	return r;
}

static int visit_file(struct perfdata *p, uint32_t file,
		      int (*visit)(void *context, const struct perfdata_record *record),
		      void *context, struct error *err)
{
	uint64_t at = file ? 0 : p->data_off, end = file ? p->files[file].size : p->data_end;
	struct raw_record raw;
	struct stream s;
	int r = 0;

	stream_init(&s, p->files[file].base, at, end, p->is_foreign);
	s.name = p->n_files > 1 ? p->files[file].name : NULL;
	while (!r && stream_next(&s, &raw)) {
		struct perfdata_record record = records_describe(p, file, &raw);

		p->stats.records++;
		if (raw.type >= USER_RECORD_FIRST && !p->info.is_pipe)
			meta_read(p, file, &raw);
		r = reserve_check();
		r = r < 0 ? r : visit(context, &record);
	}
	if (!r && s.error.code && err)
		*err = s.error;
	r = r ? r : s.error.code;
	stream_fini(&s);
	return r;
}

int perfdata_each_record(struct perfdata *p,
			 int (*visit)(void *context, const struct perfdata_record *record),
			 void *context, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < p->n_files && !r; i++)
		r = visit_file(p, i, visit, context, err);
	if (!r && p->damage.code) {
		if (err)
			*err = p->damage;
		r = p->damage.code;
	}
	return r;
}

void perfdata_find_aux(struct perfdata *p)
{
	struct raw_record r;
	struct stream s;

	/* the opening has already stepped through a pipe's records */
	for (uint32_t i = 0; i < p->n_files && !p->info.is_pipe && !p->is_aux_known; i++) {
		stream_init(&s, p->files[i].base, i ? 0 : p->data_off,
			    i ? p->files[i].size : p->data_end, p->is_foreign);
		s.is_scan = true;
		while (stream_next(&s, &r))
			if (r.type >= USER_RECORD_FIRST)
				meta_read(p, i, &r);
		stream_fini(&s);
	}
	p->is_aux_known = true;
}

bool perfdata_is_in_place(const struct perfdata *p, const void *bytes, size_t size)
{
	uintptr_t at = (uintptr_t)bytes;

	for (uint32_t i = 0; i < p->n_files; i++) {
		uintptr_t base = (uintptr_t)p->files[i].base;

		if (at >= base && at - base <= p->files[i].size &&
		    size <= p->files[i].size - (at - base))
			return true;
	}
	return false;
}

const uint8_t *perfdata_aux_bytes(const struct perfdata *p, const struct perfdata_aux *aux)
{
	const struct perfdata_bytes *f = aux->file < p->n_files ? &p->files[aux->file] : NULL;

	if (!f || aux->file_off > f->size || aux->size_bytes > f->size - aux->file_off)
		return NULL;
	return f->base + aux->file_off;
}
