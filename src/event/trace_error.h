/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of a processor trace in perf's words: the numbers of its records (AUXTRACE_ERROR,
 * INTEL_PT_ERR_… of perf's decoder).
 */
#pragma once

#include <stdint.h>

/* Of a stretch that is not verified. perf has no such error, and shows it as one. */
#define TRACE_ERROR_UNVERIFIED 255

/* `reason` is one of enum loss_reason. Both ways: a code that no reason has is "unexpected". */
uint32_t trace_error_code(uint32_t reason);
uint32_t trace_error_reason(uint32_t code);

/* The sentence of a reason; static. */
const char *trace_error_text(uint32_t reason);
