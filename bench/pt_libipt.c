/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt_libipt.h"

#if HAVE_LIBIPT
#include <intel-pt.h>

static void add(struct pt_packet_sum *sum, const struct pt_packet *p)
{
	if (p->type == ppt_tnt_8 || p->type == ppt_tnt_64) {
		sum->directions += p->payload.tnt.bit_size;
		sum->mixed ^= p->payload.tnt.payload;
	} else if (p->type != ppt_pad) {
		sum->others++;
	}
}

void libipt_packets(const uint8_t *bytes, size_t size, struct pt_packet_sum *sum)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	struct pt_packet packet;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + size;
	decoder = pt_pkt_alloc_decoder(&config);
	pt_pkt_sync_forward(decoder);
	while (pt_pkt_next(decoder, &packet, sizeof(packet)) >= 0)
		add(sum, &packet);
	pt_pkt_free_decoder(decoder);
}
#else
void libipt_packets(const uint8_t *bytes, size_t size, struct pt_packet_sum *sum)
{
	(void)bytes;
	(void)size;
	(void)sum;
}
#endif
