/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switches by which language runtimes name the code that they make at run time. */
#pragma once

#include "lang/language.h"

/*
 * A sentence for people: which runtime made code without names, and the switch that names it.
 * `path` is of the runtime's program or library, such as /usr/bin/node or …/libjvm.so. NULL: the
 * file is no runtime that assay knows. jit_switch_of_any() is for code whose runtime is not known.
 */
const char *jit_switch_of(const char *path);
const char *jit_switch_of_any(void);

/* The language of such a runtime whose functions assay reads without the switch; or NONE. */
enum language jit_language_of(const char *path);
