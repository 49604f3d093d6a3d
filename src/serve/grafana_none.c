/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of grafana.c: a build without protocol buffers. */
#include <errno.h>

#include "base/error.h"
#include "serve/grafana.h"

const struct api_row grafana_row = { .name = "grafana", .type = GRAFANA_TYPE };

int grafana_call(const char *name, const struct buf *message, const struct sources *sources,
		 const char *filters, struct grafana_result *out, struct error *err)
{
	(void)name, (void)message, (void)sources, (void)filters;
	*out = (struct grafana_result){ 0 };
	return error_set(err, -ENOENT, "this assay was built without protobuf-c");
}
