/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/open_helper.h"

#include <errno.h>
#include <stddef.h>

static const struct open_helper *the_helper;

void open_helper_set(const struct open_helper *helper)
{
	the_helper = helper;
}

bool open_helper_can_mend(int error)
{
	return error == -EACCES || error == -EPERM;
}

int open_helper_file(const char *path, int error)
{
	int fd = the_helper && open_helper_can_mend(error) ? the_helper->file(path) : error;

	return fd < 0 ? error : fd;
}

int open_helper_counter(const struct perf_event_attr *attr, int pid, int cpu, int leader,
			unsigned long flags, int error)
{
	if (!the_helper || !open_helper_can_mend(error))
		return error;
	return the_helper->counter(attr, pid, cpu, leader, flags);
}
