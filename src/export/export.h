/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports: a profile in the format of another tool. docs/exporters.md lists what each format keeps.
 *
 * A format is its file, with a struct export_ops, and a row in formats.def. The ops name the
 * profile to load, and write it: to a stream of bytes, to a file that they open by its path (a
 * database), or to a place that is no file (a server). In each case, the written weights add up to
 * the totals of profile->lanes, event by event.
 *
 * A file or folder is written under a temporary name and renamed when it is complete. A folder
 * replaces nothing but an empty folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "export/sink.h"
#include "profile/profile.h"
#include "profile/query.h"

struct counter_info;
struct error;
struct export;
struct replay;
struct symbolizer;
struct trace_calls;

enum export_target {
	EXPORT_STREAM, /* write(): to standard output, a pipe or a file */
	EXPORT_FILE,   /* store(): a path without a file */
	EXPORT_FOLDER, /* store(): the path of a folder that is there and empty */
	EXPORT_PLACE,  /* store(): the argument of -o, unchanged: a connection string */
};

struct export_ops {
	enum export_target target;
	bool is_binary;      /* not for a terminal */
	bool is_gzip;        /* a stream that is written gzipped */
	bool from_recording; /* written from single samples (export_recording()), not from a profile
			      */
	bool from_session;   /* from_recording: from a profile, too, if there is no recording */
	const char *itrace;  /* from_recording: what is made of a trace, unless the user says it */

	/* For profile_load(). Without EVENT among the keys, each event has its own lane. */
	struct key_list keys;
	bool with_chains, with_places, with_samples;
	bool with_source; /* with places: fills in export->lines */
	bool of_samples;  /* has no room for numbers of events: weighs samples unless asked for
			     events */

	/* Failed writes are reported by sink_finish(), not by the format. */
	int (*write)(const struct export *x, struct sink *out, struct error *err);
	int (*store)(const struct export *x, const char *target, struct error *err);
};

struct export_format {
	const char *name, *extension, *mime, *help;
	const struct export_ops *ops;
};
extern const struct export_format export_formats[]; /* in the order of formats.def, ends with {0} */

/* "folded|pprof|…", for option tables. */
extern const char export_choices_from_bar[];
#define EXPORT_CHOICES (export_choices_from_bar + 1)

const struct export_format *export_find(const char *name);

/* The format whose extension the path ends in (the longest one), or NULL. */
const struct export_format *export_find_extension(const char *path);

/* A recording with a processor trace, for formats that have its calls. Each use reads it anew. */
struct export_trace {
	int (*open)(struct export_trace *self, struct trace_calls **out, struct error *err);
	bool with_branches;
	struct trace_calls *calls; /* of the first reading; the opener closes it */
};

struct export_options {
	bool by_period;    /* formats with one weight: events instead of samples */
	bool no_source;    /* leave out files, lines and inlined functions */
	const char *image; /* formats of one image: a glob; NULL: the one with most samples */
	struct build_id build_id; /* from_session: of the image; its len 0: any */
	bool by_rate;             /* from_session: as leaves_load() says */
	const char *schema;       /* databases that have them */
	bool replace;             /* tables of an earlier export */
	uint32_t merged; /* sample files: enum separation bits that do not keep samples apart */
	bool is_csv_raw; /* base/csv.h */
	struct export_trace *trace; /* databases; NULL: none */
	struct symbolizer *symbols; /* from_recording: of formats with names; the opener's */
	/*
	 * Called with the path of a temporary file or folder, and with NULL when it is renamed or
	 * removed: so a program that a signal ends can remove it. May be NULL.
	 */
	void (*on_temporary)(const char *path);
};

/* The input of a format. */
struct export
{
	uint32_t n_failures; /* reserve_failures() when it began */
	const struct export_format *format;
	const struct export_options *options;
	struct profile *profile;
	struct frame_names *frames; /* export/names.h */
	struct replay *replay;      /* from_recording: instead of a profile */
	struct error *damage;       /* from_recording: the damage of the recording */
	struct code_lines *lines;   /* export/code_lines.h; of formats with_source */
};

/* Events between two samples if known; else 0. NULL is fine. */
uint64_t counter_period(const struct counter_info *c);

/* The unit of its events in formats that have a few: "nanoseconds", "bytes" or "count". */
const char *counter_unit(const struct counter_info *c);

/*
 * Writes a format with from_recording, which is made of a recording's samples; as export_write().
 * For a damaged recording, the readable part is written, and *damage describes the damage.
 */
int export_recording(const struct export_format *format, const struct export_options *options,
		     struct replay *replay, const char *output, uint64_t *n_bytes,
		     struct error *damage, struct error *err);

/* Fills in the format's needs; session, symbols and query are the caller's. */
void export_request(const struct export_format *format, struct profile_request *request);

/*
 * Writes a profile that was loaded by export_request(). `output` is a path, "-" or NULL for
 * standard output (streams only), or for EXPORT_PLACE the format's own target. After a failure, a
 * file of this name is unchanged. *n_bytes are the written bytes; 0 if not known.
 */
int export_write(const struct export_format *format, const struct export_options *options,
		 struct profile *profile, const char *output, uint64_t *n_bytes, struct error *err);
