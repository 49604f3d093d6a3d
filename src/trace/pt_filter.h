/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address filters that a trace was recorded with (counter/address_filter.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "counter/address_filter.h"

struct perfdata_info;
struct pt_trace;
struct address_space;

/* From AUXTRACE_INFO. Empty: there are none, or their text is damaged. */
void pt_filters_read(struct address_filters *out, const struct perfdata_info *info);

/*
 * Whether the filters of a trace keep an address out of it. `maps` are the mappings of its process.
 * False: no, or it is not known.
 */
bool pt_filters_exclude(const struct pt_trace *t, const struct address_space *maps, uint64_t ip);
