/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/helpers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "daemon/daemon_state.h"

/* "pid (name) state …": utime is field 14, then stime, cutime and cstime; rss is field 24. */
static void helper_look(pid_t pid, struct helper *out)
{
	uint64_t own, system, children, children_system, pages;
	char path[64], line[512], *rest;

	*out = (struct helper){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (pid <= 0 || !file_read_line(path, line, sizeof(line)) || !(rest = strrchr(line, ')')) ||
	    sscanf(rest,
		   ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %*s %*s %*s %*s %*s %*s %" SCNu64,
		   &own, &system, &children, &children_system, &pages) != 5)
		return;
	out->pid = pid;
	out->cpu_ns = (own + system + children + children_system) *
		      (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
	out->bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void daemon_helpers_look(const struct daemon *d, struct daemon_helpers *out)
{
	*out = (struct daemon_helpers){ .n_openers_died = d->opener.n_died,
					.parsers = parser_cost_so_far(),
					.upkeep = d->upkeep };
	helper_look(d->starter, &out->starter);
	helper_look(d->keeper, &out->keeper);
	if (out->keeper.pid)
		helper_look(d->opener.pid, &out->opener);
	out->cpu_ns = out->keeper.cpu_ns + out->opener.cpu_ns + out->parsers.cpu_ns;
	out->bytes =
		out->keeper.bytes + out->opener.bytes + out->starter.bytes + out->parsers.bytes;
}
