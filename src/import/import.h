/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a session of another tool's file. A perf.data goes through the pipeline of a recording,
 * with the file's events in place of the kernel's. Formats with names instead of addresses
 * (foreign/foreign.h) go through import/import_foreign.h. The first bytes decide. The import reads
 * nothing of this machine, because the recording may be of another one.
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
	const struct symbolizer_config *places; /* of its files, as replay_set_places() */
	/*
	 * Of an archive of oparchive: paths of binaries stay those of the machine that was
	 * profiled, as the reader knows that they are below the archive. Else they lead there.
	 */
	bool keeps_paths;
	/* Of formats with names instead of addresses (foreign/sniff.h), where the file tells none:
	 */
	const char *name;          /* of threads; NULL: none */
	const char *const *labels; /* NAME=VALUE, of samples that have none of the name */
	size_t n_labels;
	uint64_t
		start_wall_ns; /* the time of the first sample; 0: that of the file's last change */
	/* enum foreign_format of the body of a request; 0: the bytes decide */
	unsigned int body;
	bool sums_alone; /* samples keep the second that they were taken in, not their times */
};

struct import_names {
	char **data;
	size_t n, cap;
};

struct import_result {
	struct pipeline_counts counts;
	uint64_t bytes; /* of records */
	uint64_t duration_ns;
	struct error damage;                  /* code 0: the file is whole */
	struct import_names services, events; /* of a request: the names in it, each once */
	struct {
		char **data;
		size_t n, cap;
	} notes; /* sentences: a part that was left out, and the reason */
};

void import_result_fini(struct import_result *r);
__attribute__((format(printf, 2, 3))) void import_note(struct import_result *r, const char *format,
						       ...);

/* Fills in the cost of this process so far. */
void import_own_cost(struct session_end *end);

/* Whether import_file() knows the kind of the file, by its first bytes. Pipes are not read. */
bool import_is_recording(const char *path);

/*
 * A negative errno when there is no session: the file is of no known kind, or the session could not
 * be written. A damaged file is no error: the session has its readable part, and out->damage names
 * the damage.
 */
int import_file(const struct import_config *config, struct import_result *out, struct error *err);
