/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's own state: shared by daemon.c (life), collect.c (the recording), actions.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "counter/counter.h"
#include "daemon/actions.h"
#include "daemon/budget.h"
#include "daemon/daemon.h"
#include "daemon/parts.h"
#include "daemon/service.h"
#include "record/recorder.h"

#define DAEMON_SOURCES 16

struct daemon_source {
	int fd; /* -1: a free place */
	int (*ready)(void *context, struct error *err);
	void *context;
};

/* What earlier recordings of this daemon counted. */
struct daemon_totals {
	uint64_t samples, lost, unattributed, written_bytes;
	uint64_t losses[N_LOSS_REASONS];
	VEC(uint64_t) cpu_samples;
	uint64_t own_cpu_ns, own_bytes; /* no sums: as it was at the last one's end */
};

/*
 * The daemon's times, which tests make short by the environment:
 * ASSAY_DAEMON_PACE="settle=1,part=2,retry=1,renew=5,upkeep=1", in seconds.
 */
struct daemon_pace {
	uint64_t
		settle_ns; /* opening, and the first unwind tables, are work that no rate changes */
	uint64_t part_ns;  /* a part ends after this */
	uint64_t retry_ns; /* between two attempts to begin a part, or a recording */
	uint64_t upkeep_ns; /* between two rounds of it; a part that ends has one sooner */
	uint64_t renew_ns;  /* what counting anew released grows back slowly, or it is no use */
};
struct daemon_pace daemon_pace(const char *setting);

struct daemon {
	const struct daemon_config *config;
	struct daemon_settings settings;
	char *samples, *current; /* DIR/samples, DIR/samples/current */
	int lock_fd, clock_fd, epoll_fd;
	int parent_fd; /* detached: whom to tell that we collect, or why not; -1 */
	struct daemon_source sources[DAEMON_SOURCES];
	struct service *service; /* what is asked of us comes through it */
	void *mounted;           /* of daemon/file_system.h; and through this, where there is one */

	/* The recording. */
	struct recorder *recorder; /* NULL between two of them */
	struct counters counters;
	char event_note[256], note[512];
	bool in_kernel;
	bool no_sampler; /* it was refused once, so it's the rings */
	enum stack_source stacks;
	struct daemon_pace pace;
	struct part_clock part;
	uint64_t rate_hz; /* of now; settings.freq_hz or, for the budget's sake, less */
	bool is_paused, is_ending, is_renewing;
	struct daemon_settings before; /* events to go back to, should the new ones be refused */
	bool has_before;

	/* While it runs. */
	struct budget budget;
	uint64_t start_wall_ns, start_ns, started_ns; /* of the daemon; of the recording */
	uint64_t ticked_ns, told_ns, watchdog_ns, part_tried_ns, renewed_ns;
	pid_t upkeep;       /* 0: none runs */
	uint64_t upkept_ns; /* when the last one began */
	uint32_t upkept_parts;
	bool is_write_failing, is_budget_begun, is_clock_set;
	uint64_t lost_when_failing;
	uint32_t n_parts, n_rate_changes;
	struct daemon_totals before_totals;
	struct daemon_totals shown;         /* what daemon_status() gives */
	uint64_t written_ns, written_bytes; /* when that was looked up, of the recording */
	VEC(const char *) event_names;
};

/* Records until the daemon ends: collect.c. */
int collect(struct daemon *d, struct error *err);

/* Ends the part and begins another; the old one goes on when that fails. */
int begin_part(struct daemon *d, struct error *err);

/* The rate of all counters that have one, from now on, in a new part. */
int set_rate(struct daemon *d, uint64_t rate_hz, struct error *err);
uint64_t permitted_rate(uint64_t wanted_hz); /* what of it the kernel permits now */

/* Counting is to begin anew, with what the settings say now. */
void renew(struct daemon *d);

/* To be called between the parts of what may take long: the rings are read. */
void keep_reading(struct daemon *d);

/* Ends the upkeep of the history, whose parts are about to be renamed or removed. */
void stop_upkeep(struct daemon *d);

/* Reads the settings anew, and the log's file (SIGHUP). */
void reload(struct daemon *d);
