/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/synth_raw.h"

const char *const pt_synth_names[N_PT_SYNTHS] = {
#define X(id, config, name) [config] = (name),
	PT_SYNTHS(X)
#undef X
};
