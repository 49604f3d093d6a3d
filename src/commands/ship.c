/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay ship: the blocks of a host's history to a fleet. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "cli/command.h"
#include "commands/end_signals.h"
#include "commands/opening.h"
#include "commands/ship_dry.h"
#include "commands/ship_post.h"
#include "commands/ship_rounds.h"
#include "commands/ship_words.h"
#include "fleet/gateway.h"
#include "fleet/kubelet.h"
#include "fleet/ship.h"
#include "fleet/ship_names.h"
#include "fleet/ship_status.h"
#include "guard/parser.h"
#include "store/history/blocks.h"

#define DEFAULT_HISTORY "/var/lib/assay"
#define DEFAULT_STATE   "/var/lib/assay-ship"

/*
 * A process of its own reads the files of programs, as any user: its memory goes when it ends, and
 * a hostile file of another user's program harms nothing else.
 */
#define SHIP_PARSER_BYTES ((uint64_t)256 << 20)

/*
 * Larger tables are mapped, so that their memory goes back to the system when they grow or end. By
 * default, malloc would soon keep it: it maps only what is larger than all that it has given back.
 */
#define SHIP_MAPPED_BYTES (64 << 10)

struct ship_args {
	const char *to, *host;
	const char *state, *token_file, *join_file, *ca, *certificate, *key; /* of a gateway */
	const char *kubelet, *kubelet_token, *kubelet_ca;
	struct option_list labels, drop, leaves;
	double interval_s;
	uint64_t names_rate;
	bool once, dry_run, quiet;
};

#define FIELD(f) offsetof(struct ship_args, f)
static const struct option_spec ship_options[] = {
	{ 't', "to", "PLACE", OPT_STRING, FIELD(to), NULL,
	  "the fleet: dir:PATH or https://HOST[:PORT]",
	  "PATH is the directory of a fleet, also on another machine's file system that is mounted "
	  "here. It is made if it is missing. HOST is a gateway: *assay serve --fleet*. *http://* "
	  "is "
	  "possible for a gateway of this machine alone. *otlp+https://HOST[:PORT][/PATH]* is a "
	  "receiver of OpenTelemetry profiles over HTTP, and *pyroscope+https://…* a server of "
	  "Pyroscope, which gets pprof." },
	{ 0, "token-file", "FILE", OPT_STRING, FIELD(token_file), NULL,
	  "the token of this host at a gateway: assay fleet enroll",
	  "No other user may have the right to read the file. A group may, if root owns the "
	  "file, and *ship* has that group." },
	{ 0, "join-file", "FILE", OPT_STRING, FIELD(join_file), NULL,
	  "a token by which a new host enrolls itself: assay fleet invite",
	  "Its rights are as those of *--token-file*. assay keeps this host's own token in the "
	  "folder of *--state*, or in the file of *--token-file*." },
	{ 0, "ca", "FILE", OPT_STRING, FIELD(ca), NULL,
	  "the only issuers that the gateway's certificate may have (PEM)",
	  "Default: those that the system trusts." },
	{ 0, "certificate", "FILE", OPT_STRING, FIELD(certificate), NULL,
	  "the certificate of this host, instead of a token (PEM)" },
	{ 0, "key", "FILE", OPT_STRING, FIELD(key), NULL, "the key of the certificate (PEM)" },
	{ 0, "state", "DIR", OPT_STRING, FIELD(state), NULL,
	  "where assay keeps what it sent to a gateway",
	  "Default: _$STATE_DIRECTORY_, or _" DEFAULT_STATE "_. If it is lost, all blocks are sent "
	  "again, and the gateway knows them." },
	{ 0, "host", "NAME", OPT_STRING, FIELD(host), NULL,
	  "the name of this host in the fleet (default: its host name)", NULL },
	{ 0, "labels", "NAME=VALUE", OPT_LIST, FIELD(labels), NULL,
	  "facts about this host that the fleet keeps beside its blocks",
	  "Several may stand in one list: *--labels zone=a,role=web*." },
	{ 0, "drop", "WHAT", OPT_LIST, FIELD(drop), NULL,
	  "leave out of the blocks: comm (names of threads), cgroup",
	  "Command lines and processes are never in them, and addresses in none but those of "
	  "*--leaves*." },
	{ 0, "leaves", "SERVICE", OPT_LIST, FIELD(leaves), NULL,
	  "send the addresses of samples of these services, too, by the hour",
	  "SERVICE is a glob of the key *service* (*assay report --by service*); several may stand "
	  "in one list. *assay export --fleet* makes profiles for compilers and BOLT of them. "
	  "The blocks of functions stay as they are." },
	{ 0, "kubelet", "URL", OPT_STRING, FIELD(kubelet), NULL,
	  "ask the kubelet of this node for the names of pods and containers",
	  "URL is https://HOST:10250, or http://127.0.0.1:10255 of a kubelet with a read-only "
	  "port. "
	  "Without this option, assay asks no kubelet. The names that the recorder found come "
	  "first." },
	{ 0, "kubelet-token-file", "FILE", OPT_STRING, FIELD(kubelet_token), NULL,
	  "a token for the kubelet, such as that of the pod's service account",
	  "It needs the right to get *nodes/proxy* (or *nodes/pods*). The file is read each "
	  "time." },
	{ 0, "kubelet-ca", "FILE", OPT_STRING, FIELD(kubelet_ca), NULL,
	  "the only issuers that the kubelet's certificate may have (PEM)",
	  "Default: those that the system trusts." },
	{ 0, "once", NULL, OPT_FLAG, FIELD(once), NULL, "end when all final blocks were sent",
	  "To a gateway, names of functions follow the blocks, at *--names-rate*. If there is "
	  "nothing to send, it says why, and from when on there is." },
	{ 0, "interval", "TIME", OPT_SECONDS, FIELD(interval_s), "60s",
	  "the time between two looks at the history", NULL, 1, 86400 },
	{ 0, "names-rate", "BYTES", OPT_U64, FIELD(names_rate), "20k",
	  "names of functions that go to a gateway, in bytes a second; 0: any number",
	  "Names go once for each build of the fleet, and blocks do not wait for them.", 0,
	  1000000000 },
	{ 'n', "dry-run", NULL, OPT_FLAG, FIELD(dry_run), NULL,
	  "print the data that would be sent, and send none",
	  "A line for each block, of functions or of addresses. Then each program, name of a "
	  "thread, cgroup, file, container and pod that would leave the host, once. Then the "
	  "labels and facts of the host." },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
};

