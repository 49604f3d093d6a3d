/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/fleet_names.h"
#include "fleet/gateway.h"
#include "fleet/ship.h"
#include "symbol/cache.h"

#define QUESTION_MAX 1000 /* of RECEIVE_IMAGES_MAX */
#define LATEST_NS    (600 * NS_PER_SECOND)
#define DAY_NS       (86400 * NS_PER_SECOND)
#define BUSY_MOST    8 /* refusals in a row: a gateway may have had enough for today */

struct asked {
	struct build_id id;
	int status;
};

struct ship_names {
	char *dir;
	struct gateway *gateway;
	uint64_t rate;
	uint64_t ask_ns, send_ns, forget_ns; /* CLOCK_MONOTONIC */
	VEC(struct asked) asked;             /* today */
	uint32_t n_busy;                     /* refusals in a row: later */
	struct buf wanted;                   /* "BUILDID\n" each */
	size_t at;                           /* in `wanted`: the next one */
};

static uint64_t soon(uint64_t most_ns)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_wall_ns();
	return (uint64_t)((double)most_ns * random / 4294967296.0);
}

struct ship_names *ship_names_new(const char *dir, struct gateway *gateway, uint64_t rate,
				  bool at_once)
{
	struct ship_names *n = xcalloc(1, sizeof(*n));
	uint64_t now = clock_monotonic_ns();

	n->dir = xstrdup(dir);
	n->gateway = gateway;
	n->rate = rate;
	n->ask_ns = at_once ? now : now + soon(LATEST_NS);
	n->forget_ns = now + DAY_NS + soon(DAY_NS / 8);
	return n;
}

void ship_names_free(struct ship_names *n)
{
	if (!n)
		return;
	free(n->dir);
	vec_fini(&n->asked);
	buf_fini(&n->wanted);
	free(n);
}

void ship_names_forget(struct ship_names *n, double within_s)
{
	n->asked.n = n->wanted.len = n->at = 0;
	n->ask_ns = clock_monotonic_ns() + soon((uint64_t)(within_s * 1e9));
}

static bool was_asked(const struct ship_names *n, const struct asked *a)
{
	vec_foreach (&n->asked, each)
		if (build_id_equal(&each->id, &a->id) && each->status == a->status)
			return true;
	return false;
}

/* Appends an index to the question, unless it was in one. */
static bool put_image(struct ship_names *n, const char *name, struct buf *question)
{
	char hex[BUILD_ID_HEX_SIZE];
	const char *dot = strchr(name, '.');
	struct asked a;

	if (!dot || strcmp(dot, ".sym") != 0 || (size_t)(dot - name) >= sizeof(hex))
		return false;
	snprintf(hex, sizeof(hex), "%.*s", (int)(dot - name), name);
	if (!build_id_parse(hex, &a.id))
		return false;
	a.status = cache_status(n->dir, &a.id);
	if (a.status < 0 || !names_quality((enum symbol_status)a.status) || was_asked(n, &a))
		return false;
	json_put_text(question, hex, symbol_status_keys[a.status]);
	vec_push(&n->asked, a);
	return true;
}

/* Asks about indexes that are new. */
static int ask_names(struct ship_names *n, struct error *err)
{
	DIR *d = opendir(n->dir);
	size_t before = n->asked.n, n_images = 0;
	struct buf question = { 0 };
	const struct dirent *entry;
	int r = 0;

	buf_str(&question, "{\"images\":{");
	while (d && n_images < QUESTION_MAX && (entry = readdir(d)))
		n_images += put_image(n, entry->d_name, &question);
	buf_str(&question, "}}");
	if (d)
		closedir(d);
	n->wanted.len = n->at = 0;
	if (n_images)
		r = gateway_ask_names(n->gateway, &question, &n->wanted, err);
	if (r < 0)
		n->asked.n = before;
	/* More than one question has room for. */
	n->ask_ns = clock_monotonic_ns() + (n_images == QUESTION_MAX ? 0 : soon(LATEST_NS));
	buf_fini(&question);
	return r;
}

/* The next question has the index again. */
static void forget_asked(struct ship_names *n, const char *build)
{
	struct build_id id;

	for (size_t i = n->asked.n; build_id_parse(build, &id) && i-- > 0;)
		if (build_id_equal(&n->asked.data[i].id, &id))
			n->asked.data[i] = n->asked.data[--n->asked.n];
}

/* Later, as the gateway asks; not all hosts at once. */
static uint64_t busy_until(const struct ship_names *n)
{
	return clock_monotonic_ns() + gateway_retry_after_s(n->gateway) * NS_PER_SECOND +
	       soon(NS_PER_SECOND);
}

static int send_next(struct ship_names *n, struct error *err)
{
	const char *at = buf_cstr(&n->wanted) + n->at;
	cleanup(free_at_exit) char *build = xstrndup(at, strcspn(at, "\n"));
	cleanup(free_at_exit) char *path = xasprintf("%s/%s.sym", n->dir, build);
	size_t bytes = 0;
	int r = gateway_send_names(n->gateway, build, path, &bytes, err);

	n->n_busy = r == -EBUSY ? n->n_busy + 1 : 0;
	n->send_ns = clock_monotonic_ns() + (n->rate ? bytes * NS_PER_SECOND / n->rate : 0);
	if (r == -EBUSY && n->n_busy < BUSY_MOST) {
		n->send_ns = MAX(n->send_ns, busy_until(n));
		return 0;
	}
	n->at += strlen(build) + 1;
	if (r == SHIP_FAILS_AT_IT)
		forget_asked(n, build);
	if (r > 0)
		log_warning("names of a file are refused: %s", err ? err->text : "");
	return r;
}

int ship_names_step(struct ship_names *n, uint64_t *wait_ns, struct error *err)
{
	uint64_t now = clock_monotonic_ns();
	int r = 0;

	if (now >= n->forget_ns) {
		n->asked.n = 0;
		n->forget_ns = now + DAY_NS + soon(DAY_NS / 8);
	}
	if (n->at < n->wanted.len && now >= n->send_ns)
		r = send_next(n, err);
	else if (n->at >= n->wanted.len && now >= n->ask_ns)
		r = ask_names(n, err);
	if (r < 0) { /* what is left is asked for again */
		n->wanted.len = n->at = n->asked.n = n->n_busy = 0;
		n->ask_ns = clock_monotonic_ns() + LATEST_NS;
	}
	now = clock_monotonic_ns();
	/* A question had no room for all indexes: the next one is due. */
	*wait_ns = n->ask_ns <= now ? 0 : UINT64_MAX;
	if (n->at < n->wanted.len)
		*wait_ns = n->send_ns > now ? n->send_ns - now : 0;
	return MIN(r, 0);
}
