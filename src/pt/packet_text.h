/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel PT packets as text and back, and as bytes again.
 *
 * The words are those of `perf script -D`: "PSB", "TNT TTN (3)", "TIP 0xd794", "TSC 0x12",
 * "TMA CTC 0x1 FC 0x2", "MODE.Exec IF:0 64", "PIP 0x1fea1a00 (NR=0)", "PTWRITE 0x1 IP:1" …
 * What is parsed may say more than what is printed: the form of an address behind a slash
 * ("TIP 0xd794/1", enum pt_ip_form; without it, the whole address is written), "TNT64 TNT"
 * for the long form, and a TNT's count may be missing. '#' begins a comment.
 */
#pragma once

#include "base/buf.h"
#include "pt/packet.h"

struct error;

/* Appends the packet's words, without a newline. */
void pt_packet_print(struct buf *out, const struct pt_packet *p);

/*
 * Appends one line of the dump, as perf writes it: ".  OFFSET:  BYTES  WORDS\n". PADs behind a
 * packet are shown with it while it has fewer than 8 bytes. Returns the bytes that the line is
 * for (≥ 1: what is no packet is shown byte by byte); at < end.
 */
size_t pt_dump_line(struct buf *out, const uint8_t *at, const uint8_t *end, uint64_t offset,
		    enum pt_block *block);

/*
 * Appends the packet's bytes; `size` and what does not fit a field are ignored. A TNT of up to 6
 * bits is written short unless `size` is 8.
 */
void pt_packet_write(struct buf *out, const struct pt_packet *p);

/* Appends the bytes of a text, a packet a line. -EINVAL names the line and what is wrong. */
int pt_text_write(struct buf *out, const char *text, struct error *err);
