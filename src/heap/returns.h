/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes on returns of functions, and filters of system calls (seccomp(2)).
 *
 * On x86-64, Linux 6.11 to 6.13 have a probed function return by a system call of its own
 * (uretprobe). A filter that does not know it may refuse it, and then the program ends by a signal.
 * From Linux 6.14 on, filters do not see this call.
 */
#pragma once

#include <stdint.h>

struct error;

/*
 * Whether probes on returns can harm a process: it has a filter, and the kernel is such a one.
 * `proc` is "/proc". -EPERM: they can. A filter that the process makes later is not seen.
 */
int returns_check(const char *proc, int32_t pid, struct error *err);
