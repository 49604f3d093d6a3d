/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf.data file that is being written: by `record --raw` as the kernel's records come, or from
 * another recording.
 *
 * The file has its name from the first flush on, and can be read at any time. A killed recorder
 * leaves a file that is whole up to the last flush, without feature sections. A former file of the
 * name becomes NAME.old, as with perf.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "event/event.h"
#include "perfdata/writer.h"

struct error;
struct itrace;
struct perfdata_file;
struct symbolizer_config;

/* Refuses a path at which another kind of file is. Copies `events`, with their names and ids. */
int perfdata_file_open(const char *path, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err);

/*
 * Writes into a pipe instead: takes over `fd`. Nothing is kept for the end, so fill the sections
 * first. -E2BIG: an event is counted by more counters than a record of a pipe has room for.
 */
int perfdata_pipe_open(int fd, const struct writer_event *events, size_t n,
		       struct perfdata_file **out, struct error *err);
bool perfdata_file_is_pipe(const struct perfdata_file *f);

/* Writes the sections that are filled, where a pipe is written. A file gets them at its end. */
void perfdata_file_send_sections(struct perfdata_file *f);

/*
 * For gigabytes of AUX data. From now on a thread writes the bytes past the page cache, and
 * `memory_bytes` of them can wait for the disk (base/files/direct_writer.h).
 */
void perfdata_file_write_directly(struct perfdata_file *f, uint64_t memory_bytes);

/*
 * An AUXTRACE record and the bytes behind it, when the file is written directly. Any thread may
 * call this function, and no other.
 */
void perfdata_file_aux(struct perfdata_file *f, const struct iovec *parts, size_t n);

/* The time that callers waited for the disk, because that memory was used up. */
uint64_t perfdata_file_waited_ns(const struct perfdata_file *f);

/* A record as it stands, of `size` bytes; what follows it in the file (AUX data that is not written
 * directly); a count of samples. */
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

struct perfdata_copy {
	const char *path; /* as for replay_open() */
	const char *output;
	/*
	 * NULL: a processor trace is copied as it is. Else the samples and errors that this makes
	 * of it take its place (-ENODATA: there is none); they stand behind all other records.
	 */
	const struct itrace *itrace;
	const struct symbolizer_config *places; /* of the trace's code, as replay_decode() */
	bool strips;             /* with itrace: samples that were recorded are left out */
	bool marks_mispredicted; /* with itrace: every last branch counts as mispredicted */
	bool with_build_ids;     /* adds those of mapped files that are here */
	void (*note)(void *context, const char *sentence); /* of the decoding; may be NULL */
	void *context;
};

struct perfdata_copied {
	uint64_t samples, made; /* samples in the file; those of the trace among them */
	uint64_t errors;        /* of the decoding, that were written */
	uint64_t unverified;    /* stretches of the trace with an error in them */
	uint64_t unwritten;     /* samples that are too large for a record */
};

/*
 * Writes a recording again, in our byte order, unpacked, as one file: its records as they stand,
 * what its sections say. A damaged one is written up to the damage, which *damage tells.
 */
int perfdata_file_copy(const struct perfdata_copy *config, struct perfdata_copied *result,
		       struct error *damage, struct error *err);
