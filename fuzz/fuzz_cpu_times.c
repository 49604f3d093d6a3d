/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of CPU times of a session. */
#include <stdlib.h>
#include <string.h>

#include "store/cpu_times.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xcalloc(size + 1, 1);
	struct cpu_times t;
	bool is_whole;

	if (size)
		memcpy(text, data, size);
	cpu_times_init(&t);
	is_whole = cpu_times_parse(&t, text);
	if (t.processes.n > CPU_TIMES_MAX_PROCESSES)
		abort();
	vec_foreach (&t.processes, p)
		if (p->pid < 0 || (is_whole && p->ns != CPU_TIME_UNKNOWN && p->ns > INT64_MAX))
			abort();
	cpu_times_fini(&t);
	free(text);
	return 0;
}
