/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions of the running kernel are, for the BPF programs at raw tracepoints. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/bpf/shared.h"

struct kernel_texts {
	struct kernel_text switches; /* __schedule(), which has sched_switch and sched_exit_tp */
	struct kernel_text wakes;    /* try_to_wake_up(), which has sched_waking */
	bool has_exit;               /* the tracepoint sched_exit_tp is there (Linux 6.15) */
};

/*
 * The functions that show interrupts (machine/context_marks.h), by their addresses. Those for which
 * there is no room are left out. No marks without permission to read addresses.
 */
struct kernel_marks {
	struct kernel_mark list[KERNEL_MARKS_MAX];
	uint32_t n;
};

/* False: some place is not known, as without permission to read addresses of the kernel. */
bool kernel_texts_read(const char *kallsyms, struct kernel_texts *out, struct kernel_marks *marks);
