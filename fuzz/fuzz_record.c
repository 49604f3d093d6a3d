/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event records: the first two bytes choose a layout, the rest is a run
 * of records as a ring would hold them.
 */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "event/text.h"
#include "perfdata/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t period = 1;
	struct record_format format = { .max_stack = 127, .fixed_periods = &period };
	struct record_scratch *scratch = xmalloc(sizeof(*scratch));
	struct buf text = { 0 };

	if (size >= 2) {
		format.sample_type = (uint64_t)data[0] | (uint64_t)(data[1] & 1) << 16 |
				     (data[1] & 2 ? PERF_SAMPLE_PERIOD : 0);
		format.sample_type &= ~(uint64_t)PERF_SAMPLE_READ;
		format.sample_id_all = data[1] & 4;
		data += 2;
		size -= 2;
	}
	while (size >= sizeof(struct perf_event_header)) {
		struct perf_event_header h;
		struct event e;
		void *record;

		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size > size)
			break;
		record = xmalloc(h.size); /* so that a read beyond it is seen */
		memcpy(record, data, h.size);
		record_time(&format, record, h.size);
		if (record_decode(&format, record, h.size, 0, scratch, &e) == RECORD_OK) {
			text.len = 0;
			event_format(&text, &e);
		}
		free(record);
		data += h.size;
		size -= h.size;
	}
	buf_fini(&text);
	free(scratch);
	return 0;
}
