/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Labels that a report asks for and that a session does not have. */
#pragma once

struct buf;
struct key_list;
struct query;
struct session;

/*
 * Appends a sentence for people: which labels no sample has, and how to record them. Nothing if the
 * session has all labels that the keys and the filters name.
 */
void put_missing_labels(const struct session *s, const struct key_list *keys,
			const struct query *query, struct buf *out);
