/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The packet layer alone: our reader, and libipt's packet decoder if it is here, in turn on the
 * same bytes. Prints "DATA NAME GB/s" a line; bench/measures/pt_packets.py reads it.
 *
 * Usage: pt_packets [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "pt/packet.h"
#include "pt/packet_text.h"
#include "pt_libipt.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/*
 * As the processor writes it: TNTs of six directions, until another packet comes, before which
 * the last one is flushed partly filled. `run` full ones between two others on average.
 */
static void make(struct buf *out, uint32_t run)
{
	uint32_t seed = 1;

	out->len = 0;
	pt_packet_write(out, &(struct pt_packet){ .type = PT_PSB });
	pt_packet_write(out, &(struct pt_packet){ .type = PT_PSBEND });
	while (out->len < 64 << 20) {
		uint32_t r = next_random(&seed);
		struct pt_packet p = { .type = PT_TNT, .count = 6 };

		p.payload = (uint64_t)r << 58;
		if (next_random(&seed) % (run + 1) == 0)
			p.count = 1 + r % 5;
		p.payload &= ~0ULL << (64 - p.count);
		pt_packet_write(out, &p);
		if (p.count == 6)
			continue;
		p = (struct pt_packet){ .type = PT_TIP, .count = PT_IP_16, .payload = r & 0xffff };
		if (r % 4 == 0)
			p = (struct pt_packet){ .type = PT_MTC, .payload = r & 0xff };
		pt_packet_write(out, &p);
	}
}

static void ours(const uint8_t *at, const uint8_t *end, struct pt_packet_sum *sum)
{
	enum pt_block block = PT_NO_BLOCK;

	while (at < end) {
		struct pt_tnt tnt = { 0 };
		struct pt_packet p;
		int r;

		at = pt_tnt_collect(at, end, &tnt);
		sum->directions += tnt.n;
		sum->mixed ^= tnt.bits;
		if (tnt.n > PT_TNT_ROOM)
			continue;
		r = pt_packet_read(at, end, &block, &p);
		sum->others += r > 0;
		at += r > 0 ? r : 1;
	}
}

static int measure(const char *name, uint32_t run, struct buf *data)
{
	struct pt_packet_sum sum = { 0 }, theirs = { 0 };
	double t0, t1, t2;

	make(data, run);
	t0 = now();
	ours(data->data, data->data + data->len, &sum);
	t1 = now();
	libipt_packets(data->data, data->len, &theirs);
	t2 = now();
	printf("%s assay %.3f\n", name, (double)data->len / 1e9 / (t1 - t0));
	if (!theirs.others)
		return 0;
	printf("%s libipt %.3f\n", name, (double)data->len / 1e9 / (t2 - t1));
	return sum.directions == theirs.directions && sum.others == theirs.others ? 0 : 1;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 5, status = 0;
	struct buf data = { 0 };

	for (int i = 0; i < rounds; i++) {
		status |= measure("dense", 200, &data);
		status |= measure("mixed", 24, &data);
	}
	if (status)
		fprintf(stderr, "pt_packets: libipt read something else\n");
	buf_fini(&data);
	return status;
}
