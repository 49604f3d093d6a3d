/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts: the sessions that a history is made of, one directory each, named by the wall clock at
 * their start, "20261121T210500.123Z".
 *
 * In a part, time is CLOCK_MONOTONIC, and one pair of both clocks tells when that was; so a new
 * part begins whenever the pair is not true any more (the clock was set, the machine slept), and
 * each hour, so that what is old can be merged or forgotten piece by piece.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

#define PART_NAME_SIZE 32
#define PART_NS        (3600 * 1000000000ULL)

/* The name of a part that starts at this time (CLOCK_REALTIME). */
void part_name(uint64_t wall_ns, char name[static PART_NAME_SIZE]);

/* The wall clock of a name, or 0: it is none of a part. "-2" behind it does not matter. */
uint64_t part_time(const char *name);

/* A path for a new part below `dir`, where nothing is: with "-2" and so on where it is taken. */
char *part_path(const char *dir, uint64_t wall_ns);

/* When the part that is being written began, by both clocks. */
struct part_clock {
	uint64_t wall_ns, mono_ns;
};

enum part_due {
	PART_GOES_ON,
	PART_IS_OVER,   /* its time is */
	PART_CLOCK_SET, /* the clock was set, or the machine slept */
};

/* Shall a new part begin now, as it is most_ns old? A clock that is slewed counts as set when it is
 * half a second off. */
enum part_due part_due(const struct part_clock *start, uint64_t most_ns, uint64_t wall_ns,
		       uint64_t mono_ns);

/* The parts in a history's directory, by name, oldest first. */
struct part_names {
	char **data;
	size_t n, cap;
};
int part_names_list(const char *dir, struct part_names *out, struct error *err);
void part_names_fini(struct part_names *names);

/*
 * After a crash: parts that hold nothing are removed, and so is the room that the others reserved
 * for their end. Returns how many parts had been left without an end, or a negative errno.
 */
int parts_tidy(const char *dir, struct error *err);
