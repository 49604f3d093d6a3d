/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_direct.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/block_take.h"
#include "fleet/fleet_store.h"
#include "fleet/ship.h"
#include "store/history/blocks.h"

#define CONTACT_S 600
#define LOCK_MS   10000

/* The time at the machine that has the folder: it dates a new file. */
static int clock_of_folder(const char *folder, uint64_t *ns, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.clock", folder);
	cleanup(close_at_exit) int fd = -1;
	struct stat st;
	int r = 0;

	unlink(path); /* of a process that was killed */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		r = error_errno(err, -errno, "cannot write %s", path);
	else
		*ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec;
	unlink(path);
	return r;
}

static void describe(struct host_facts *out, uint64_t fleet_ns)
{
	struct host_facts is;

	host_facts_of_this(&is);
	out->seen_s = fleet_ns / NS_PER_SECOND;
	out->boot_s = out->seen_s - MIN(out->seen_s, host_uptime_s());
	out->skew_ms = ((int64_t)clock_wall_ns() - (int64_t)fleet_ns) / (int64_t)NS_PER_MS;
	out->cpus = is.cpus;
	memcpy(out->version, is.version, sizeof(out->version));
	memcpy(out->boot, is.boot, sizeof(out->boot));
}

/* A new process goes on counting. */
static int add_expired(struct ship_direct *d, struct error *err)
{
	struct host_facts known;
	int r = d->has_expired ? 0 : host_facts_read(d->fleet, d->host, &known, err);

	if (r < 0 || d->has_expired)
		return r;
	d->facts.expired += known.expired;
	d->has_expired = true;
	return 0;
}

int ship_direct_introduce(struct ship_direct *d, struct fleet_host *handle, bool now,
			  struct error *err)
{
	cleanup(free_at_exit) char *folder = xasprintf("%s/%s", d->fleet, d->host);
	uint64_t fleet_ns = 0;
	int r;

	if (!now && d->introduced_ns &&
	    clock_monotonic_ns() - d->introduced_ns < CONTACT_S * NS_PER_SECOND)
		return 0;
	r = clock_of_folder(folder, &fleet_ns, err);
	if (r < 0)
		return r;
	describe(&d->facts, fleet_ns);
	r = add_expired(d, err);
	if (r < 0)
		return r;
	r = host_introduce(d->fleet, d->host, &d->facts, err);
	if (r >= 0 && d->labels && !d->is_labelled)
		r = fleet_host_label(handle, d->labels, err);
	if (r < 0)
		return r;
	d->is_labelled = true;
	d->introduced_ns = clock_monotonic_ns();
	return 0;
}

/* A child that has no rights reads the segment. */
static int hold_segment(const char *place, struct file_mapping *out, struct error *err)
{
	cleanup(free_at_exit) char *segment = block_segment(place);
	int r = file_hold_fd(open(segment, O_RDONLY | O_CLOEXEC), segment, out, err);

	return r < 0 ? r : file_map_held(out, segment, err);
}

static int check_block(const struct ship_direct *d, const struct fleet_key *known,
		       const struct fleet_key *key, const char *place, struct error *err)
{
	struct file_mapping body = { 0 };
	struct block_check block = { 0 };
	const struct block_offer offer = {
		.facts = &d->facts,
		.known = known,
		.part = key->part,
		.bucket = key->bucket,
		.now_ns = clock_wall_ns() - (uint64_t)(d->facts.skew_ms * (int64_t)NS_PER_MS),
		.body = &body,
	};
	int r = hold_segment(place, &body, err);

	r = r < 0 ? r : block_take_check(&offer, &block, err);
	block_check_fini(&block);
	file_unmap(&body);
	return r;
}

/* A refusal of addresses changes the facts of the host, too, which is not locked yet. */
static void note_refusal(const struct ship_direct *d, const char *part, const char *sentence)
{
	struct fleet_host *host = NULL;
	struct host_facts facts;
	struct error err = { 0 };
	int r = d->is_leaves ? fleet_host_await(d->fleet, d->host, LOCK_MS, &host, &err) : 0;

	r = r < 0 ? r : host_facts_read(d->fleet, d->host, &facts, &err);
	if (r < 0)
		log_warning("a refusal is not counted: %s", err.text);
	else
		block_take_refused(d->fleet, d->host, &facts, part, sentence);
	fleet_host_close(host);
}

int ship_direct_take(struct ship_direct *d, struct fleet_host *handle, struct fleet_key *key,
		     const char *place, struct error *err)
{
	const struct fleet_key *known = fleet_host_find(handle, key->part, key->bucket);
	struct error why = { 0 };
	int r = check_block(d, known, key, place, &why);

	r = r < 0 || known ? r : fleet_host_take(handle, key, &why);
	if (r >= 0)
		return 0;
	if (err)
		*err = why;
	if (!block_take_is_refusal(r))
		return r;
	note_refusal(d, key->part, why.text);
	return 1;
}
