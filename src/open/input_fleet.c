/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fleet in ClickHouse as a session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_question.h"
#include "fleet/fleet_store.h"
#include "open/input_state.h"
#include "profile/key.h"

#define PREFIX "clickhouse:"

/* The environment variable with the path of the file with USER:PASSWORD. */
#define LOGIN_VARIABLE "ASSAY_CLICKHOUSE_LOGIN"

void input_want_of_fleet(struct input *in, const struct fleet_wish *wish)
{
	in->fleet_wish = *wish;
	if (wish->keys) {
		in->fleet_wish.hosts_apart |= key_list_has(wish->keys, PROFILE_HOST);
		in->fleet_wish.builds_apart |= key_list_has(wish->keys, PROFILE_BUILD);
	}
	in->has_fleet_wish = true;
}

bool input_is_clickhouse(const char *path)
{
	return path && !strncmp(path, PREFIX, strlen(PREFIX));
}

char *input_of_fleet(const char *urls)
{
	return !strstr(urls, "://") && fleet_is_at(urls) ? xstrdup(urls)
							 : xasprintf(PREFIX "%s", urls);
}

int input_open_clickhouse(struct input *in, const char *path, const struct query *q,
			  struct session **out, bool *is_damaged, struct error *err)
{
	const struct clickhouse_options options = { .urls = path + strlen(PREFIX),
						    .login = getenv(LOGIN_VARIABLE) };
	const struct fleet_question question = { .query = q,
						 .keys = in->fleet_wish.keys,
						 .functions_alone = in->fleet_wish.functions_alone,
						 .hosts_apart = in->fleet_wish.hosts_apart,
						 .times_apart = in->fleet_wish.times_apart,
						 .builds_apart = in->fleet_wish.builds_apart,
						 .needs_totals = in->fleet_wish.needs_totals,
						 .leaves = in->fleet_wish.leaves,
						 .leaves_build = in->fleet_wish.leaves_build };
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	cleanup(free_at_exit) char *dir = NULL;
	uint32_t missing = 0;
	int r;

	if (!strstr(options.urls, "://"))
		return error_set(err, -ENOENT,
				 "'%s' is no fleet: name its directory, or its URLs, such as "
				 "http://ch1:8123/fleet",
				 options.urls);
	r = input_new_folder(in, &dir, err);

	if (r >= 0 && mkdir(dir, 0700) < 0)
		r = error_errno(err, -errno, "cannot make %s", dir);
	r = r < 0 ? r : clickhouse_open(&options, &ch, err);
	r = r < 0 ? r : clickhouse_question(ch, &question, dir, out, &missing, err);
	if (r < 0)
		return r;
	*is_damaged = missing > 0;
	free((*out)->path);
	(*out)->path = xstrdup(path);
	return 0;
}
