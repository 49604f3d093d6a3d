/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sources of `assay serve`: sessions, recordings of perf and histories. A client knows them by
 * names alone, so it cannot reach another file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

struct error;

enum source_kind {
	SOURCE_SESSION,
	SOURCE_HISTORY,
	SOURCE_FLEET,      /* the directory of a fleet */
	SOURCE_RECORDING,  /* perf.data */
	SOURCE_FILE,       /* another one */
	SOURCE_CLICKHOUSE, /* a fleet in ClickHouse: its path is clickhouse:URL,… */
};

struct source {
	char *name, *path; /* name: the last part of the path; later ones of equal names have a
			      number */
	enum source_kind kind;
	uint64_t changed_ns; /* the last change, since 1970 */
};

struct sources {
	VEC(struct source) list;
};

/*
 * Lists what is at the paths now: a session, a history or a file is one source, and another folder
 * has those that are in it. At most SOURCES_MAX.
 */
#define SOURCES_MAX 4096
void sources_read(struct sources *s, char *const *paths, size_t n);
void sources_fini(struct sources *s);

const struct source *sources_find(const struct sources *s, const char *name); /* NULL: none */

/* The price of an hour of a CPU, as the operator gives it. */
struct cpu_price {
	double price;     /* 0: none */
	const char *unit; /* "EUR"; "" */
};

/* Takes "0.04 EUR". -EINVAL: it is no price above 0. The unit is in the text. */
int cpu_price_parse(const char *text, struct cpu_price *out, struct error *err);

/* `role`: of the asker. */
void sources_put_json(const struct sources *s, const char *role, const struct cpu_price *price,
		      struct buf *out);

/*
 * Changes when a file of the source changes, appears or goes. Of a history, parts count that begin
 * before `until_ns`. A daemon may write to a part that changed in the last SOURCE_LIVE_NS: then it
 * counts without its changes, and *is_live.
 */
#define SOURCE_LIVE_NS (10 * NS_PER_SECOND)
uint64_t source_stamp(const struct source *s, uint64_t until_ns, bool *is_live);

/*
 * Opens a recording of perf, to pass its bytes on. -ENOENT: the source is no perf.data file, or
 * it is gone.
 */
int source_open_recording(const struct source *s, uint64_t *size);
