/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers and line tables in HotSpot's compressed data. */
#pragma once

#include <stdint.h>

#include "base/reader.h"
#include "lang/runtime.h"

/*
 * A number of 1 to 5 bytes (UNSIGNED5): a byte below 192 ends it. Since JDK 20, every byte is one
 * more, so that none is 0.
 */
uint32_t hotspot_u5(struct reader *r, uint32_t version);

/* The bytes of the line table that `code` has, up to and with its end. */
uint32_t java_table_size(const struct lang_code *code);
