/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times and names of parts: a text that is taken prints as one that is taken, and means the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/time_window.h"
#include "store/history/history.h"

#define NOW 1795183530123000000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_point(const char *text)
{
	struct error err = { 0 };
	struct buf printed = { 0 };
	uint64_t ns, again;

	if (time_point_parse(text, NOW, &ns, &err) < 0) {
		if (!err.text[0])
			abort(); /* a refusal without a reason */
		return;
	}
	time_point_print(&printed, ns);
	/* Local times of an hour that comes twice a year are ambiguous. */
	if (ns && printed.len && time_point_parse(buf_cstr(&printed), NOW, &again, NULL) == 0 &&
	    (again > ns ? again - ns : ns - again) > 3600 * NS_PER_SECOND)
		abort();
	buf_fini(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[HISTORY_NAME_SIZE];
	char *text = malloc(size + 1);
	struct time_window w;
	uint64_t ns, again;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_point(text);
	if (time_range_parse(text, NOW, &w, NULL) == 0 && w.from_ns >= w.to_ns)
		abort();
	if (history_part_time(text, &ns)) {
		history_part_name(ns, 1, name);
		if (!history_part_time(name, &again) || again != ns)
			abort();
	}
	free(text);
	return 0;
}
