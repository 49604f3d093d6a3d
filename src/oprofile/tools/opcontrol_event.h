/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What opcontrol's events are on this machine. */
#pragma once

/*
 * The option of assay daemon for opcontrol's events, as text with commas; NULL or "default" for the
 * processor's default event. Without counters, this event is the timer, as in OProfile, and so is
 * an event of its name. NULL: the daemon's own choice. The caller frees it.
 */
char *opcontrol_event(const char *events);
