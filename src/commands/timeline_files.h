/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls over time as files: a page, and a trace for Perfetto. */
#pragma once

struct call_timeline;
struct error;
struct timeline_words;

/* 0 or a negative errno. The file appears when it is whole. */
int timeline_write_page(const struct call_timeline *timeline, const struct timeline_words *words,
			const char *path, struct error *err);
int timeline_write_perfetto(const struct call_timeline *timeline, const char *path,
			    struct error *err);
