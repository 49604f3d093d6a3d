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

/* The lines of others, and one of the host. */
static int replace_rate(const char *fleet, const char *host, uint64_t hz, struct error *err)
{
	cleanup(free_at_exit) char *path = rates_path(fleet), *text = NULL, *was = NULL;
	size_t n = strlen(host);
	struct buf out = { 0 };
	char *rest, *line;
	int r = read_rates(fleet, &text, err);

	was = xstrdup(r < 0 ? "" : text);
	rest = text;
	while (r >= 0 && (line = strsep(&rest, "\n")))
		if (*line && (strncmp(line, host, n) || line[n] != ' '))
			buf_printf(&out, "%s\n", line);
	if (hz)
		buf_printf(&out, "%s %" PRIu64 "\n", host, hz);
	/* The gateway reads it as its user, whatever the umask of this one is. */
	if (r >= 0 && (hz || out.len != strlen(was)))
		r = file_replace_mode(path, 0644, out.data, out.len, err);
	buf_fini(&out);
	return r;
}

int fleet_rate_set(const char *fleet, const char *host, uint64_t hz, struct error *err)
{
	cleanup(close_at_exit) int lock = -1;

	if (hz > FLEET_RATE_MAX)
		return error_set(err, -EINVAL, "a rate is 1 to %d samples a second",
				 FLEET_RATE_MAX);
	if (strcmp(host, FLEET_RATE_ALL) != 0 && !fleet_host_is_valid(host))
		return error_set(err, -EINVAL, "'%s' can't be the name of a host", host);
	lock = fleet_lock(fleet, err);
	return lock < 0 ? lock : replace_rate(fleet, host, hz, err);
}
