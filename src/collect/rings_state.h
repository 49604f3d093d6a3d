/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rings' own state: shared by rings.c (reading) and rings_open.c. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "collect/ring_room.h"
#include "collect/rings.h"
#include "perfdata/record.h"

/* Since Linux 6.0; older headers lack the name. */
#define RINGS_FORMAT_LOST (1U << 4)

#define RINGS_SIDE_BAND UINT32_MAX

/* A record that was decoded before its turn. */
struct ahead {
	uint64_t at; /* its place in the ring, + 1; 0: none */
	enum record_result result;
	struct event event;
	struct record_scratch scratch;
};

struct ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t mask; /* data size - 1 */
	uint64_t head, tail;
	uint64_t watched; /* head at pace.since_ns */
	uint64_t next_ns; /* time of the record at tail; UINT64_MAX: none up to the limit */
	int fd;           /* for the kernel's records */
	uint32_t cpu;
	uint64_t n_lost; /* samples, as far as its records or counters tell */
	uint32_t next_size;
	const void *next; /* the complete record at tail */
	uint8_t *wrapped; /* room to join a record that wraps around */
	/* With copied stacks, the record at tail and the one behind it, in turn; else NULL. */
	struct ahead *ahead;
	uint32_t turn;       /* the index of the record at tail */
	uint32_t large_size; /* of the last record with a stack */
};

struct counter_fd {
	int fd;
	uint32_t ring;
	uint32_t counter; /* or RINGS_SIDE_BAND */
	uint64_t lost;    /* at the last reading */
	bool has_ended;   /* another one of its CPU has taken its place */
};

/* The data of an event for a file; for the side band, too. */
struct known_event {
	struct perf_event_attr attr;
	struct {
		uint64_t *data;
		size_t n, cap;
	} ids;
};

/* The state of opening events, with the features that the first ones showed. */
struct opening {
	struct rings_config config;
	struct perf_event_attr side_band;
	struct perf_event_attr *attrs; /* of the counters */
	size_t n_removed;              /* features that this kernel lacks */
	size_t n_former;               /* descriptors before those of the ring in progress */
	bool had_to_leave_kernel;
	bool map_failed;
};

struct rings {
	struct perf_backend backend;
	struct opening opening;
	const struct counters *counters;
	struct record_format format;
	struct record_scratch scratch;
	struct intmap ids; /* sample id to counter */
	struct ring *rings;
	struct ring **heap; /* all rings; the oldest record is first */
	size_t n_rings, ring_bytes, page_bytes;
	VEC(struct counter_fd) fds;
	struct known_event *events; /* by counter; the side band's is the last */
	void (*take)(void *context, const void *record, size_t size);
	void *take_context;
	struct rings_watch watch; /* or zeros */
	struct pollfd *polls;     /* one a ring, and the caller's */
	uint64_t *fixed_periods;
	struct rings_tally *tallies; /* by counter */
	uint64_t merged_ns;          /* time of the last pushed event */
	uint64_t n_late, n_bad, n_lost_records;
	uint64_t n_started; /* threads that profiled threads started */
	bool has_lost_record, exact_losses;
	bool *is_off; /* by counter: rings_pause() holds; read by other threads, too */
	bool is_polled_elsewhere;
	struct ring_pace pace; /* of the readings */
	char note[256];
};

/* Opens all events of a ring, and maps it if needed. Offline CPUs are left out. */
int rings_open_ring(struct rings *r, struct ring *ring, struct error *err);
