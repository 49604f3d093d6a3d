/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inside of a perf.data reader, for the files of this folder alone. */
#pragma once

#include "base/arena.h"
#include "base/intmap.h"
#include "base/strings.h"
#include "perfdata/bytes.h"
#include "perfdata/deferred.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "perfdata/record.h"
#include "perfdata/stream.h"

struct perfdata {
	struct perfdata_info info;
	struct perfdata_stats stats;
	struct perfdata_bytes *files;
	size_t n_files;
	bool is_foreign;
	uint64_t data_off, data_end; /* of the first file's records */
	struct error damage;         /* of the header; reported after all has been read */
	struct arena *arena;         /* texts and arrays of `info` */

	struct intmap by_id;       /* sample id to counter */
	struct intmap guest_by_id; /* sample id to index in `guests` */
	VEC(struct perfdata_guest) guests;
	VEC(struct perfdata_guest_text) guest_texts;
	const struct perfdata_guest *guest_now; /* of the event that is delivered; NULL: none's */
	struct sample_extra guest_extra;        /* of the last sample of a guest */
	struct {
		struct record_format *data; /* by counter */
		size_t n, cap;
	} formats;
	uint64_t *fixed_periods;
	uint32_t *time_offs;  /* by counter: the offset of the time in a sample; 0: none */
	int id_word;          /* place of the id in a sample: in words behind the header; -1 none */
	int guest_id_word;    /* as id_word, but also of a recording with one event */
	int id_word_from_end; /* the same in other records, from their end; 0 none */
	/* To indexes into values of PERF_SAMPLE_READ: by sample id; by such an index and thread. */
	struct intmap last_values, last_thread_values;
	struct {
		uint64_t *data;
		size_t n, cap;
	} values;

	struct intmap by_tracepoint; /* tracefs id to index into info.tracepoints */
	struct {
		struct pmu {
			uint32_t type;
			const char *name;
		} * data;
		size_t n, cap;
	} pmus;
	struct strings build_id_files; /* names; the same index in build_ids */
	struct {
		struct build_id *data;
		size_t n, cap;
	} build_ids;

	bool is_aux_known; /* stats.aux is complete */
	struct deferred deferred;
	perfdata_consumed consumed;
	void *consumed_context;
	uint64_t *swap_room; /* for a record of the other byte order */
	struct record_scratch scratch;
	char trace_error_text[65]; /* of the last error of a trace */
};

/* perfdata.c: 8 bytes of a record, in our order. */
uint64_t perfdata_word_at(const struct perfdata *p, const uint8_t *bytes, size_t off);

/* guests.c */

/* The guest of a record, by its id; NULL: it is of this machine. */
const struct perfdata_guest *guests_find(const struct perfdata *p, const uint8_t *bytes,
					 uint32_t type, size_t size);
/* Adds its guest (NULL: none) to a sample, whose other extra data is copied with it. */
void guests_add_to_sample(struct perfdata *p, const struct perfdata_guest *guest, struct event *e);
/* The number by which tables know a thread or process of the guest; NULL: of this machine. */
int32_t guests_number(const struct perfdata_guest *guest, int32_t id);
/* Notes the mapping of a guest's kernel. `guest`: by its id; or NULL: by the record's process. */
void guests_note_kernel(struct perfdata *p, const struct perfdata_guest *guest,
			const struct event *e);
/* Gives the tasks of an event that is no sample their numbers (event/guest_task.h). False: the
 * event says nothing of processes or losses, and is left out. */
bool guests_translate(const struct perfdata_guest *guest, struct event *e);

/* trace_errors.c: pushes the event of a record of a trace's error; and its time (0: none). */
int trace_error_push(struct perfdata *p, const uint8_t *bytes, size_t size,
		     struct event_sink *sink);
uint64_t trace_error_time(const struct perfdata *p, const uint8_t *bytes, size_t size);

/* header.c: finds the data, the events and the feature sections of a file with a header. */
int header_read(struct perfdata *p, struct error *err);

/* counters.c */

/* An event and the ids of its samples; `ids` are `n` numbers as in the file. */
struct perfdata_counter *counter_add(struct perfdata *p, const struct perf_event_attr *attr,
				     const void *ids, size_t n);
struct perfdata_counter *counter_of_id(struct perfdata *p, uint64_t id);

/* All events are known: names the nameless ones, and lays out the formats. */
int counters_finish(struct perfdata *p, struct error *err);

/* feature.c */
void feature_read(struct perfdata *p, uint32_t feature, const uint8_t *bytes, uint64_t size);
void build_id_read(struct perfdata *p, const uint8_t *record, size_t size);
struct mapping_event;
const struct build_id *build_id_of_mapping(const struct perfdata *p, const struct mapping_event *m);

/* tracing.c: the formats of tracepoints. */
void tracing_read(struct perfdata *p, const uint8_t *bytes, uint64_t size);

/* perfdata.c */

/* The layout of a record by its id; NULL: a sample of an id that no event has. */
const struct record_format *record_format_of(const struct perfdata *p, const uint8_t *bytes,
					     uint32_t type, size_t size);

/* The record in our byte order: itself, or a copy that is valid until the next call. */
const uint8_t *record_in_our_order(struct perfdata *p, const struct record_format *f,
				   const uint8_t *bytes, size_t size);

/* 0 for a record without a time. */
uint64_t record_time_of(struct perfdata *p, const struct record_format *f,
			const struct raw_record *r);

/* meta.c: perf's own records that replace a file's sections. False: another record. */
bool meta_read(struct perfdata *p, uint32_t file, const struct raw_record *r);
