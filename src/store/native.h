/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The native store's limits, which tests make small.
 *
 * A segment ends when one of them is reached; the next one starts with empty
 * tables, so that the recorder's memory stays flat however long it runs.
 */
#pragma once

#include <stdint.h>

struct store;

struct native_limits {
	uint64_t table_bytes;   /* of classes and call tree in memory */
	uint64_t segment_bytes; /* of a file on disk */
};

#define NATIVE_LIMITS_DEFAULT ((struct native_limits){ 24u << 20, 64u << 20 })

void native_store_set_limits(struct store *s, const struct native_limits *limits);
