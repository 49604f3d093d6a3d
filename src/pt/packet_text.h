/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints Intel PT packets as text, reads such text, and writes packets as bytes.
 *
 * The words are those of `perf script -D`: "PSB", "TNT TTN (3)", "TIP 0xd794", "TSC 0x12",
 * "TMA CTC 0x1 FC 0x2", "MODE.Exec IF:0 64", "PIP 0x1fea1a00 (NR=0)", "PTWRITE 0x1 IP:1" …
 * The reader knows more than the printer writes. A slash gives the form of an address ("TIP
 * 0xd794/1", enum pt_ip_form); without it, the whole address is written. "TNT64 TNT" is the long
 * form, and a TNT's count may be missing. '#' begins a comment.
 */
#pragma once

#include "base/buf.h"
#include "pt/packet.h"

struct error;

/* Appends the packet's words, without a newline. */
void pt_packet_print(struct buf *out, const struct pt_packet *p);

/*
 * Appends one line of the dump, as perf writes it: ".  OFFSET:  BYTES  WORDS\n". PADs behind a
 * packet are shown with it while it has fewer than 8 bytes. Returns the bytes of the line (≥ 1:
 * bytes that are no packet are shown one by one); at < end.
 */
size_t pt_dump_line(struct buf *out, const uint8_t *at, const uint8_t *end, uint64_t offset,
		    enum pt_block *block);

/*
 * Appends the packet's bytes. Ignores `size`, and bits that do not fit a field. A TNT of up to 6
 * bits is written short unless `size` is 8.
 */
void pt_packet_write(struct buf *out, const struct pt_packet *p);

/* For tests: appends the bytes of a text, which has a packet on each line. -EINVAL: the message
 * names the line and the error. */
int pt_text_write(struct buf *out, const char *text, struct error *err);
