/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of HotSpot's compiled code, of x86-64 and AArch64. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt/insn.h"

struct hotspot;

/* As pt_insn_read(). Traps end code as returns do. */
bool hotspot_insn_read(const struct hotspot *h, const uint8_t *bytes, size_t n,
		       struct pt_insn *out);

/*
 * test %eax,(register), or ldr wzr,[register]: a load through a page that is closed to stop the
 * threads.
 */
bool hotspot_is_poll(const struct hotspot *h, const uint8_t *bytes, size_t n);

/* Whether an instruction sets the reason of a trap, a negative number, before the call. */
bool hotspot_is_trap_reason(const struct hotspot *h, const uint8_t *insn, size_t size);

/* AArch64: the target of a jump to any address. False: it is none. */
bool hotspot_far_jump(const struct hotspot *h, const uint8_t *bytes, size_t n, uint64_t *target);
