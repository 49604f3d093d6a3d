/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address filters of the command line: refused with a reason, or whole. */
#include <stdlib.h>

#include "base/error.h"
#include "counter/address_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct address_filters filters = { 0 };
	struct address_ranges ranges = { 0 };
	struct buf out = { 0 };
	struct error err = { 0 };

	if (address_filters_parse(text, &filters, &err) < 0 && (!*err.text || filters.n))
		abort();
	vec_foreach (&filters, f) {
		bool is_point = !address_action_is_region[f->action];

		if (is_point && (f->has_size || f->is_all))
			abort();
		vec_push(&ranges, (struct address_range){ f->action, f->start.number,
							  f->size.number, f->file });
	}
	address_ranges_text(&ranges, &out);
	/* The texts for the kernel are valid address filters, too. */
	if (ranges.n && !address_filter_is_one(buf_cstr(&out)))
		abort();
	address_filters_fini(&filters);
	vec_fini(&ranges);
	buf_fini(&out);
	free(text);
	return 0;
}
