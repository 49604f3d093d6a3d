/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The quick way from TIP to TIP. */
#pragma once

#include "pt/flow_state.h"

/* Behind a TIP, on to the next ones, as far as hops are known. */
void pt_walk_hops(struct pt_flow *f);
