/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables from separate debug files: a program that is compiled without .eh_frame has
 * .debug_frame, which strip(1) and objcopy(1) move there with all other debug sections. A process's
 * own files come first (a container has its debug packages), then those of this machine.
 */
#pragma once

#include "unwind/library.h"

extern const struct unwind_debug_files debug_frames;
