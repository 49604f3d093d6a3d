/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <linux/types.h>

#include <bpf/bpf_helpers.h>

/*
 * A bound for the verifier that no compiler removes. If a compiler can prove the bound itself
 * (clang 19 and newer do, across functions), it drops a plain `value & mask`, and the verifier
 * then knows no bound. The barrier hides the value's range from the compiler.
 */
static __always_inline __u64 bounded(__u64 value, __u64 mask)
{
	barrier_var(value);
	return value & mask;
}
