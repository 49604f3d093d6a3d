/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's instruction-based sampling: what a raw sample of the PMUs ibs_fetch and ibs_op says.
 *
 * The processor picks an instruction fetch, or an operation, and notes in registers what became of
 * it; the kernel hands the registers over as raw data (Linux, arch/x86/events/amd/ibs.c):
 *
 *   u32 caps      CPUID 8000_001B EAX: what this processor's IBS has
 *   u64[]         ibs_fetch: IbsFetchCtl, linear address, physical address[, IcIbsExtdCtl]
 *                 ibs_op:    IbsOpCtl, IbsOpRip, IbsOpData, IbsOpData2, IbsOpData3,
 *                            linear address of the data, physical address
 *                            [, branch target][, IbsOpData4]
 *
 * The registers are MSRs C001_1030 to C001_103D of AMD's manuals (BKDG of families 10h to 15h, PPR
 * since). OProfile's derived events are conditions on their bits; one raw sample counts in each
 * event that fits, or adds cycles to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IBS_CAPS_BRANCH_TARGET     (1U << 5)
#define IBS_CAPS_RIP_INVALID_CHECK (1U << 7)
#define IBS_CAPS_ZEN4              (1U << 11) /* among others: a wider field of the data's source */

enum ibs_kind { IBS_NONE, IBS_FETCH, IBS_OP };

struct ibs_sample {
	enum ibs_kind kind;
	uint32_t caps;
	uint64_t ctl; /* of a fetch */
	uint64_t address, data1, data2, data3, linear, physical, target;
	bool has_target;
};

/* False: too short for what it should be. */
bool ibs_parse(enum ibs_kind kind, const uint8_t *raw, size_t size, struct ibs_sample *out);

/* The address is that of the operation. Else the sample is nowhere. */
bool ibs_has_address(const struct ibs_sample *s, uint32_t family);

/* Of ext "ibs_fetch" or "ibs_op" (counter/catalog/event_file.h). */
enum ibs_kind ibs_kind_of(const char *ext);

/* Which bits count differs by family: 0x10 to 0x15, or later ones. */
bool ibs_event_exists(uint32_t code, uint32_t family);

/* What the sample counts in the event of a code (0xf000 …): 0 or 1, or cycles. */
uint64_t ibs_count(const struct ibs_sample *s, uint32_t code, uint32_t family);

/* Such an event counts cycles, not occurrences. */
bool ibs_counts_cycles(uint32_t code);
