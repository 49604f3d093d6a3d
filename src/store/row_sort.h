/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts rows in place, where memory counts more than time (store/sort.h is faster). */
#pragma once

#include <stdbool.h>

#include "store/segment.h"

/*
 * By node, then by class; by_class: by class, then by node. disk_ids: the numbers of the nodes that
 * count, or NULL. No two rows have the same class and node.
 */
void rows_sort(struct count_row *rows, uint32_t n, const uint32_t *disk_ids, bool by_class);
