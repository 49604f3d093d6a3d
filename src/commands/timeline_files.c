/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/timeline_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "calls/call_timeline.h"
#include "cli/output.h"

int timeline_write_page(const struct call_timeline *timeline, const struct timeline_words *words,
			const char *path, struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int r;

	if (!out)
		return error_errno(err, -errno, "memory");
	call_timeline_page(timeline, words, out);
	fclose(out);
	r = output_whole(path, text, size, err);
	free(text);
	return r;
}

int timeline_write_perfetto(const struct call_timeline *timeline, const char *path,
			    struct error *err)
{
	struct buf out = { 0 };
	int r;

	call_timeline_perfetto(timeline, &out);
	r = output_whole(path, out.data, out.len, err);
	buf_fini(&out);
	return r;
}
