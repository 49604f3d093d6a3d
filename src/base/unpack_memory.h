/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the libraries that unpack. They allocate on their own, so a lack of memory comes as one
 * of their errors. It must not look like damage of a file: it counts as in base/reserve.h.
 */
#pragma once

#include <stdbool.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/reserve.h"

/* True: zstd had not enough memory. */
static inline bool zstd_lacks_memory(size_t result)
{
	if (!ZSTD_isError(result) || ZSTD_getErrorCode(result) != ZSTD_error_memory_allocation)
		return false;
	reserve_count_failure();
	return true;
}
