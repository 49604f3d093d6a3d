/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Forgets a service in the directory of a fleet. Its samples stay as a number: they have no
 * program, no function, no thread name and no cgroup any more (merge_config.forgets). So what is
 * stored is what was sent, by host and block, and `assay fleet audit` finds no difference.
 *
 * Parts are exchanged one by one, and each is whole at any time. If it is stopped, the next call
 * ends it. Blocks that come later are not changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

/* How long it waits for a request of a host, or for a merge. */
#define FLEET_FORGET_MS 60000

struct forgotten_service {
	uint32_t n_parts; /* that were written anew */
	uint64_t samples;
};

/* Whether a text can be the name of one service: no glob, and one line. */
bool fleet_service_is_one(const char *service);

/*
 * `service`: its name, as the key `service` has it. Adds to *out. -EBUSY: a host is busy all the
 * time, and the hosts before it are done.
 */
int fleet_forget_service(const char *fleet, const char *service, struct forgotten_service *out,
			 struct error *err);
