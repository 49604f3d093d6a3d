/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are probes on code of programs:
 *
 *   uprobe:PATH:FUNCTION[+OFFSET]     Each call, or each pass of the instruction at the offset.
 *   uprobe:PATH:0xOFFSET              The instruction at this offset in the file.
 *   uretprobe:PATH:FUNCTION           Each return.
 *   usdt:PATH:PROVIDER:NAME           Each pass of a static probe, at all of its places.
 *
 * PATH has no colon, but FUNCTION can have some (shop::sell). At its end, " #2" or " #g" chooses
 * one of several functions.
 */
#pragma once

#include "counter/spec/parse.h"

/* Is the event of this kind? */
bool probe_is_spec(const char *text);

/* Parses the event. Cuts up `text`. */
int probe_parse(const struct parse *p, char *text);
