/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data file that is being written: by `record --raw` as the kernel's records come, or from
 * another recording.
 *
 * The file stands under its name from the first flush on, and can be read at any time: what a
 * killed recorder leaves is whole up to the last flush, without feature sections. One that was
 * there is renamed to NAME.old, as perf does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "perfdata/writer.h"

struct error;
struct perfdata_file;

/* Refuses what is in the way and no perf.data. `events` are copied, names and ids too. */
int perfdata_file_open(const char *path, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err);

/* A record as it stands, of `size` bytes; what follows it in the file (AUX data); a count of
 * samples. */
void perfdata_file_record(struct perfdata_file *f, const void *record, size_t size);
void perfdata_file_payload(struct perfdata_file *f, const void *bytes, uint64_t size);
uint64_t perfdata_file_samples(const struct perfdata_file *f);

/* What writer_record() makes of it. */
void perfdata_file_event(struct perfdata_file *f, const struct event *e);

/* All records up to here are older than those of the round after the next: FINISHED_ROUND. */
void perfdata_file_round(struct perfdata_file *f);

/* Writes what is gathered. The first failure is kept for the closing and told by this. */
int perfdata_file_flush(struct perfdata_file *f);

/* The negative errno of the first write that failed; 0. */
int perfdata_file_failure(const struct perfdata_file *f);

/* The feature sections, to be filled before the closing. */
struct writer_sections *perfdata_file_sections(struct perfdata_file *f);

/*
 * Adds what all files have (EVENT_DESC, SAMPLE_TIME, the index of AUX data), writes the tail and
 * the header. Frees in any case; *n_bytes is the file's size.
 */
int perfdata_file_close(struct perfdata_file *f, uint64_t *n_bytes, struct error *err);

/* Without a tail: removes the file; one that it took the name of gets it back. NULL is fine. */
void perfdata_file_abandon(struct perfdata_file *f);

/*
 * Writes a recording again, in our byte order, unpacked, as one file: its records as they stand,
 * what its sections say. *n_samples: records of samples. A damaged one is written up to the damage,
 * which *damage tells. `path`: as for replay_open().
 */
int perfdata_file_copy(const char *path, const char *output, uint64_t *n_samples,
		       struct error *damage, struct error *err);
