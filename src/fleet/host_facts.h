/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a fleet knows about a host beside its blocks: FLEET/HOST/.host. A gateway writes it, or the
 * host itself in a directory. A line of the file is "NAME VALUE"; names that are not known are
 * passed over. The fleet's clock is the gateway's, or that of the machine with the directory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* A UUID in lower case (RFC 9562), with its NUL, as /proc/sys/kernel/random/boot_id has it. */
#define HOST_BOOT_SIZE 37

struct host_facts {
	char version[32];          /* of assay on the host; "": it did not say */
	char boot[HOST_BOOT_SIZE]; /* of its running kernel; "": not known */
	uint64_t boot_s;           /* when that kernel began, by the fleet's clock, since 1970 */
	uint64_t seen_s;           /* when the host spoke last */
	int64_t skew_ms;           /* its clock minus the fleet's, at that time */
	uint64_t cpus, rate_hz;    /* 0: not known */
	uint64_t backlog;          /* blocks that wait on the host */
	uint64_t expired;          /* samples that its retention removed before they were sent */
	uint64_t refused;          /* blocks that the fleet refused, so far */
	/* Indexes of names of this day (since 1970) that the gateway kept (fleet/fleet_names.h). */
	uint64_t names_day, names, names_bytes;
	uint64_t cloned_s; /* when a second machine spoke under this name; 0: never */
	char refusal[160]; /* why the last one was refused; "" */
};

/* Zeros if there is no such file. -EBADMSG: it is damaged. */
int host_facts_read(const char *fleet, const char *host, struct host_facts *out, struct error *err);
int host_facts_write(const char *fleet, const char *host, const struct host_facts *facts,
		     struct error *err);

/* Of this machine: its boot, its processors, and this assay's version. The rest is 0. */
void host_facts_of_this(struct host_facts *out);

/* How long this machine runs, with the time that it slept. */
uint64_t host_uptime_s(void);

/* Whether a text is a boot id. */
bool host_boot_is_valid(const char *text);

/*
 * Whether `now` is another machine than the one of `known`: its kernel began before the other one
 * spoke last, so both run. A machine that was silent for an hour is taken for gone. `slack_s`: so
 * exact are the times.
 */
bool host_facts_are_cloned(const struct host_facts *known, const struct host_facts *now,
			   uint64_t slack_s);
