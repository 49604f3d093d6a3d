/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A choice of services by globs: those whose addresses `assay ship --leaves` sends, and those that
 * `assay fleet rate --target-samples` steers.
 */
#pragma once

#include <stdbool.h>

struct service_choice;

/* `services`: globs of the key `service`, a line each. */
struct service_choice *service_choice_new(const char *services);
void service_choice_free(struct service_choice *c); /* NULL is fine */

/* Adds a file with names of containers and pods, which name services (machine/cgroup_name.h). */
void service_choice_name(struct service_choice *c, const char *containers);

/* The same of lines "ID NAME", which it overwrites. */
void service_choice_name_lines(struct service_choice *c, char *lines);

/* Whether a program in a cgroup is one of the services. For struct block_config. */
bool service_choice_takes(void *choice, const char *program, const char *cgroup);
