/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of functions that hosts sent to a gateway: FLEET/.names/BUILDID.sym, an index as
 * symbol/cache.h has it, and BUILDID.from with the host that sent it, on a line.
 *
 * Which index stays. A better one replaces a worse one. Dynamic symbols are the worst. The kernel's
 * list, a symbol table and the symbols of a debug file follow, in this order. Of two that are as
 * good, the first one stays, but its own sender may replace it. The sender states the quality, so
 * a better one of another host must have the functions of the worse one. One in 16 of them may have
 * another name there, as aliases do. So a host that claims a debug file can name functions that
 * have no name yet, and rename few. BUILDID.from has the name of this host.
 *
 * .first/BUILDID.sym and .from are the index and the name of the first sender, once another host
 * has replaced it. All later indexes must have its functions, also those of the present sender. So
 * several steps rename no more than one does. They take as much room again at most. BUILDID.refused
 * lists the hosts and the qualities of indexes that had other names, lines "HOST QUALITY" of 64 KiB
 * at most, until another index comes.
 *
 * A host may send NAMES_A_DAY indexes, and NAMES_BYTES_A_DAY of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "symbol/symbols.h"

struct error;

#define NAMES_A_DAY       2000
#define NAMES_BYTES_A_DAY (UINT64_C(512) << 20)

/* 0: no names. The more, the better. */
unsigned int names_quality(enum symbol_status status);

/* The status of a word of symbol_status_keys; N_SYMBOL_STATUSES: it is none. */
enum symbol_status names_status_of(const char *word);

/*
 * Whether the fleet has no index of the build, or a worse one, and did not refuse one of this host
 * and quality for its names.
 */
bool fleet_names_want(const char *fleet, const char *host, const struct build_id *id,
		      enum symbol_status status);

/*
 * Keeps the index of a build, which names_check_ask() found sound, and sets its owner. 1: it is
 * kept. 0: the fleet has a better one, or another host's that is as good. -EEXIST: one with other
 * names; *err names its host. -ENOSPC: it can't be written.
 */
int fleet_names_take(const char *fleet, const char *host, const struct build_id *id, void *index,
		     size_t size, struct error *err);

/* The host that sent the index of a build, ""  if nobody knows. */
void fleet_names_sender(const char *fleet, const struct build_id *id, char *host, size_t size);

/* Removes the indexes that a host sent. */
int fleet_names_forget(const char *fleet, const char *host, struct error *err);
