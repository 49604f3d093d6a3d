/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The services whose addresses `assay ship --leaves` sends. */
#pragma once

#include <stdbool.h>

struct ship_leaves;

/* `services`: globs of the key `service`, a line each. */
struct ship_leaves *ship_leaves_new(const char *services);
void ship_leaves_free(struct ship_leaves *l); /* NULL is fine */

/* Adds a file with names of containers and pods, which name services (machine/cgroup_name.h). */
void ship_leaves_name(struct ship_leaves *l, const char *containers);

/* Whether a program in a cgroup is one of the services. For struct block_config. */
bool ship_leaves_take(void *leaves, const char *program, const char *cgroup);
