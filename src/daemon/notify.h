/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What systemd is told: sd_notify(3), a line or two in a datagram to $NOTIFY_SOCKET.
 *
 * The protocol is stable and these few lines; libsystemd for it would be a library of a hundred
 * times the size in a process that is to stay small, and systemd's own manual recommends to speak
 * the protocol where nothing else of the library is used (sd_notify(3), "Notes").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sends "READY=1" and the like; nothing happens where nobody listens. True when it was sent. */
bool notify_service(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "RELOADING=1" with the time that systemd wants beside it. */
bool notify_reloading(uint64_t mono_ns);

/* How often systemd wants to hear of us: half of $WATCHDOG_USEC, in ns; 0: it does not. */
uint64_t notify_watchdog_ns(void);
