/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event of a decoder as text, for logs and tests. */
#pragma once

#include "base/buf.h"
#include "pt/event.h"

/* Appends the event's name and the values of its member, without the time and a line's end. */
void pt_event_format(struct buf *out, const struct pt_event *e);
