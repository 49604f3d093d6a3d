/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a file that another tool has made to a session: perf.data by the same pipeline as a
 * recording, with the file's events in place of the kernel's; and what has names instead of
 * addresses (foreign/foreign.h) by import/import_foreign.h. The bytes decide which it is. Nothing
 * of this machine is looked at: the recording may be of another one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "pipeline/pipeline.h"

struct itrace;
struct symbolizer_config;

struct import_config {
	const char *path; /* a file, a directory of perf record --threads, a FIFO; "-": stdin */
	const char *dir;  /* the session to make; must not exist */
	const char *version;
	const struct store_ops *ops;
	const struct itrace *itrace; /* how a processor trace is decoded; NULL: not at all */
	const struct symbolizer_config *places; /* of its code, as replay_decode() */
	/*
	 * Of an archive of oparchive: paths of binaries stay those of the machine that was
	 * profiled, as the reader knows that they are below the archive. Else they lead there.
	 */
	bool keeps_paths;
};

struct import_result {
	struct pipeline_counts counts;
	uint64_t bytes; /* of records */
	uint64_t duration_ns;
	struct error damage; /* code 0: the file is whole */
	struct {
		char **data;
		size_t n, cap;
	} notes; /* sentences: what was left out, and why */
};

void import_result_fini(struct import_result *r);
__attribute__((format(printf, 2, 3))) void import_note(struct import_result *r, const char *format,
						       ...);

/* Fills in what this process has cost so far. */
void import_own_cost(struct session_end *end);

/* Whether import_file() knows what is at the path, by its first bytes; pipes are not looked into.
 */
bool import_is_recording(const char *path);

/*
 * A negative errno when there is no session: what is there is nothing that is known, or the session
 * could not be written. A damaged file is not an error: what was read of it is in the session,
 * and out->damage says what is wrong.
 */
int import_file(const struct import_config *config, struct import_result *out, struct error *err);
