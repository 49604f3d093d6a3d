/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <bpf/bpf_helpers.h>

/*
 * A bound for the verifier that no compiler removes. If a compiler can prove the bound itself
 * (clang 19 and newer do, across functions), it drops a plain `value & mask`, and the verifier
 * then knows no bound. The barrier hides the value's range from the compiler.
 */
#define BOUNDED(value, mask)              \
	({                                \
		__u64 bounded_ = (value); \
		barrier_var(bounded_);    \
		bounded_ &(__u64)(mask);  \
	})
