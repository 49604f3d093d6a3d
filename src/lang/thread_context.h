/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread context of OpenTelemetry (OTEP 4947): a program publishes the trace and the span that
 * a thread works for. The thread-local variable `otel_thread_ctx_v1` points to a record, or is
 * NULL.
 */
#pragma once

#include "lang/runtime.h"

struct elf_file;

/*
 * Fills out->version and out->labels, with language 0, for a program or a library on x86-64 that
 * exports the variable. version 0: it does not, or nothing in a library leads to it. The file is
 * untrusted.
 */
void thread_context_find(const struct elf_file *elf, struct lang_runtime *out);
