/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events as text, fed to a machine: the parser, and processes that can't be. */
#include <string.h>

#include "base/mem.h"
#include "event/text.h"
#include "machine/machine.h"

struct feeding_sink {
	struct event_sink sink;
	struct machine *machine;
};

static int feed(struct event_sink *sink, const struct event *e)
{
	struct machine *m = ((struct feeding_sink *)sink)->machine;
	struct code_addr code;

	machine_event(m, e);
	if (e->type == EVENT_SAMPLE) {
		struct thread_view t = machine_thread(m, e->pid, e->tid);

		machine_resolve(m, &t, e->sample.mode, e->sample.ip, e->time_ns, &code);
		machine_forget_ended(m, e->time_ns, NULL, NULL);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct machine_config nowhere = { "/nonexistent/proc", "/nonexistent/sys" };
	struct feeding_sink sink = { { feed }, machine_new(&nowhere) };
	char *text = xstrndup((const char *)data, size);

	event_parse_text(text, &sink.sink, NULL);
	free(text);
	machine_free(sink.machine);
	return 0;
}
