/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a memory access found its data: union perf_mem_data_src of a sample (PERF_SAMPLE_DATA_SRC),
 * in the words of perf 7.2. `perf mem report` has the parts as columns, and `perf script -F
 * data_src` has all of them.
 */
#pragma once

#include <stdint.h>

struct buf;

void data_source_put_level(struct buf *out, uint64_t source); /* "L1 hit", "Local RAM hit", "N/A" */
void data_source_put_tlb(struct buf *out, uint64_t source);   /* "L1 or L2 hit", "Walker miss" */
void data_source_put_snoop(struct buf *out, uint64_t source); /* "None", "HitM" */

/* "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" */
void data_source_put(struct buf *out, uint64_t source);
