/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a struct input holds: for open/ alone. */
#pragma once

#include <sys/types.h>

#include "base/build_id.h"
#include "open/input.h"
#include "trace/branch_filter.h"
#include "trace/itrace.h"

struct input {
	struct open_config
		config; /* its texts are ours; container_names, itrace and filter are NULL */
	struct itrace itrace;
	struct branch_filter filter; /* itrace.filter, if there is one */
	struct build_id vmlinux_id;
	struct container_names *containers;
	struct debuginfod *debuginfod; /* NULL: it is not asked */
	char *scratch;                 /* NULL: there is none yet */
	/* Copies of pipes, which config.guest_kallsyms and guest_modules name; -1: none. */
	int guest_kallsyms_fd, guest_modules_fd;
	pid_t owner; /* of the directory: a child of fork(2) does not remove it */
	unsigned int n_folders;
	bool sums_alone; /* input_want_sums_alone() */
	struct fleet_wish fleet_wish;
	bool has_fleet_wish;
	char *packed, *unpacked; /* the archive in one file that was opened last, and its folder */
};

/* Checks the files of guests that the user names. Pipes are copied. */
int input_take_guests(struct input *in, struct error *err);

/* Opens a fleet in ClickHouse. *is_damaged: a shard did not answer. */
int input_open_clickhouse(struct input *in, const char *path, const struct query *q,
			  struct session **out, bool *is_damaged, struct error *err);

/* The path of a new folder in the temporary directory; the folder is not there yet. */
int input_new_folder(struct input *in, char **dir, struct error *err);