static bool is_gateway(const char *to)
{
	return !strncmp(to, "https://", 8) || !strncmp(to, "http://", 7);
}

/* Where assay keeps what a gateway has. */
static char *state_of(const struct ship_args *args)
{
	const char *unit = getenv("STATE_DIRECTORY");
	const char *dir = args->state ? args->state : unit && *unit ? unit : DEFAULT_STATE;
	cleanup(free_at_exit) char *name = gateway_folder(args->to);

	return xasprintf("%s/%s", dir, name);
}

/* The directory of "dir:PATH", or that of what a gateway has. The caller frees it. */
static int parse_place(const struct ship_args *args, char **path, struct error *err)
{
	const char *to = args->to;
	size_t n;

	if (!to)
		return error_set(err, -EINVAL, "--to is missing: --to dir:PATH or https://HOST");
	if (is_gateway(to) || ship_post_takes(to)) {
		*path = state_of(args);
		return 0;
	}
	if (strncmp(to, "dir:", 4) != 0 || !to[4])
		return error_set(err, -EINVAL, "--to '%s': write dir:PATH or https://HOST", to);
	for (n = strlen(to + 4); n > 1 && to[4 + n - 1] == '/';)
		n--;
	*path = xstrndup(to + 4, n);
	return 0;
}

static int send_to_gateway(void *context, const struct fleet_key *key, const char *block,
			   struct error *err)
{
	cleanup(free_at_exit) char *segment = block_segment(block);

	return gateway_send(context, key, segment, err);
}

static int send_leaves_to_gateway(void *context, const struct fleet_key *key, const char *block,
				  struct error *err)
{
	cleanup(free_at_exit) char *segment = block_segment(block);

	return gateway_send_leaves(context, key, segment, err);
}

static int send_containers_to_gateway(void *context, const struct buf *lines, struct error *err)
{
	return gateway_send_containers(context, lines, err);
}

/* The second queue, to the fleet in the fleet. */
static int open_leaves(struct ship_rounds *rs, const struct ship_args *args,
		       const struct ship_config *config, struct error *err)
{
	cleanup(free_at_exit) char *fleet = fleet_leaves(config->fleet);
	struct ship_config leaves = *config;
	struct buf services = { 0 };
	int r = fleet_make(fleet, err);

	ship_parse_leaves(&args->leaves, &services);
	leaves.fleet = fleet;
	leaves.facts_fleet = config->fleet;
	leaves.labels = NULL;
	leaves.leaves = buf_cstr(&services);
	leaves.send_containers = NULL;
	if (leaves.send)
		leaves.send = send_leaves_to_gateway;
	rs->leaves = r < 0 ? NULL : ship_new(&leaves);
	buf_fini(&services);
	return r;
}

