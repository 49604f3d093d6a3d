/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of a language in a process, and where they are in a copied stack. */
#pragma once

#include <stdint.h>

#include "event/loss.h"

/* A function, and a position in its code. */
struct lang_frame {
	int32_t pid;
	uint64_t pointer; /* to the function's object */
	uint32_t check;   /* another function at the same address has another one */
	uint32_t position;
};

/* The frames of a language in place of an address of a walk, the innermost first. */
struct lang_run {
	uint32_t at; /* the walk's at-th address */
	uint32_t n;
	const struct lang_frame *frames;
};

/* Of the last walk; ascending. Valid until the next one begins. */
struct lang_runs {
	const struct lang_run *data;
	uint32_t n;
	int cut;                  /* enum loss_reason why the walk ended, or -1: not here */
	enum loss_reason no_name; /* for frames whose function was forgotten */
};
