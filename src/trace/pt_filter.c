/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_filter.h"

#include <string.h>

#include "base/error.h"
#include "trace/pt_trace_state.h"

void pt_filters_read(struct address_filters *out, const struct perfdata_info *info)
{
	uint64_t size;
	const char *at = pt_trace_info_filter(info, &size);
	cleanup(free_at_exit) char *text = at ? xstrndup(at, size) : NULL;
	struct error err = { 0 };

	*out = (struct address_filters){ 0 };
	if (text && *text)
		address_filters_parse(text, out, &err);
}

/* `offset` is in the file, or an address of the kernel. */
static bool filter_covers(const struct address_filter *f, const char *file, uint64_t offset)
{
	bool is_of_file = f->file ? file && !strcmp(f->file, file) : !file;
	uint64_t size = f->has_size ? f->size.number : 1;

	return is_of_file && (f->is_all || offset - f->start.number < size);
}

bool pt_filters_exclude(const struct pt_trace *t, const struct address_space *maps, uint64_t ip)
{
	const struct mapping *m = ip >> 63 ? NULL : address_space_find(maps, ip);
	const char *file = m ? image_get(t->history.images, m->image)->path : NULL;
	uint64_t offset = m ? ip - m->start + m->file_off : ip;
	bool has_regions = false, is_inside = false;

	if (!m && !(ip >> 63))
		return false;
	vec_foreach (&t->filters, f) {
		bool covers = filter_covers(f, file, offset);

		if (f->action == ADDRESS_TRACESTOP && covers)
			return true;
		has_regions |= f->action == ADDRESS_FILTER;
		is_inside |= f->action == ADDRESS_FILTER && covers;
	}
	return has_regions && !is_inside;
}
