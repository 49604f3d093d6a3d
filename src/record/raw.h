/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `record --raw`: the kernel's unchanged records in a perf.data file.
 *
 *   rings ─┬─► every record ────────────────────────► file
 *          └─► events ─► (samples counted, the rest) ─► pipeline, for losses and time
 *   /proc  ──► events ─► records ───────────────────► file
 *
 * A hardware trace is between the records, each piece behind an AUXTRACE record.
 *
 * The pipeline runs beside it without samples: its store keeps nothing.
 */
#pragma once

#include "collect/rings.h"
#include "event/event.h"
#include "store/store.h"

struct error;
struct aux_piece;
struct raw_recording;
struct raw_trace;

/* A store that keeps nothing. */
extern const struct store_ops no_store;

struct raw_config {
	const char *path; /* "-": into standard output, in perf's form for pipes */
	const char *version, *cpu_model;
	char *const *argv; /* of assay's own command line, or NULL */
	struct rings *rings;
	const struct counters *counters;
	uint32_t n_cpus;
	struct event_sink *next;       /* the pipeline's */
	const struct raw_trace *trace; /* of a hardware trace; NULL: none */
	/* Samples are held in memory, and those of the last keep_ns written at the end; 0: all. */
	uint64_t keep_ns, keep_bytes;
};

/* Opens the file and writes the rings' records from here on. */
int raw_open(const struct raw_config *config, struct raw_recording **out, struct error *err);

/* The sink for the rings' events and those of /proc. */
struct event_sink *raw_sink(struct raw_recording *r);

/*
 * True (the state after raw_open()): events come from a scan of /proc and have no record, so each
 * gets one. False: each has a record of the kernel.
 */
void raw_set_scanning(struct raw_recording *r, bool is_scanning);

/*
 * All records up to now were drained: writes them, so that a killed recorder only loses later ones
 * (with keep_ns: its samples).
 */
int raw_advance(struct raw_recording *r);

/* A piece of the trace. From any thread. */
int raw_add_aux(struct raw_recording *r, const struct aux_piece *piece);

/* The time for which pieces waited for the disk, because the memory was used up. */
uint64_t raw_waited_ns(const struct raw_recording *r);

/* How often the kernel cut the trace off. */
uint64_t raw_truncated(const struct raw_recording *r);

/* *samples, *n_bytes: of the file. Frees in any case. */
int raw_close(struct raw_recording *r, uint64_t *samples, uint64_t *n_bytes, struct error *err);
void raw_abandon(struct raw_recording *r); /* removes the file; NULL is fine */
