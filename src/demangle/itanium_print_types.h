/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that print types, left and right, by kind of node. */
#pragma once

#include "demangle/itanium_print.h"

extern itanium_print_fn *const itanium_print_types[NODE_KINDS][2];
