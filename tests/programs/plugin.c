/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that loads.c opens at run time. */
#include "work.h"

uint64_t plugin_work(uint64_t x);

NOINLINE uint64_t plugin_work(uint64_t x)
{
	return work_unit(x);
}
