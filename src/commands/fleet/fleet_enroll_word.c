/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet enroll, invite and forget: the hosts that may send to a gateway. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_names.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"

/* forget waits so long for the end of a request, or of a merge. */
#define FORGET_MS 60000

static int print_token(const char *token, struct error *err)
{
	cleanup(free_at_exit) char *line = xasprintf("%s\n", token);

	return output_whole("-", line, strlen(line), err);
}

/* The token of a host, or the mark of its certificate. */
static int enroll(const struct fleet_args *args, const char *fleet, const char *host,
		  struct error *err)
{
	char token[FLEET_TOKEN_SIZE] = "";
	int r = fleet_enroll(fleet, host, args->certificate ? NULL : token, err);

	r = r < 0 ? r : fleet_log(fleet, "enroll", host, err);
	return r < 0 || !*token ? r : print_token(token, err);
}

int fleet_enroll_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	const char *fleet;
	int r = operands->n == 2 ? fleet_operand(operands, &fleet, err)
				 : error_set(err, -EINVAL, "enroll: name the fleet and a host");

	r = r < 0 ? r : enroll(args, fleet, operands->data[1], err);
	return r < 0 ? r : EXIT_OK;
}

int fleet_invite_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	char token[FLEET_TOKEN_SIZE], *end = NULL;
	const char *fleet;
	unsigned long n = operands->n == 2 ? strtoul(operands->data[1], &end, 10) : 0;
	int r = 0;

	(void)args;
	if (!end || *end || end == operands->data[1] || n > FLEET_HOSTS_MAX)
		r = error_set(err, -EINVAL,
			      "invite: name the fleet, and for how many hosts the token is (1 to "
			      "%d); 0 makes all such tokens void",
			      FLEET_HOSTS_MAX);
	r = r < 0 ? r : fleet_operand(operands, &fleet, err);
	if (r >= 0)
		r = n ? fleet_invite(fleet, n, token, err) : fleet_uninvite(fleet, err);
	r = r < 0 ? r : fleet_log(fleet, "invite", operands->data[1], err);
	r = r < 0 || !n ? r : print_token(token, err);
	return r < 0 ? r : EXIT_OK;
}

static int forget_host(const char *fleet, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", fleet, host);
	cleanup(free_at_exit) char *of = fleet_leaves(fleet);
	cleanup(free_at_exit) char *leaves = xasprintf("%s/%s", of, host);
	bool was_there = fleet_has_host(fleet, host);
	struct fleet_host *h = NULL;
	int r;

	if (!fleet_host_is_valid(host))
		return error_set(err, -EINVAL, "'%s' can't be the name of a host", host);
	/* It must not send while it is removed. */
	r = fleet_revoke(fleet, host, err);
	r = r < 0 ? r : fleet_log(fleet, "forget", host, err);
	r = r < 0 ? r : fleet_rate_set(fleet, host, 0, err);
	/* Under its lock: no request is in the middle of a block, or of names. */
	r = r < 0 ? r : fleet_host_await(fleet, host, FORGET_MS, &h, err);
	r = r < 0 ? r : fleet_names_forget(fleet, host, err);
	if (r >= 0 && access(leaves, F_OK) == 0)
		r = file_remove_tree(leaves, err);
	if (r >= 0)
		r = file_remove_tree(path, err);
	else if (!was_there)
		file_remove_tree(path, NULL); /* the lock made it */
	fleet_host_close(h);
	return r;
}

int fleet_forget_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	const char *fleet;
	int r = operands->n == 2 ? fleet_operand(operands, &fleet, err)
				 : error_set(err, -EINVAL, "forget: name the fleet and a host");

	(void)args;
	r = r < 0 ? r : forget_host(fleet, operands->data[1], err);
	return r < 0 ? r : EXIT_OK;
}
