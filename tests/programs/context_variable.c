// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A library with the variable of a thread's context (thread_context.c). BEFORE: bytes of its block
 * before the variable; with many, the block has no place beside those of the program.
 */
#ifndef BEFORE
#define BEFORE 41
#endif

void set_context(const void *context);

static __thread volatile char before[BEFORE] = { 1 };
__attribute__((visibility("default"))) __thread const void *volatile otel_thread_ctx_v1;

__attribute__((visibility("default"))) void set_context(const void *context)
{
	before[BEFORE - 1]++;
	otel_thread_ctx_v1 = context;
}
