/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compilers' additions to the name of a function for a copy or a part: ".cold", ".isra.0". */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Where the additions start; the name's end if there are none. Names of some languages have dots,
 * too: only additions that compilers are known to write count.
 */
const char *clones_find(const char *name);

/* As c++filt spells them: " [clone .constprop.0] [clone .cold]"; false if something else follows.
 */
bool clones_put(const char *at, struct buf *out);
