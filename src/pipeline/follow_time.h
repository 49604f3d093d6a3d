/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long walks follow code of Java and JavaScript. Processes choose how many reads their code
 * takes, and how long a read does, so all walks together have a limit (guard/limits.h). Waits for
 * tables do not count, and near the limit, neither does the time that the threads had no CPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct memory_reads;

struct follow_time {
	uint64_t all_ns;   /* of all walks so far */
	uint64_t start_ns; /* of the walk at hand; 0: none … */
	uint64_t waited_ns;
	uint64_t delay_ns; /* … UINT64_MAX: the limit is far away, so delays do not matter */
	bool has_delay_fd;
	int delay_fd; /* of the thread that walks (thread_open_delay()); -1: not known */
};

void follow_time_init(struct follow_time *t);
void follow_time_fini(struct follow_time *t);

/* `waited_ns`: by all waits for tables so far. */
void follow_time_begin(struct follow_time *t, const struct memory_reads *reads, uint64_t waited_ns);

/* Nothing if no walk has begun. */
void follow_time_end(struct follow_time *t, const struct memory_reads *reads, uint64_t waited_ns);

/* At the beginning of a walk; `since_ns`: when the first walk was. Waits have half of the time. */
bool follow_time_is_over(const struct follow_time *t, uint64_t since_ns, bool is_wait);
