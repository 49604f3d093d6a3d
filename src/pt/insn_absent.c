/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build without libZydis. */
#include "pt/insn.h"

bool pt_insn_is_supported(void)
{
	return false;
}

bool pt_insn_read(unsigned int width, const uint8_t *bytes, size_t n, struct pt_insn *out)
{
	(void)width, (void)bytes, (void)n, (void)out;
	return false;
}
