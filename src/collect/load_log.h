/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why the kernel refused a BPF program, in one sentence: from the messages of libbpf, which
 * contain the log of the kernel's verifier. The log has a line for each instruction that the
 * verifier looked at, up to a million of them; the reason is at its end.
 */
#pragma once

#include <stddef.h>

/*
 * `messages` is all that libbpf printed as warnings while it loaded a program. The sentence is
 * in *out, without a full stop; "" where nothing tells the reason.
 */
void load_log_reason(const char *messages, char *out, size_t size);
