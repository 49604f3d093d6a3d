/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errata: where the traces of some processors differ from the SDM, and flow.h works around it.
 *
 * The names are those of Intel's specification updates, which describe each of them. Several
 * documents give one erratum several names; the name here is the one that other decoders use.
 */
#pragma once

#include <stdint.h>

/* X(id, name, the trace has …) */
#define PT_ERRATA(X)                                                                           \
	X(FUP_BEHIND_BRANCH, "GLM",                                                            \
	  "an interrupt before an indirect branch, at the address behind")                     \
	X(BRANCH_BEFORE_ABORT, "BDM64", "a wrong branch before the abort of a transaction")    \
	X(OVF_IN_CYC, "SKD007", "a CYC whose second byte an OVF has overwritten")              \
	X(OVF_WITHOUT_FUP, "SKD010", "an OVF without the FUP that says where tracing goes on") \
	X(FUP_AT_VM_ENTRY, "SKD022", "a FUP at a VM entry that ends tracing")                  \
	X(PGD_WITHOUT_IP, "SKL014",                                                            \
	  "a TIP.PGD without address, of a direct branch out of a filter")                     \
	X(FUP_WHILE_OFF, "APL12", "a FUP behind an OVF, though tracing is off")

enum pt_erratum_bit {
#define X(id, name, text) PT_ERRATUM_BIT_##id,
	PT_ERRATA(X)
#undef X
		N_PT_ERRATA
};

enum pt_erratum {
#define X(id, name, text) PT_ERRATUM_##id = 1 << PT_ERRATUM_BIT_##id,
	PT_ERRATA(X)
#undef X
};

/*
 * The errata of a processor: a set of enum pt_erratum. `cpu_id` is the CPUID of a recording's
 * header: "GenuineIntel,FAMILY,MODEL,STEPPING", in decimal. 0: none are known, or it is no such
 * text.
 */
uint32_t pt_errata_of(const char *cpu_id);