/* Sends to the fleet's directory, or with `gateway` or `post` to that. */
static int ship(const struct ship_args *args, struct ship_config *config, const char *labels,
		struct gateway *gateway, struct ship_post *post, struct error *err)
{
	struct ship_rounds rs = { .gateway = gateway,
				  .post = post,
				  .state_dir = config->fleet,
				  .interval_s = args->interval_s,
				  .once = args->once,
				  .dry_run = args->dry_run,
				  .quiet = args->quiet };
	int r = fleet_make(config->fleet, err);

	if (r < 0)
		return r;
	config->labels = *labels ? labels : NULL;
	if (gateway) {
		config->send = send_to_gateway;
		config->send_containers = send_containers_to_gateway;
		config->send_context = gateway;
	}
	if (post) {
		config->send = ship_post_send;
		config->send_context = post;
	}
	if (gateway) {
		cleanup(free_at_exit) char *names =
			xasprintf("%s/" HISTORY_NAMES_DIR, config->fleet);

		rs.names = ship_names_new(names, gateway, args->names_rate, args->once);
	}
	rs.ship = ship_new(config);
	r = args->leaves.n ? open_leaves(&rs, args, config, err) : 0;
	ship_status_read(&rs.status); /* it goes on where the last process ended */
	r = r < 0 ? r : ship_rounds_run(&rs, err);
	ship_names_free(rs.names);
	ship_free(rs.ship);
	ship_free(rs.leaves);
	return r;
}

static int ship_to(const struct ship_args *args, struct ship_config *config, const char *labels,
		   struct error *err)
{
	cleanup(free_at_exit) char *own = xasprintf("%s.token", config->fleet);
	cleanup(free_at_exit) char *state = path_folder(own);
	const struct gateway_config to = {
		.url = args->to,
		.host = config->host,
		.token_file = args->join_file && !args->token_file ? own : args->token_file,
		.join_file = args->join_file,
		.ca = args->ca,
		.certificate = args->certificate,
		.key = args->key,
		.labels = labels,
		.stops = end_signals_came,
	};
	const struct ship_post_config post_to = { .to = args->to,
						  .host = config->host,
						  .state = config->fleet,
						  .token_file = args->token_file,
						  .ca = args->ca,
						  .certificate = args->certificate,
						  .key = args->key,
						  .stops = end_signals_came };
	cleanup(gateway_free_at_exit) struct gateway *gateway = NULL;
	cleanup(ship_post_free_at_exit) struct ship_post *post = NULL;
	int r = args->join_file && is_gateway(args->to) ? file_mkdirs(state, 0700, err) : 0;

	r = r < 0 || !is_gateway(args->to) ? r : gateway_new(&to, &gateway, err);
	if (r >= 0 && ship_post_takes(args->to))
		r = ship_post_new(&post_to, &post, err);
	return r < 0 ? r : ship(args, config, labels, gateway, post, err);
}

