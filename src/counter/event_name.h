/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A name of an event, as each source of names visits it: the kernel, PMUs, event files, libpfm4.
 * The catalogue (counter/catalog/catalog.h) joins the sources.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* X(id, key, text) */
#define EVENT_KINDS(X)                                                 \
	X(HARDWARE, "hardware", "generic hardware event")              \
	X(CACHE, "cache", "generic cache event")                       \
	X(SOFTWARE, "software", "software event of the kernel")        \
	X(TRACEPOINT, "tracepoint", "tracepoint of the kernel")        \
	X(PMU, "pmu", "event that a PMU's driver names")               \
	X(TABLE, "table", "event of this processor, from event files") \
	X(PROCESSOR, "processor", "event of this processor, from libpfm4's tables")

enum event_kind {
#define X(id, key, text) EVENT_##id,
	EVENT_KINDS(X)
#undef X
		N_EVENT_KINDS
};

/* A unit mask of an event: NAME:MASK. */
struct event_mask {
	const char *name, *help;
	bool is_default; /* taken where no mask is given */
};

/* Strings hold during the visit only. */
struct event_name {
	enum event_kind kind;
	const char *name;  /* as counter_parse() takes it */
	const char *alias; /* a second spelling, or NULL */
	const char *help;  /* one line, or "" */
	const struct event_mask *masks;
	uint32_t n_masks;
	uint64_t min_count; /* the least count; 0: not known */
	const struct table_event
		*table; /* of event files (counter/catalog/event_file.h), else NULL */
};

typedef void (*event_visitor)(void *ctx, const struct event_name *event);
