/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A frame of a language in a process: a function, and a position in its code. */
#pragma once

#include <stdint.h>

struct lang_frame {
	int32_t pid;
	uint64_t pointer; /* to the function's object */
	uint32_t check;   /* another function at the same address has another one */
	uint32_t position;
};
