/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as text, one in a line, for tests and for people.
 *
 *   TIME cpuN PID/TID TYPE key=value …
 *
 *   0.000000000 cpu0 41/41 comm exec name="split"
 *   0.000010000 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x1000 path="/bin/split"
 *   0.001000000 cpu1 41/42 sample counter=0 mode=user period=1003009 ip=0x401136
 *   0.002000000 cpu1 41/42 sample mode=kernel ip=0xffffffff81000010 user=0x401136
 *   0.003000000 cpu1 43/43 fork parent=41/42
 *   0.004000000 cpu1 43/43 exit
 *   0.005000000 cpu0 -1/-1 lost n=17
 *
 * Times are seconds with nine digits. Addresses are hexadecimal. Strings are in double quotes, with
 * \" \\ \n. Missing keys are 0. '#' begins a comment.
 */
#pragma once

#include <stddef.h>

#include "event/event.h"

struct buf;
struct error;

/* Appends the line of one event, with its newline. */
void event_format(struct buf *out, const struct event *event);

/*
 * Parses a text of many lines and pushes its events. An error names the line
 * number and the word. Stops at the first error or when the sink refuses. For tests and fuzzers.
 */
int event_parse_text(const char *text, struct event_sink *sink, struct error *err);
