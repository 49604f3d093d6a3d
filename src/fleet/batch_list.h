/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of the blocks that are being inserted into a shard of ClickHouse together: a file of the
 * fleet, written before the first insert.
 *
 * An insert may go on in the server after its loader is gone, or after its answer was lost. The
 * next try must then insert exactly the same blocks: ClickHouse knows an insert by its token, which
 * is a hash of its blocks. So no other block of the shard is inserted while there is a list.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "store/history/history.h"

struct error;

struct listed_block {
	char *host;                   /* owned by the list */
	char part[HISTORY_NAME_SIZE]; /* the name of its folder in the host's */
	uint64_t bucket;              /* its start, CLOCK_REALTIME in ns */
};

struct batch_list {
	VEC(struct listed_block) blocks;
	bool leaves;         /* blocks of addresses (fleet_leaves()) */
	uint64_t written_ns; /* when the file was written, CLOCK_REALTIME */
};

void batch_list_fini(struct batch_list *list);

/* Adds a block. The texts are copied. */
void batch_list_add(struct batch_list *list, const char *host, const char *part, uint64_t bucket);

/* Writes a list on the disk, or reads one. `path` is in `fleet`. As those of a shard, below. */
int batch_list_write_file(const char *fleet, const char *path, const struct batch_list *list,
			  struct error *err);
int batch_list_read_file(const char *path, struct batch_list *out, struct error *err);

/* Writes the list of the shard with this address, on the disk. */
int batch_list_write(const char *fleet, const char *address, const struct batch_list *list,
		     struct error *err);

/* Fills an empty list. 1: there is one; 0: there is none. -EBADMSG: the file is damaged. */
int batch_list_read(const char *fleet, const char *address, struct batch_list *out,
		    struct error *err);

/*
 * -EAGAIN: the fleet has a list that was written less than `within_ns` ago, and of none of these
 * addresses. The message names its file.
 */
int batch_list_check_others(const char *fleet, const char *const *addresses, size_t n,
			    uint64_t within_ns, struct error *err);

/* Removes the file, if there is one. */
int batch_list_remove(const char *fleet, const char *address, struct error *err);
