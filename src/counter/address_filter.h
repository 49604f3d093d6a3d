/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address filters: the code that a hardware trace covers, in the syntax of `record --filter`.
 *
 * 	ACTION START [/ SIZE] [@FILE] [, …]
 * 	filter main @/bin/ls, tracestop malloc @libc.so.6
 *
 * 	filter       trace only within the region
 * 	tracestop    stop tracing when the region is entered
 * 	start, stop  tracing begins, or ends, when the address is run
 *
 * START is a number, a symbol, or `*` for the whole file. SIZE is a number, or a symbol whose end
 * is the region's end. Symbols end at white space. After a symbol, `#n` takes the n-th of its name
 * in the order of addresses, and `#0`, `#g` or `#G` the global one. An address without a file is
 * the kernel's. Filters are separated by commas or white space. (perf-record(1))
 *
 * This file parses filters and writes them for the kernel; trace/trace_filter.h looks up symbols.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

struct counter_sources;
struct error;

/*
 * X(id, word, what the kernel calls it, is a region): kernel/events/core.c,
 * perf_event_parse_addr_filter(): a stop with a size is a region to stop in.
 */
#define ADDRESS_ACTIONS(X)                  \
	X(FILTER, "filter", "filter", true) \
	X(START, "start", "start", false)   \
	X(STOP, "stop", "stop", false)      \
	X(TRACESTOP, "tracestop", "stop", true)

enum address_action {
#define X(id, word, kernel, is_region) ADDRESS_##id,
	ADDRESS_ACTIONS(X)
#undef X
		N_ADDRESS_ACTIONS
};

extern const bool address_action_is_region[N_ADDRESS_ACTIONS];

/* Which of several symbols of one name; n from 1 on: the n-th. */
#define PICK_ONLY   (-1)
#define PICK_GLOBAL 0

struct address_point {
	char *symbol; /* NULL: the number */
	int32_t pick;
	uint64_t number;
};

struct address_filter {
	enum address_action action;
	bool is_all; /* `*` */
	bool has_size;
	struct address_point start, size;
	char *file; /* NULL: the kernel */
};

struct address_filters {
	struct address_filter *data;
	size_t n, cap;
};

/* -EINVAL: the message has the wrong words and the allowed ones; *out is then empty. */
int address_filters_parse(const char *text, struct address_filters *out, struct error *err);
void address_filters_fini(struct address_filters *f);

/* Does a text begin as an address filter does? (Else it is a tracepoint's.) */
bool address_filter_is_one(const char *text);

/* One that is looked up: an offset in the file, or an address of the kernel. */
struct address_range {
	enum address_action action;
	uint64_t start, size; /* size 0: the address alone */
	const char *file;     /* absolute; NULL: the kernel */
};

struct address_ranges {
	struct address_range *data;
	size_t n, cap;
};

/* What PERF_EVENT_IOC_SET_FILTER takes: "filter 0x1130/0x40@/bin/app,stop 0xffffffff81000000". */
void address_ranges_text(const struct address_ranges *ranges, struct buf *out);

/*
 * Checks whether the PMU supports these ranges: whether it filters, and has enough address
 * registers. Intel PT takes no single addresses (arch/x86/events/intel/pt.c,
 * pt_event_addr_filters_validate()). -EOPNOTSUPP or -E2BIG: the message has the PMU's limits.
 */
int address_ranges_check(const struct counter_sources *sources, const char *pmu,
			 const struct address_ranges *ranges, struct error *err);
