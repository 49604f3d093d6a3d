/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to systemd: sd_notify(3), a datagram with a line or two to $NOTIFY_SOCKET.
 *
 * The protocol is stable and needs only these lines. libsystemd is a hundred times as large, and
 * the daemon should stay small. systemd's manual recommends to use the protocol directly in such
 * programs (sd_notify(3), "Notes").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Sends a message such as "READY=1". Does nothing without $NOTIFY_SOCKET. True: it was sent. */
bool notify_service(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends "RELOADING=1" with the time, as systemd requires. */
bool notify_reloading(uint64_t mono_ns);

/* The interval for watchdog messages: half of $WATCHDOG_USEC, in ns. 0: none are wanted. */
uint64_t notify_watchdog_ns(void);
