/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of containers and pods that `ship` sends: those of the history, and those that
 * ship_config.more_containers has. The folder of the host has the names that were sent before.
 */
#pragma once

#include <stdint.h>

struct error;
struct fleet_host;
struct service_choice;
struct ship_config;

/*
 * Sends the names that the place does not have. `part` is the folder of a part of the history;
 * NULL: it has none. `leaves`, which may be NULL, gets all names, and so knows the services by
 * name. *n is the number of names. With config->dry_run they are only counted and reported. Errors
 * are those of config->send_containers, and of fleet_host_name_containers().
 */
int ship_containers_send(const struct ship_config *config, struct fleet_host *host,
			 const char *part, struct service_choice *leaves, uint32_t *n,
			 struct error *err);
