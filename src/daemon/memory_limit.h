/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's limit of memory (--max-memory). At seven eighths of it, idle parsers end. If the
 * daemon itself with keeper, opener and starter needs so much, counting begins anew, and then the
 * rate goes down. Neither frees the memory of a parser that works: its own limit bounds it.
 */
#pragma once

#include <stdint.h>

struct daemon;

enum memory_excess {
	MEMORY_FITS,
	MEMORY_OF_PARSERS, /* only with the parsers it is too much */
	MEMORY_OF_DAEMON,  /* it is too much without the parsers */
};

/* Of a limit in bytes (0: none); `parsers` are not in `daemon`. */
enum memory_excess memory_excess(uint64_t limit, uint64_t daemon, uint64_t parsers);

/* Called at each tick with the resident bytes of this process. */
void memory_limit_watch(struct daemon *d, uint64_t own_bytes, uint64_t now_ns);
