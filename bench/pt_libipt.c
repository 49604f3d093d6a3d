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

struct pt_image *libipt_image(const struct libipt_map *maps, size_t n)
{
	struct pt_image_section_cache *cache = pt_iscache_alloc("bench");
	struct pt_image *image = pt_image_alloc("bench");

	/* Without a limit, libipt forgets a section and its decoded code when it maps another. */
	pt_iscache_set_limit(cache, 1ULL << 30);
	for (size_t i = 0; i < n; i++) {
		int section = pt_iscache_add_file(cache, maps[i].path, maps[i].file_off,
						  maps[i].size, maps[i].addr);

		if (section > 0)
			pt_image_add_cached(image, cache, section, NULL);
	}
	return image;
}

uint64_t libipt_blocks(struct pt_image *image, const uint8_t *bytes, size_t size,
		       uint64_t *n_errors)
{
	struct pt_block_decoder *decoder;
	struct pt_config config;
	uint64_t insns = 0, place, before = UINT64_MAX;
	int status;

	pt_config_init(&config);
	config.begin = (uint8_t *)bytes;
	config.end = (uint8_t *)bytes + size;
	config.cpu =
		(struct pt_cpu){ .vendor = pcv_intel, .family = 6, .model = 94, .stepping = 3 };
	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 100;
	config.mtc_freq = 3;
	config.nom_freq = 20;
	decoder = pt_blk_alloc_decoder(&config);
	pt_blk_set_image(decoder, image);
	while ((status = pt_blk_sync_forward(decoder)) >= 0) {
		/* At some errors it stays where it is, for ever. */
		if (pt_blk_get_sync_offset(decoder, &place) < 0 || place == before)
			break;
		before = place;
		for (int idle = 0; status >= 0;) {
			struct pt_block block = { 0 };
			struct pt_event event;

			while (status >= 0 && status & pts_event_pending)
				status = pt_blk_event(decoder, &event, sizeof(event));
			if (status < 0 || status & pts_eos)
				break;
			status = pt_blk_next(decoder, &block, sizeof(block));
			insns += block.ninsn;
			if (!block.ninsn && !(status & pts_event_pending) && ++idle > 1000)
				break;
			if (block.ninsn)
				idle = 0;
		}
		*n_errors += status < 0 && status != -pte_eos;
	}
	pt_blk_free_decoder(decoder);
	return insns;
}
#else
struct pt_image *libipt_image(const struct libipt_map *maps, size_t n)
{
	(void)maps;
	(void)n;
	return NULL;
}

uint64_t libipt_blocks(struct pt_image *image, const uint8_t *bytes, size_t size,
		       uint64_t *n_errors)
{
	(void)image;
	(void)bytes;
	(void)size;
	(void)n_errors;
	return 0;
}

void libipt_packets(const uint8_t *bytes, size_t size, struct pt_packet_sum *sum)
{
	(void)bytes;
	(void)size;
	(void)sum;
}
#endif
