/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables from separate debug files.
 *
 * A program that is compiled without .eh_frame has .debug_frame instead. strip(1) and objcopy(1)
 * move that section to the debug file. The process's own debug files are searched first, because a
 * container may have its own debug packages; then the files of this machine.
 */
#pragma once

#include "unwind/library.h"

extern const struct unwind_debug_files debug_frames;
