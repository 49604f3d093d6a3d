/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's perf trampolines in a walk (unwind/trampoline.h). For stack.h alone. */
#pragma once

#include <linux/bpf.h>

#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "collect/bpf/work.h"
#include "unwind/trampoline.h"

#if defined(__TARGET_ARCH_arm64)
#define IS_AARCH64 true
#else
#define IS_AARCH64 false
#endif

/*
 * CPython's perf trampoline: 1, and w->special_rule. Its frame would name
 * the function a second time, so it is not kept beside frames of Python.
 */
__attribute__((noinline)) int find_trampoline(__u32 slot)
{
	__u8 bytes[TRAMPOLINE_BYTES] = {};
	struct work *w = own_work(slot);
	__u64 start;

	if (!w || w->regs.is_i386)
		return 0;
	start = trampoline_start(unwind_lookup_pc(&w->regs), IS_AARCH64);
	if (bpf_probe_read_user(bytes, sizeof(bytes), (const void *)start) &&
	    bpf_probe_read_user(bytes + TRAMPOLINE_CALLER_AT(IS_AARCH64),
				TRAMPOLINE_CALLER_BYTES(IS_AARCH64),
				(const void *)(start + TRAMPOLINE_CALLER_AT(IS_AARCH64))))
		return 0;
	w->special_rule = unwind_rule_of_trampoline(bytes, IS_AARCH64);
	return unwind_rule_cfa(w->special_rule) != UNWIND_CFA_NONE;
}
