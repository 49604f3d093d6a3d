/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that the samples of a trace belong to. */
#pragma once

#include "trace/pt_synth_state.h"

/* Adds them to the recording. */
void synth_add_counters(struct pt_synth *s, struct perfdata *data);
