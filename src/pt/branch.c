/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/branch.h"

const uint16_t pt_end_flags[N_PT_ENDS] = {
#define X(id, flags) PT_F_BRANCH | (flags),
	PT_ENDS(X)
#undef X
};
