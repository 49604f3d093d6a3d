/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of Java that the in-kernel sampler knows (java_frames.h), for in_kernel.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct in_kernel;
struct java_frames;
struct java_life;
struct raw_stack_message;
struct walked_stacks;

struct java_frames *in_kernel_java_new(struct in_kernel *k);

/* The frames of a copy that was walked just now. */
void in_kernel_learn_java(struct in_kernel *k, const struct java_life *life, bool is_whole);

/*
 * Appends a frame of a stack to k->frames: the frame with the number, at an address of the process.
 * False: its names are not known any more.
 */
bool in_kernel_push_java(struct in_kernel *k, int32_t pid, uint64_t address, uint64_t number);

/* By log_verbose(): how many stacks the sampler walked by itself, and why not the others. */
void in_kernel_log_java(const struct in_kernel *k);

/*
 * For tests: compares the last walked stack of `set`, a copy, with the sampler's own walk, from the
 * innermost frame of Java on.
 */
void in_kernel_compare_java(struct in_kernel *k, const struct raw_stack_message *raw,
			    const struct walked_stacks *set);
