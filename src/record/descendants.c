/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/descendants.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/intmap.h"

/* proc(5): /proc/PID/stat. The name, in brackets, may hold brackets and blanks. */
static bool read_process_stat(const char *proc, int32_t pid, int32_t *parent,
			      struct process_time *out)
{
	uint64_t utime, stime, start;
	char path[256], line[1024];
	const char *rest;

	snprintf(path, sizeof(path), "%s/%d/stat", proc, pid);
	if (!file_read_line(path, line, sizeof(line)) || !(rest = strrchr(line, ')')) ||
	    sscanf(rest,
		   ") %*c %" SCNd32 " %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64
		   " %*d %*d %*d %*d %*d %*d %" SCNu64,
		   parent, &utime, &stime, &start) != 4)
		return false;
	*out = (struct process_time){
		.pid = pid,
		.start = start,
		.cpu_ns = (utime + stime) * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK)),
	};
	return true;
}

/* A process is below another one if one of its ancestors is in the list. */
int descendants_add(const char *proc, struct pid_list *pids)
{
	struct intmap parents = { 0 }, chosen = { 0 };
	struct pid_list all = { 0 };
	struct process_time time;
	int r = proc_list_pids(proc, &all);
	size_t n_before;
	bool is_new;

	for (size_t i = 0; i < pids->n; i++)
		intmap_put(&chosen, (uint32_t)pids->data[i], &is_new);
	for (size_t i = 0; i < all.n; i++) {
		int32_t parent;

		if (read_process_stat(proc, all.data[i], &parent, &time))
			*intmap_put(&parents, (uint32_t)all.data[i], &is_new) = (uint32_t)parent;
	}
	/* each round finds one more generation */
	do {
		n_before = pids->n;
		for (size_t i = 0; i < all.n; i++) {
			const uint32_t *parent = intmap_find(&parents, (uint32_t)all.data[i]);

			if (!parent || !intmap_find(&chosen, *parent) ||
			    intmap_find(&chosen, (uint32_t)all.data[i]))
				continue;
			intmap_put(&chosen, (uint32_t)all.data[i], &is_new);
			vec_push(pids, all.data[i]);
		}
	} while (pids->n > n_before);
	intmap_fini(&parents);
	intmap_fini(&chosen);
	free(all.data);
	return r;
}

void process_times_read(const char *proc, const struct pid_list *pids, struct process_times *out)
{
	struct process_time time;
	int32_t parent;

	for (size_t i = 0; i < pids->n; i++)
		if (read_process_stat(proc, pids->data[i], &parent, &time))
			vec_push(&out->list, time);
}

uint64_t process_times_since(const char *proc, const struct process_times *then)
{
	struct process_time now;
	uint64_t sum = 0;
	int32_t parent;

	vec_foreach (&then->list, before)
		if (read_process_stat(proc, before->pid, &parent, &now) &&
		    now.start == before->start && now.cpu_ns > before->cpu_ns)
			sum += now.cpu_ns - before->cpu_ns;
	return sum;
}
