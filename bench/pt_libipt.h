/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The peer, libipt, behind a wall: its header and ours both have a struct pt_packet. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sums of the packets without PADs. `mixed` makes sure that every direction is decoded. */
struct pt_packet_sum {
	uint64_t directions, others, mixed;
};

/* All packets from the first PSB on; all zero where libipt is not built in. */
void libipt_packets(const uint8_t *bytes, size_t size, struct pt_packet_sum *sum);

/* A part of a file, as it was mapped. */
struct libipt_map {
	const char *path;
	uint64_t file_off, size, addr;
};

/* An image for libipt's block decoder: its caches live as long as it does. NULL without libipt. */
struct pt_image *libipt_image(const struct libipt_map *maps, size_t n);

/* Decodes all blocks; returns the instructions, and how often it had to synchronise again. */
uint64_t libipt_blocks(struct pt_image *image, const uint8_t *bytes, size_t size,
		       uint64_t *n_errors);
