/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of a machine of the other byte order, turned into ours in place, so that one
 * decoder (record.h) serves both.
 */
#pragma once

#include "perfdata/record.h"

/* Swaps a kernel record of `size` bytes; what does not fit its layout is left as it is. */
void record_swap(const struct record_format *format, uint8_t *record, size_t size);
