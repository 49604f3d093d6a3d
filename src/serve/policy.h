/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The header Content-Security-Policy (W3C CSP level 3) of the pages of `assay serve`. A script runs
 * only if it is a file of serve, or has the hash that serve computed of the page that a worker
 * made. So no name of a profiled program can become one.
 */
#pragma once

struct buf;

/* Of serve's own files. */
#define POLICY_SERVE                                                                      \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; "     \
	"frame-ancestors 'none'"

/* Of data, and of images: nothing runs and nothing loads. */
#define POLICY_NOTHING "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"

/*
 * Of a page that `assay report --html` made. Its script is the last one: what comes before could
 * only be a name. Appends the text, with a NUL that counts.
 */
void policy_of_page(const struct buf *page, struct buf *out);
