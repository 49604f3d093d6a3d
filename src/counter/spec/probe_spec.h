/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are probes on code of programs:
 *
 *   uprobe:PATH:FUNCTION[+OFFSET]     each call, or each pass of the instruction at the offset
 *   uprobe:PATH:0xOFFSET              the instruction at this offset in the file
 *   uretprobe:PATH:FUNCTION           each return
 *   usdt:PATH:PROVIDER:NAME           each pass of a static probe, at all of its places
 *
 * PATH has no colon; FUNCTION can (shop::sell), and ends with " #2" or " #g" to choose one of
 * several.
 */
#pragma once

#include "counter/spec/parse.h"

/* Is the event of this kind? */
bool probe_is_spec(const char *text);

/* Parses the event. Cuts up `text`. */
int probe_parse(const struct parse *p, char *text);
