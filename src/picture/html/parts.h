/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's own files as texts, put into the program at build time by embed.c. */
#pragma once

extern const char html_page[], html_style[], html_script[];
extern const char calls_page[], calls_script[]; /* calls/call_timeline.h */
