/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C++ names (the Itanium ABI), as gcc and clang write them on Linux.
 *
 * A name is parsed into a tree (itanium_tree.h), and the tree is printed. Names are data of the
 * profiled program, so each part has a limit: the length of the name, the depth of the tree, the
 * steps and the length of the text. A name beyond a limit is not demangled. No call uses more
 * than 384 KiB of stack (several times that with a sanitizer).
 *
 * Names are spelled as GNU c++filt spells them. Forms that it can't read (constraints, modules)
 * follow LLVM.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum itanium_style {
	ITANIUM_LONG, /* "int shop::find<int>(int) const" */
	ITANIUM_SHORT /* "shop::find<int>" */
};

/*
 * Puts the readable form of `name` ("_Z…") in place of the content of `out`. Returns false if the
 * name is damaged, no C++ name, or beyond a limit; `out` is then empty.
 */
bool itanium_demangle(const char *name, enum itanium_style style, struct buf *out);
