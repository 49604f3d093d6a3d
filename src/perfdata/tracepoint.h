/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The raw data of a tracepoint as text. tracefs has its format description, and perf.data has a
 * copy (Documentation/trace/events.rst, "Event formats"):
 *
 *   field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
 *   print fmt: "prev_pid=%d …", REC->prev_pid, …
 *
 * The print fmt is the C of the kernel's TP_printk(). If a part is not understood (such as a kernel
 * function), all fields are printed by name instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

struct tracepoint_format;

/*
 * Never NULL. A text that is no format description gives no fields. The text may go. `is_foreign`:
 * the data has the other byte order than ours.
 */
struct tracepoint_format *tracepoint_new(const char *text, size_t size, bool is_foreign);
void tracepoint_free(struct tracepoint_format *t); /* NULL is fine */
DEFINE_AT_EXIT(tracepoint_free, struct tracepoint_format)

/* In the form of the print fmt, else "name=value …". Bytes that the data lacks are zeros. */
void tracepoint_print(const struct tracepoint_format *t, const uint8_t *raw, size_t size,
		      struct buf *out);

/* Fields other than the common ones (the pid, flags …), one by one. */
uint32_t tracepoint_n_fields(const struct tracepoint_format *t);
const char *tracepoint_field_name(const struct tracepoint_format *t, uint32_t i);

/* Appends the value; true: it is a number (decimal), false: text. */
bool tracepoint_field_value(const struct tracepoint_format *t, uint32_t i, const uint8_t *raw,
			    size_t size, struct buf *out);
