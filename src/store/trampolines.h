/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of CPython's perf trampoline as frames of Python.
 *
 * A recording has such a frame as an address in memory of a process. A perf map or a jitdump gave
 * it a name, "py::NAME:FILE", when its samples were written already. So it becomes a function of a
 * source file when the session is opened: the same place that Python's own frames have
 * (lang/place.h), but without a line.
 */
#pragma once

#include <stdint.h>

struct segment;

/* All segments of a session. -ENOMEM: as segment_load_nodes() (store/needed_nodes.h). */
int segments_place_trampolines(struct segment **segments, uint32_t n);
