/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's state, shared by daemon.c (life), collect.c (the recording) and actions.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/thread.h"
#include "counter/counter.h"
#include "daemon/budget.h"
#include "daemon/daemon_config.h"
#include "daemon/parts.h"
#include "daemon/sources.h"
#include "daemon/user.h"
#include "guard/opener.h"
#include "record/recorder.h"

struct service;

/* The counts of earlier recordings of this daemon. */
struct daemon_totals {
	uint64_t samples, lost, unattributed, written_bytes;
	uint64_t losses[N_LOSS_REASONS];
	VEC(uint64_t) cpu_samples;
	VEC(uint64_t) cpu_losses;       /* as many */
	uint64_t own_cpu_ns, own_bytes; /* at the end of the last recording, not sums */
};

/*
 * The daemon's intervals. Tests shorten them by the environment:
 * ASSAY_DAEMON_PACE="settle=1,part=2,retry=1,renew=5,upkeep=1", in seconds.
 */
struct daemon_pace {
	uint64_t
		/*
		 * After the start, when opening and the first unwind tables cost more than the
		 * rate.
		 */
		settle_ns;
	uint64_t part_ns;   /* the length of a part */
	uint64_t retry_ns;  /* between two attempts to begin a part or a recording */
	uint64_t upkeep_ns; /* between two rounds of upkeep; the end of a part starts one sooner */
	/* If the memory limit is passed again within this time, counting anew did not help. */
	uint64_t renew_ns;
	uint64_t fleet_ns;   /* between two changes of the rate for the fleet */
	uint64_t measure_ns; /* between two measurements of sample files */
};
struct daemon_pace daemon_pace(const char *setting);

struct daemon {
	const struct daemon_config *config;
	struct daemon_settings settings;
	struct daemon_user user;
	pid_t keeper;  /* keeper.h; 0: none */
	pid_t starter; /* guard/parser_starter.h; 0: none */
	struct opener_state opener;
	int fence_version; /* of Landlock; 0: no fence */
	struct real_time_guard real_time;
	/* The directory for the daemon's own use, see place_make(); config->dir is for messages. */
	const char *dir;
	char *samples, *current, *names, *log; /* DIR/samples, …/current, …/.names, DIR/log */
	char *shown_part;                      /* of daemon_show_part() */
	int lock_fd, clock_fd, epoll_fd;
	int parent_fd; /* when detached: the process that waits for our start or failure; -1 */
	struct daemon_source sources[DAEMON_SOURCES];
	struct service *service; /* receives the requests */
	/* Of daemon/file_system.h, which receives requests, too; NULL: none. */
	void *mounted;

	/* The recording. */
	struct recorder *recorder; /* NULL between two recordings */
	struct counters counters;
	char event_note[256], note[512];
	bool in_kernel;
	bool no_sampler; /* the kernel refused the sampler once: use the rings */
	enum stack_source stacks;
	struct daemon_pace pace;
	struct part_clock part;
	const char *missed_part; /* the reason for a new part that could not begin yet, or NULL */
	uint64_t rate_hz;        /* present rate: settings.freq_hz, or less because of the budget */
	/* fleet_rate.c: what the fleet asks for, 0: nothing; the last look, and change of rate. */
	uint64_t fleet_hz, fleet_looked_ns, fleet_changed_ns;
	/* closely_begin(): when it ends, 0: none runs; the rate to return to. */
	uint64_t closely_until_ns, freq_before_hz;
	bool is_paused, is_ending, is_renewing;
	bool is_reload_due;            /* SIGHUP came, and the settings are not read yet */
	struct daemon_settings before; /* the old events, in case that the new ones are refused */
	bool has_before;

	/* While it runs. */
	struct budget budget;
	uint64_t start_wall_ns, start_ns, started_ns; /* of the daemon; of the recording */
	uint64_t ticked_ns, told_ns, watchdog_ns, part_tried_ns, renewed_ns;
	pid_t upkeep;        /* 0: none runs */
	uint64_t upkept_ns;  /* start of the last one */
	bool is_upkeep_late; /* the last one took too long, and this one follows it */
	/* turnover.c: about the size of samples/current, now and when it was measured last; the
	 * store's growth that is in it. */
	uint64_t size_bytes, size_before, grown_bytes;
	uint32_t upkept_parts;
	bool is_write_failing, is_budget_begun, is_clock_set;
	uint64_t lost_before_failure;
	uint32_t n_parts, n_rate_changes;
	struct daemon_totals before_totals;
	uint64_t lost_until_end;    /* of the present recorder, before the end of its session */
	struct daemon_totals shown; /* the result of daemon_status() */
	uint64_t written_ns, written_bytes; /* of the recording, and when it was measured */
	VEC(const char *) event_names;
};

/* Whether samples/current is one session that goes on, without parts: sample files. */
static inline bool daemon_keeps_one(const struct daemon *d)
{
	return d->config->store->leave != NULL;
}

/* Records until the daemon ends (collect.c). */
int daemon_collect(struct daemon *d, struct error *err);

/* Ends the part and begins another. On failure, the old part continues. */
int begin_part(struct daemon *d, struct error *err);

/* Sets the wanted rate, as daemon_set_rate(). */
int change_frequency(struct daemon *d, uint64_t freq_hz, struct error *err);

/* Sets the rate of all counters with a frequency and begins a new part. */
int set_rate(struct daemon *d, uint64_t rate_hz, struct error *err);

/* The same for a reason (the begin of a sentence), which is logged and counted. */
void change_rate(struct daemon *d, uint64_t rate_hz, const char *why);
bool has_a_rate(const struct daemon *d);     /* whether a counter has a frequency */
uint64_t permitted_rate(uint64_t wanted_hz); /* limited by the kernel's present maximum */

/* Makes counting begin anew, with the present settings. */
void renew(struct daemon *d);

/* The path of the part that is being written, for messages; "": none. Valid until the next call. */
const char *daemon_show_part(struct daemon *d);

/* Reads the rings. Call it between the steps of long work. */
void keep_reading(struct daemon *d);

/* Ends the upkeep process before parts of the history are renamed or removed. */
void stop_upkeep(struct daemon *d);

/* Reopens the log, and reads the settings again (SIGHUP). */
void begin_reload(struct daemon *d);

/* Reads the settings if they are due. While the disk is slow they stay due: call it in each turn.
 */
void go_on_reloading(struct daemon *d);
