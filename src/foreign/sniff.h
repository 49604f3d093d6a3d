/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which format a file has: its bytes decide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * X(id, text): the formats that foreign_sniff() knows, and bodies of requests, which the asker
 * names: their bytes do not tell.
 */
#define FOREIGN_FORMATS(X)                 \
	X(NONE, "not known")               \
	X(PERF_SCRIPT, "perf script")      \
	X(FOLDED, "folded stacks")         \
	X(PPROF, "pprof")                  \
	X(GZIP, "gzip, of any of these")   \
	X(JITDUMP, "jitdump")              \
	X(OTLP, "OTLP profiles")           \
	X(INGEST, "a profile for /ingest") \
	X(PUSH, "a request for PusherService/Push")

enum foreign_format {
#define X(id, text) FOREIGN_##id,
	FOREIGN_FORMATS(X)
#undef X
		N_FOREIGN_FORMATS
};

extern const char *const foreign_format_texts[N_FOREIGN_FORMATS];

/* Looks at the first 64 KiB at most. `is_whole`: there are no more bytes. */
enum foreign_format foreign_sniff(const void *bytes, size_t size, bool is_whole);
