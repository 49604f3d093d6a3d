/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's reason to refuse a BPF program, in one sentence. It comes from libbpf's messages,
 * which contain the log of the kernel's verifier. The log has a line for each checked instruction,
 * up to a million of them; the reason is at its end.
 */
#pragma once

#include <stddef.h>

/*
 * `messages` are all of libbpf's warnings during the load of a program. The sentence is in *out,
 * without a full stop; "" if no message has the reason.
 */
void load_log_reason(const char *messages, char *out, size_t size);
