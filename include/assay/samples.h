/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single samples in the order of time, and names of addresses. */
#ifndef ASSAY_SAMPLES_H
#define ASSAY_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include <assay/session.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_frame {
	const char *symbol; /* NULL: not known */
	const char *image;  /* the file of the code, or "[unknown]" */
	uint64_t symbol_offset, image_offset;
	uint64_t address; /* as it ran; 0: not kept */
};

struct assay_sample {
	size_t size;      /* of this struct; newer versions have more members at its end */
	uint64_t time_ns; /* of the clock of the recording */
	const char *event, *comm;
	const char *cgroup;               /* "": not known */
	int32_t pid, tid;                 /* -1: not known */
	uint32_t cpu;                     /* UINT32_MAX: not known */
	uint64_t samples;                 /* how many equal ones this one stands for */
	uint64_t events;                  /* that they stand for */
	const struct assay_frame *frames; /* innermost first */
	size_t n_frames;
};

/* 0 to go on; another number ends the reading, and assay_samples() returns it. */
typedef int assay_sample_function(void *context, const struct assay_sample *sample);

/*
 * Calls `take` with each sample. A recording of perf has each sample with its time; a session of
 * assay adds up the equal samples of a second. Nothing of a sample lives longer than the call.
 */
int assay_samples(struct assay_session *session, assay_sample_function *take, void *context,
		  struct assay_error *error);

/*
 * The function at an offset of a file, by its symbols and its debug file. `build_id` is in
 * hexadecimal, or NULL; a file of another build is not read. *symbol_offset counts from the start
 * of the function; NULL is fine. NULL: nothing is known. The text lives as long as the session.
 */
const char *assay_symbolise(struct assay_session *session, const char *file, const char *build_id,
			    uint64_t file_offset, uint64_t *symbol_offset);

#ifdef __cplusplus
}
#endif
#endif
