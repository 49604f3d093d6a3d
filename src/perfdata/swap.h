/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns records of the other byte order into ours in place, for the one decoder (record.h). */
#pragma once

#include "perfdata/record.h"

/* Swaps a kernel record of `size` bytes. Bytes that don't fit its layout are left as they are. */
void record_swap(const struct record_format *format, uint8_t *record, size_t size);
