/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording of the generator, as streams of pieces and side band. */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/packet.h"

enum {
	RECORD_AUXTRACE = 71,
	TRAILER = 24, /* of the generator's records: ids, time, event */
};

/* ---- the recording ---- */

/* The time of the PSB+ at `at`; `otherwise` where it tells none. */
static uint64_t tsc_at(const uint8_t *at, const uint8_t *end, uint64_t otherwise)
{
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;
	int n;

	while ((n = pt_packet_read(at, end, &block, &p)) > 0 && p.type != PT_PSBEND) {
		if (p.type == PT_TSC)
			return p.payload;
		at += n;
	}
	return otherwise;
}

static void cut(struct stream *s, size_t size)
{
	const uint8_t *end = s->bytes + size, *at = s->bytes;
	uint64_t tsc = 0;

	while (at < end) {
		const uint8_t *next = pt_find_psb(at + PT_PSB_SIZE, end);

		tsc = tsc_at(pt_find_psb(at, end), end, tsc);
		vec_push(&s->pieces,
			 ((struct piece){ (size_t)(at - s->bytes), (size_t)(next - at), tsc }));
		at = next;
	}
}

static int keep(void *context, const struct perfdata_record *r)
{
	struct device *d = context;
	struct side_record side = { .bytes = r->bytes, .time = r->time_ns };

	if (r->type == RECORD_AUXTRACE) {
		struct stream *s = vec_add(&d->streams);

		memcpy(&s->tid, r->bytes + 36, 4);
		s->pid = s->tid;
		s->bytes = r->payload;
		cut(s, r->payload_size);
	} else if (r->type < 64 && r->type != PERF_RECORD_AUX && r->size > TRAILER) {
		side.size = r->size - TRAILER;
		memcpy(&side.pid, r->bytes + side.size, 4);
		memcpy(&side.tid, r->bytes + side.size + 4, 4);
		vec_push(&d->side, side);
	}
	return 0;
}

void load(struct device *d)
{
	struct error err = { 0 };
	struct perfdata_bytes bytes = { .name = getenv("FAKE_PT_TRACE") };

	if (file_map(bytes.name, &d->file, &err) < 0)
		goto failed;
	bytes.base = d->file.base;
	bytes.size = d->file.size;
	if (perfdata_open(&bytes, 1, &d->data, &err) < 0 ||
	    perfdata_each_record(d->data, keep, d, &err) < 0)
		goto failed;
	if (d->side.n)
		d->end = d->side.data[d->side.n - 1].time + 1000000;
	vec_foreach (&d->streams, s)
		vec_foreach (&d->side, r)
			if (r->tid == s->tid)
				s->pid = r->pid;
	return;
failed:
	fprintf(stderr, "fake device: %s\n", err.text);
	exit(1);
}
