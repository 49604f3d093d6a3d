/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A library that loads.c opens at run time; with INNER its work is in a function of that name. */
#include "work.h"

uint64_t plugin_work(uint64_t x);

#ifdef INNER
static NOINLINE uint64_t INNER(uint64_t x)
{
	return work_unit(x);
}

NOINLINE uint64_t plugin_work(uint64_t x)
{
	return INNER(x) + 1;
}
#else
NOINLINE uint64_t plugin_work(uint64_t x)
{
	return work_unit(x);
}
#endif