/* The same into a temporary fleet, which knows the blocks that the real one has. */
static int ship_dry(const struct ship_args *args, struct ship_config *config, const char *labels,
		    struct error *err)
{
	const char *fleet = config->fleet, *tmp = getenv("TMPDIR");
	cleanup(free_at_exit) char *scratch =
		xasprintf("%s/assay-ship-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	cleanup(free_at_exit) char *place = NULL, *leaves = fleet_leaves(fleet), *copy = NULL;
	struct ship_dry *dry;
	int r;

	if (!mkdtemp(scratch))
		return error_errno(err, -errno, "cannot make %s", scratch);
	opening_remove_at_end(scratch);
	config->fleet = place = xasprintf("%s/fleet", scratch);
	config->dry_run = true;
	dry = ship_dry_new(config->host, labels);
	config->report = ship_dry_block;
	if (!ship_post_takes(args->to)) /* those get no list of containers */
		config->report_containers = ship_dry_containers;
	config->context = dry;
	copy = fleet_leaves(place);
	r = ship_copy_host(fleet, place, config->host, err);
	if (r >= 0 && args->leaves.n)
		r = ship_copy_host(leaves, copy, config->host, err);
	r = r < 0 ? r : ship(args, config, "", NULL, NULL, err);
	ship_dry_end(dry, !ship_post_takes(args->to));
	ship_dry_free(dry);
	file_remove_tree(scratch, NULL);
	return r;
}

static int ship_run(const struct command *self, int argc, char **argv)
{
	struct ship_args args = { 0 };
	struct option_list operands = { 0 };
	struct ship_config config = { .history = DEFAULT_HISTORY, .stops = end_signals_came };
	struct buf labels = { 0 };
	struct error err = { 0 };
	cleanup(free_at_exit) char *fleet = NULL;
	cleanup(kubelet_free_at_exit) struct kubelet *kubelet = NULL;
	char hostname[FLEET_HOST_MAX + 1] = "";
	int status = command_begin(self, false, argc, argv, &args, &operands), r;
	const struct kubelet_config to_ask = { args.kubelet, args.kubelet_token, args.kubelet_ca,
					       end_signals_came };

	if (status < 0) {
		gethostname(hostname, sizeof(hostname) - 1);
		config.host = args.host ? args.host : hostname;
		config.history = operands.n ? operands.data[0] : DEFAULT_HISTORY;
		r = operands.n > 1 ? error_set(&err, -EINVAL, "name one history") : 0;
		r = r < 0 ? r : parse_place(&args, &fleet, &err);
		config.fleet = fleet;
		r = r < 0 ? r : ship_check_host(config.host, &err);
		r = r < 0 ? r : ship_check_words(args.to, &args.leaves, &args.labels, &err);
		r = r < 0 ? r : ship_parse_labels(&args.labels, &labels, &err);
		r = r < 0 ? r : ship_parse_drop(&args.drop, &config, &err);
		r = r < 0 ? r : ship_open_kubelet(&to_ask, &config, &kubelet, &err);
		status = EXIT_USAGE;
		if (r >= 0) {
			mallopt(M_MMAP_THRESHOLD, SHIP_MAPPED_BYTES);
			mallopt(M_TRIM_THRESHOLD, SHIP_MAPPED_BYTES);
			parser_use_children(SHIP_PARSER_BYTES);
			parser_be_modest();
			end_signals_catch();
			r = args.dry_run ? ship_dry(&args, &config, buf_cstr(&labels), &err)
					 : ship_to(&args, &config, buf_cstr(&labels), &err);
			status = r < 0 ? EXIT_FAILED : EXIT_OK;
		}
		if (r < 0 && err.text[0])
			log_error("ship: %s", err.text);
	}
	buf_fini(&labels);
	option_list_fini(&args.labels);
	option_list_fini(&args.drop);
	option_list_fini(&args.leaves);
	option_list_fini(&operands);
	return status;
}

static const struct command_section ship_sections[] = {
	{ "WHAT IS SENT",
	  "A block has the samples of ten minutes of the clock, at function level: programs, names "
	  "of threads, cgroups, functions and call trees. It has no addresses, processes, command "
	  "lines and single times. With *--leaves*, further blocks have the addresses of samples "
	  "of "
	  "the services that you name, by the hour, with programs and cgroups. *--dry-run* lists "
	  "the blocks and all names in them, and *assay retain --level "
	  "functions* makes them for you to look at. The names of functions are sent once for each "
	  "build of a file.\n\nA block is sent when its ten minutes are over, or its part is. The "
	  "newest goes first, and every fourth is the oldest." },
	{ "GATEWAYS",
	  "A gateway is *assay serve --fleet*. assay speaks TLS 1.2 or newer with it, one block at "
	  "a "
	  "time, and tries again after a random time that grows up to ten minutes, or after the "
	  "time "
	  "that the gateway asks for. A block that the gateway refuses stays in the history, and "
	  "assay sends it again after an hour. If the gateway fails at a block, assay sends the "
	  "others, and this one again after ten minutes. Each further failure doubles this "
	  "time, up to a day." },
	{ "STOPPING",
	  "The history on disk is the queue. You can stop and kill *assay ship* at any moment: "
	  "each "
	  "sample is in the fleet once. A history whose retention is shorter than an outage of the "
	  "fleet loses the blocks in between." },
	{ NULL },
};

static const struct command_example ship_examples[] = {
	{ "assay ship --to dir:/srv/fleet", "the history of this host's daemon, from now on" },
	{ "assay ship --to dir:/srv/fleet --once --drop comm,cgroup history",
	  "all blocks of a history, without names of threads and cgroups" },
	{ "assay ship --to https://gw.example.org:8443 --ca ca.pem --token-file token",
	  "to a gateway" },
	{ "assay ship --to dir:/srv/fleet --leaves 'nginx,web*'",
	  "the addresses of two kinds of services, too" },
	{ "assay ship --to dir:/srv/fleet --dry-run", "the data that would be sent" },
	{ NULL },
};

const struct command ship_command = {
	.name = "ship",
	.summary = "send the blocks of a daemon's history to a fleet",
	.synopsis = "--to PLACE [OPTIONS] [HISTORY]",
	.description = "Makes blocks of ten minutes of a history, and stores each of them in a "
		       "fleet exactly once. The default history is " DEFAULT_HISTORY ".",
	.options = OPTIONS(ship_options),
	.sections = ship_sections,
	.examples = ship_examples,
	.run = ship_run,
};
