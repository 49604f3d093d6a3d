/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of pprof.c where protobuf-c is not there to build with. */
#include "foreign/pprof.h"

#include <errno.h>

bool pprof_has_magic(const void *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	return false;
}

int pprof_read(const void *bytes, size_t size, struct foreign_sink *sink,
	       struct foreign_facts *facts, struct error *err)
{
	(void)bytes;
	(void)size;
	(void)sink;
	(void)facts;
	return error_set(err, -ENOTSUP, "this assay is built without protobuf-c");
}
