/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The event parser. Input: an -e argument, and behind a NUL the text of a PMU's format
 * file and, behind another, of one of its aliases: pmu/field/ and pmu/alias/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "counter/counter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/assay-fuzz-counter-XXXXXX";

static void remove_tree(void)
{
	file_remove_tree(root, NULL);
}

static void put(const char *path, const char *text)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	*strrchr(full, '/') = '\0';
	file_mkdirs(full, 0755, NULL);
	full[strlen(full)] = '/';
	if (file_replace(full, text, strlen(text), NULL) < 0)
		abort();
}

#define PMU "bus/event_source/devices/pmu/"

static void make_tree(void)
{
	static bool is_made;

	if (is_made)
		return;
	is_made = true;
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	if (!mkdtemp(root))
		abort();
	atexit(remove_tree);
	put(PMU "type", "4\n");
	put(PMU "cpus", "0-3\n");
	put("events/sched/sched_switch/id", "316\n");
	put("sys/kernel/perf_event_paranoid", "2\n");
	put("sys/kernel/perf_event_max_sample_rate", "100000\n");
}

static int no_open(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		   unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct counter_sources sources = { root, root, root, no_open };
	struct counter_rate rate = { 0 };
	struct counters counters = { 0 };
	struct error err = { 0 };
	char *text = calloc(1, size + 3);
	const char *format, *alias;

	if (!text)
		return 0;
	make_tree();
	if (size)
		memcpy(text, data, size);
	format = text + strlen(text) + (strlen(text) < size);
	alias = format + strlen(format) + (format + strlen(format) < text + size);
	if (*format)
		put(PMU "format/field", format);
	if (*alias)
		put(PMU "events/alias", alias);
	if (counter_parse(&sources, text, &rate, &counters, &err) < 0 && !err.text[0])
		abort(); /* a refusal without a reason */
	for (size_t i = 0; i < counters.n; i++)
		if (!counters.data[i].name[0] || !counters.data[i].attr.sample_period)
			abort(); /* sample_period is sample_freq, too */
	counters_fini(&counters);
	free(text);
	return 0;
}
