/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet enroll and invite: the hosts that may send to a gateway. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"

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
