/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steering a recording from outside: messages (--control), snapshots and a delayed start, for
 * recorder_run() in each turn of its loop.
 *
 *   FIFO or descriptor ─► control_channel ─┐
 *   SIGUSR2 ─► eventfd ────────────────────┴─► one epoll descriptor ─► recorder's verbs
 */
#pragma once

#include <stdbool.h>

#include "record/recorder.h"

struct error;
struct steering;

struct steering_config {
	const char *control;  /* control_channel_open()'s words; NULL: none */
	int snapshot_fd;      /* an eventfd: each write to it requests a snapshot; 0: none */
	double delay_s;       /* counting begins this long after the start; 0: at once */
	bool starts_disabled; /* … or at a request */
	/* Impossible requests, and done ones, in sentences. */
	void (*report)(void *context, bool is_warning, const char *sentence);
	void (*show)(void *context, const char *text); /* requested lines */
	void *context;
};

/* -EINVAL: wrong syntax; else the reason of the failure. */
int steering_open(const struct steering_config *config, struct steering **out, struct error *err);
void steering_close(struct steering *s); /* NULL is fine */
DEFINE_AT_EXIT(steering_close, struct steering)

/* For recorder_config.control and .starts_disabled. */
const struct recorder_control *steering_control(const struct steering *s);
bool steering_starts_disabled(const struct steering *s);
