/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer, libipt, behind a wall: its header and ours both have a struct pt_packet. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What was in the packets, PADs apart; `mixed` is there so that no direction can be left out. */
struct pt_packet_sum {
	uint64_t directions, others, mixed;
};

/* All packets from the first PSB on; all zero where libipt is not built in. */
void libipt_packets(const uint8_t *bytes, size_t size, struct pt_packet_sum *sum);
