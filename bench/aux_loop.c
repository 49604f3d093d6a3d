/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder of Intel PT that is as simple as perf record: it writes the new bytes of each AUX area
 * from the mapping with write(2), and gives them back to the kernel. It measures the cost of this.
 *
 * Usage: aux_loop OUT SECONDS
 *
 * It prints "BYTES CPU_SECONDS".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "collect/aux.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int write_piece(void *context, const struct aux_piece *p)
{
	int fd = *(int *)context, e = 0;

	for (int i = 0; i < 2 && !e; i++)
		e = file_write_all(fd, p->part[i], p->part_size[i]);
	return e;
}

static int drop(struct event_sink *sink, const struct event *e)
{
	(void)sink, (void)e;
	return 0;
}

static void die(const struct error *err)
{
	fprintf(stderr, "aux_loop: %s\n", err->text);
	exit(1);
}

int main(int argc, char **argv)
{
	static const struct counter_sources sources;
	struct counters counters = { 0 };
	struct cpu_list cpus = { 0 };
	struct error err = { 0 };
	struct rings_config rings = { .counters = &counters,
				      .sources = &sources,
				      .cpus = &cpus,
				      .cgroup_fd = -1,
				      .for_trace = true,
				      .for_file = true,
				      .ring_bytes = 512 << 10 };
	struct aux_config areas = { .mode = AUX_FULL, .area_bytes = 4 << 20 };
	struct event_sink nowhere = { drop };
	struct aux *aux;
	double end;
	int fd;
	struct aux_sink sink = { write_piece, &fd };

	if (argc != 3) {
		fprintf(stderr, "Usage: aux_loop OUT SECONDS\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 ||
	    counter_parse(&sources, "intel_pt//u", &(struct counter_rate){ 0 }, &counters, &err) <
		    0 ||
	    cpu_list_online(NULL, &cpus, &err) < 0)
		die(&err);
	counters.data[0].attr.aux_watermark = (uint32_t)areas.area_bytes / 4;
	if (rings_open(&rings, &areas.rings, &err) < 0 || aux_open(&areas, &aux, &err) < 0 ||
	    rings_enable(areas.rings, &err) < 0)
		die(&err);
	for (end = now() + atof(argv[2]); now() < end;) {
		rings_wait(areas.rings, -1, 100);
		if (rings_drain(areas.rings, UINT64_MAX, &nowhere) < 0 || aux_drain(aux, &sink) < 0)
			return 1;
	}
	printf("%" PRIu64 " %.3f\n", aux_bytes(aux), own_cpu());
	aux_close(aux);
	rings_close(areas.rings);
	counters_fini(&counters);
	vec_fini(&cpus);
	close(fd);
	return 0;
}
