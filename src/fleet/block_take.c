/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/block_take.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "store/history/blocks.h"

/* A clock that is wrong by more gives blocks a wrong time. */
#define SKEW_MAX_MS INT64_C(3600000)

/* A host says how long it runs in whole seconds, and the request takes some. */
#define BOOT_SLACK_S 30

/* Whether the block's time can be right. */
static int check_clock(const struct block_offer *o, struct error *err)
{
	int64_t skew_ms = o->facts->skew_ms;
	uint64_t ahead_ns = BLOCK_BUCKET_NS + (skew_ms > 0 ? (uint64_t)skew_ms * NS_PER_MS : 0);

	if (skew_ms > SKEW_MAX_MS || skew_ms < -SKEW_MAX_MS)
		return error_set(err, -ETIME, "the host's clock is wrong by over an hour");
	if (o->bucket > o->now_ns + ahead_ns)
		return error_set(err, -ETIME, "the block is of the future");
	return 0;
}

/* A key without a hash stands for samples that came with other blocks. */
static int check_known(const struct fleet_key *known, const struct block_facts *is,
		       struct error *err)
{
	if (!known->hash || (known->samples == is->samples && known->lost == is->lost))
		return 1;
	return error_set(err, -ENOTUNIQ,
			 "the fleet has another block of this part and time: %" PRIu64
			 " sample%s and %" PRIu64 " lost, and not %" PRIu64 " and %" PRIu64,
			 known->samples, plural_s(known->samples), known->lost, is->samples,
			 is->lost);
}

int block_take_check(const struct block_offer *o, struct block_check *out, struct error *err)
{
	int r = o->known ? 0 : check_clock(o, err);

	*out = (struct block_check){ 0 };
	r = r < 0 ? r : block_check_ask(o->body, o->bucket, o->is_packed, out, err);
	return r < 0 || !o->known ? r : check_known(o->known, &out->facts, err);
}

bool block_take_is_refusal(int r)
{
	static const int refusals[] = {
		-EFBIG,    -EPROTONOSUPPORT, -EBADMSG, -ERANGE, -ETIME,
		-ENOTUNIQ, -EEXIST,          -EPIPE,   -EPROTO, -ETIMEDOUT
	};

	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
		if (refusals[i] == r)
			return true;
	return false;
}

void block_take_refused(const char *fleet, const char *host, struct host_facts *facts,
			const char *part, const char *sentence)
{
	struct error err = { 0 };

	facts->refused++;
	snprintf(facts->refusal, sizeof(facts->refusal), "%s: %s", part, sentence);
	if (host_facts_write(fleet, host, facts, &err) < 0)
		log_warning("%s", err.text);
}

/* Another machine speaks under this name, while the first one runs. */
static int refuse_clone(const char *fleet, const char *host, struct host_facts *known,
			uint64_t now_s, struct error *err)
{
	struct error why = { 0 };

	known->cloned_s = now_s;
	snprintf(known->refusal, sizeof(known->refusal),
		 "two machines run under this name; the second one is refused");
	if (host_facts_write(fleet, host, known, &why) < 0)
		log_warning("%s", why.text);
	return error_set(err, -EEXIST,
			 "another machine runs under this name: give this one another name "
			 "(--host)");
}

int host_introduce(const char *fleet, const char *host, struct host_facts *now, struct error *err)
{
	struct host_facts known;
	int r = host_facts_read(fleet, host, &known, err);

	if (r < 0)
		return r;
	if (host_facts_are_cloned(&known, now, BOOT_SLACK_S))
		return refuse_clone(fleet, host, &known, now->seen_s, err);
	now->refused = known.refused;
	now->rate_hz = now->rate_hz ? now->rate_hz : known.rate_hz;
	now->names_day = known.names_day;
	now->names = known.names;
	now->names_bytes = known.names_bytes;
	now->cloned_s = known.cloned_s;
	memcpy(now->refusal, known.refusal, sizeof(now->refusal));
	return host_facts_write(fleet, host, now, err);
}
