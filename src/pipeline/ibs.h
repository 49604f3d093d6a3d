/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * AMD's instruction-based sampling: the raw data of samples of the PMUs ibs_fetch and ibs_op.
 *
 * The processor picks an instruction fetch or an operation, and stores its history in registers.
 * The kernel copies the registers into the raw data (Linux, arch/x86/events/amd/ibs.c):
 *
 *   u32 caps      CPUID 8000_001B EAX: the IBS features of this processor
 *   u64[]         ibs_fetch: IbsFetchCtl, linear address, physical address[, IcIbsExtdCtl]
 *                 ibs_op:    IbsOpCtl, IbsOpRip, IbsOpData, IbsOpData2, IbsOpData3,
 *                            linear address of the data, physical address
 *                            [, branch target][, IbsOpData4]
 *
 * The registers are MSRs C001_1030 to C001_103D of AMD's manuals (BKDG for families 10h to 15h, PPR
 * for later ones). OProfile's derived events are conditions on their bits. One raw sample counts in
 * each event whose condition holds, or adds cycles to it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IBS_CAPS_BRANCH_TARGET     (1U << 5)
#define IBS_CAPS_RIP_INVALID_CHECK (1U << 7)
#define IBS_CAPS_ZEN4              (1U << 11) /* among others: a wider field for the source of data */

enum ibs_kind { IBS_NONE, IBS_FETCH, IBS_OP };

struct ibs_sample {
	enum ibs_kind kind;
	uint32_t caps;
	uint64_t ctl; /* IbsFetchCtl; 0 for an operation */
	uint64_t address, data1, data2, data3, linear, physical, target;
	bool has_target;
};

/* Returns false if the raw data is too short for its kind. */
bool ibs_parse(enum ibs_kind kind, const uint8_t *raw, size_t size, struct ibs_sample *out);

/* Does `address` hold the address of the operation? Without it the sample has no place. */
bool ibs_has_address(const struct ibs_sample *s, uint32_t family);

/* The kind of the ext "ibs_fetch" or "ibs_op" (counter/catalog/event_file.h). */
enum ibs_kind ibs_kind_of(const char *ext);

/* Families 10h to 15h have other events than later families. */
bool ibs_event_exists(uint32_t code, uint32_t family);

/* The sample's count in the event with this code (0xf000 …): 0 or 1, or a number of cycles. */
uint64_t ibs_count(const struct ibs_sample *s, uint32_t code, uint32_t family);

/* Does the event count cycles instead of occurrences? */
bool ibs_counts_cycles(uint32_t code);
