/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_rates.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"

#define RATES_MAX (16u << 20)

static char *rates_path(const char *fleet)
{
	return xasprintf("%s/.rates", fleet);
}

/* The text of the file; "" if there is none. */
static int read_rates(const char *fleet, char **text, struct error *err)
{
	cleanup(free_at_exit) char *path = rates_path(fleet);
	int r = file_read_all(path, RATES_MAX, text, NULL);

	if (r == -ENOENT) {
		*text = xstrdup("");
		return 0;
	}
	return r < 0 ? error_errno(err, r, "cannot read %s", path) : 0;
}

/* Cuts a line in two. False: it is none. */
static bool parse_rate(char *line, uint64_t *hz)
{
	char *value = strchr(line, ' ');
	size_t n;

	if (!value)
		return false;
	*value++ = '\0';
	n = strspn(value, "0123456789");
	*hz = strtoull(value, NULL, 10);
	return n && n < 8 && !value[n] && *hz && *hz <= FLEET_RATE_MAX;
}

int fleet_rate_read(const char *fleet, const char *host, uint64_t *hz, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	uint64_t of_host = 0, of_all = 0, rate;
	char *rest, *line;
	int r = read_rates(fleet, &text, err);

	if (r < 0)
		return r;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!*line)
			continue;
		if (!parse_rate(line, &rate))
			return error_set(err, -EBADMSG, "%s/.rates: a line is wrong", fleet);
		if (!strcmp(line, host))
			of_host = rate;
		if (!strcmp(line, FLEET_RATE_ALL))
			of_all = rate;
	}
	*hz = of_host ? of_host : of_all;
	return 0;
}

static int by_host(const void *a, const void *b)
{
	const struct fleet_rate *x = a, *y = b;

	return strcmp(x->host, y->host);
}

static bool is_of(const char *line, const struct fleet_rate *rates, size_t n)
{
	cleanup(free_at_exit) char *host = xstrndup(line, strcspn(line, " "));
	const struct fleet_rate key = { .host = host };

	return bsearch(&key, rates, n, sizeof(*rates), by_host);
}

/* The lines of others, and those of the hosts. */
static int replace_rates(const char *fleet, const struct fleet_rate *rates, size_t n,
			 struct error *err)
{
	cleanup(free_at_exit) char *path = rates_path(fleet), *text = NULL, *was = NULL;
	struct buf out = { 0 };
	char *rest, *line;
	int r = read_rates(fleet, &text, err);

	was = xstrdup(r < 0 ? "" : text);
	rest = text;
	while (r >= 0 && (line = strsep(&rest, "\n")))
		if (*line && !is_of(line, rates, n))
			buf_printf(&out, "%s\n", line);
	for (size_t i = 0; i < n; i++)
		if (rates[i].hz)
			buf_printf(&out, "%s %" PRIu64 "\n", rates[i].host, rates[i].hz);
	/* The gateway reads it as its user, whatever the umask of this one is. */
	if (r >= 0 && strcmp(buf_cstr(&out), was) != 0)
		r = file_replace_mode(path, 0644, out.data, out.len, err);
	buf_fini(&out);
	return r;
}

int fleet_rates_set(const char *fleet, const struct fleet_rate *rates, size_t n, struct error *err)
{
	cleanup(close_at_exit) int lock = -1;

	for (size_t i = 0; i < n; i++) {
		if (rates[i].hz > FLEET_RATE_MAX)
			return error_set(err, -EINVAL, "a rate is 1 to %d samples a second",
					 FLEET_RATE_MAX);
		if (strcmp(rates[i].host, FLEET_RATE_ALL) != 0 &&
		    !fleet_host_is_valid(rates[i].host))
			return error_set(err, -EINVAL, "'%s' can't be the name of a host",
					 rates[i].host);
	}
	lock = fleet_lock(fleet, err);
	return lock < 0 ? lock : replace_rates(fleet, rates, n, err);
}

int fleet_rate_set(const char *fleet, const char *host, uint64_t hz, struct error *err)
{
	const struct fleet_rate rate = { host, hz };

	return fleet_rates_set(fleet, &rate, 1, err);
}
