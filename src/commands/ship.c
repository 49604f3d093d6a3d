/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay ship: the blocks of a host's history to a fleet. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/plural.h"
#include "cli/command.h"
#include "commands/opening.h"
#include "commands/ship_dry.h"
#include "commands/ship_post.h"
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

/* Between two tries after a failure: a random time up to this, which doubles each time. */
#define RETRY_FIRST_S 1.0
#define RETRY_MOST_S  600.0

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

/* With --once: names take so long at most. */
#define NAMES_ONCE_S 86400.0

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
	  "To a gateway, names of functions follow the blocks, at *--names-rate*." },
	{ 0, "interval", "TIME", OPT_SECONDS, FIELD(interval_s), "60",
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

static volatile sig_atomic_t ship_is_over;

static void end_ship(int signal)
{
	(void)signal;
	ship_is_over = 1;
}

static bool ship_stops(void)
{
	return ship_is_over;
}

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

static void wait_for(double seconds)
{
	const struct timespec t = { .tv_sec = (time_t)seconds,
				    .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };

	if (!ship_is_over)
		nanosleep(&t, NULL); /* a signal ends it */
}

/* Full jitter: any time up to the limit, so that hosts that failed together come back apart. */
static double retry_after(double *limit_s)
{
	uint32_t random = 0;
	double seconds;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_wall_ns();
	seconds = *limit_s * ((double)random + 1) / 4294967296.0;
	*limit_s = MIN(*limit_s * 2, RETRY_MOST_S);
	return seconds;
}

/* Which round comes next. */
struct rounds {
	const struct ship_args *args;
	struct ship *ship, *leaves;   /* leaves: of addresses; NULL: none are sent */
	struct gateway *gateway;      /* NULL: another place */
	const struct ship_post *post; /* of other tools; NULL: another place */
	const char *state_dir;        /* of what the gateway has */
	struct ship_names *names;     /* NULL as well */
	struct gateway_state state;
	struct ship_status status; /* for the daemon */
	double limit_s;
	uint32_t n_sent; /* blocks of the last round, of both kinds */
	bool has_looked; /* the last round only looked at what waits */
	bool is_first;
};

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

/* The folder moves in one step, so a kill at any moment leaves no keys without their fleet's id. */
static int move_state_away(const struct rounds *rs, const char *old, struct error *err)
{
	int r = file_remove_tree(old, err);

	log_info("the gateway has another fleet: all blocks are sent to it");
	if (r >= 0 && rename(rs->state_dir, old) < 0)
		r = error_errno(err, -errno, "cannot rename %s", rs->state_dir);
	return r < 0 ? r : fleet_make(rs->state_dir, err);
}

/* Another fleet at the gateway has none of the blocks and names that the state folder names. */
static int match_state(const struct rounds *rs, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.of", rs->state_dir);
	cleanup(free_at_exit) char *old = xasprintf("%s.old", rs->state_dir);
	cleanup(free_at_exit) char *was = NULL;
	const char *is = gateway_fleet(rs->gateway);
	size_t size = 0;
	int r = fleet_make(rs->state_dir, err), found;

	if (r < 0)
		return r;
	found = file_read_all(path, FLEET_ID_SIZE, &was, &size);
	if (found < 0 && found != -ENOENT)
		return error_errno(err, found, "cannot read %s", path);
	if (!found && size == strlen(is) && !memcmp(was, is, size))
		return 0;
	if (!found)
		r = move_state_away(rs, old, err);
	r = r < 0 ? r : file_replace(path, is, strlen(is), err);
	if (r < 0)
		return r;
	file_remove_tree(old, NULL); /* also that of a run that was killed */
	if (rs->names)
		ship_names_forget(rs->names, rs->args->once ? 0 : rs->args->interval_s);
	return 0;
}

/* Addresses that were not sent: the daemon goes on, without them if the gateway is older. */
static int without_leaves(struct rounds *rs, int r, struct error *err)
{
	if (rs->args->once || rs->args->dry_run || r == -EINTR)
		return r;
	log_warning("addresses are not sent: %s", err->text);
	if (r == -EOPNOTSUPP)
		ship_free(take_ptr(rs->leaves));
	return 0;
}

/* Blocks of addresses follow those of functions, which do not need them. */
static int leaves_round(struct rounds *rs, struct ship_result *result, struct error *err)
{
	cleanup(free_at_exit) char *fleet = fleet_leaves(rs->state_dir);
	struct ship_result more = { 0 };
	int r = fleet_make(fleet, err); /* match_state() may have moved it away */

	do
		r = r < 0 && r != -EAGAIN ? r : ship_round(rs->leaves, &more, err);
	while (r == -EAGAIN);
	if (more.n_sent && !rs->args->quiet && !rs->args->dry_run)
		log_info("%" PRIu32 " block%s of addresses sent: %" PRIu64 " sample%s, %" PRIu64
			 " bytes",
			 more.n_sent, plural_s(more.n_sent), more.samples, plural_s(more.samples),
			 more.bytes);
	rs->n_sent += more.n_sent;
	result->n_damaged += more.n_damaged;
	result->n_refused += more.n_refused;
	result->n_left += more.n_left;
	return r < 0 ? without_leaves(rs, r, err) : 0;
}

/* The gateway is away: what waits, and what waits no longer. */
static void look(struct rounds *rs, struct ship_result *result)
{
	struct ship_result more = { 0 };

	rs->has_looked = ship_look(rs->ship, result, NULL) >= 0;
	rs->state.expired += result->expired;
	if (!rs->has_looked)
		return;
	if (rs->leaves)
		ship_look(rs->leaves, &more, NULL);
	result->n_left += more.n_left;
	rs->state.backlog = result->n_left;
}

static int one_round(struct rounds *rs, struct ship_result *result, struct error *err)
{
	int r = rs->gateway ? gateway_introduce(rs->gateway, &rs->state, rs->is_first, err) : 0;

	*result = (struct ship_result){ 0 };
	rs->n_sent = 0;
	rs->has_looked = false;
	if (r >= 0 && rs->gateway)
		r = match_state(rs, err);
	if (r < 0) {
		look(rs, result);
		return r;
	}
	r = ship_round(rs->ship, result, err);
	rs->n_sent = result->n_sent;
	if (r >= 0 && rs->leaves)
		r = leaves_round(rs, result, err);
	parser_end_children(); /* until the next round, their memory is free */
	rs->state.backlog = result->n_left + result->n_refused;
	if (result->rate_hz && result->rate_hz != rs->state.rate_hz) {
		rs->state.rate_hz = result->rate_hz;
		if (r >= 0 && rs->gateway)
			r = gateway_introduce(rs->gateway, &rs->state, true, err);
	}
	rs->state.expired += result->expired;
	return r;
}

/* What a new start does not mend: the command line, or a token that the gateway does not know. */
static bool is_final(const struct rounds *rs, int r)
{
	return rs->args->once || rs->args->dry_run ||
	       (rs->is_first && (r == -EINVAL || r == -ENOENT));
}

/* What a server asked for at its last answer; 0: nothing. */
static uint32_t asked_wait_s(const struct rounds *rs)
{
	if (rs->gateway)
		return gateway_retry_after_s(rs->gateway);
	return rs->post ? ship_post_retry_after_s(rs->post) : 0;
}

/* The time until the next round, after the result r of one. A server may ask for more. */
static double time_until_next(struct rounds *rs, int r)
{
	if (r >= 0) {
		rs->limit_s = RETRY_FIRST_S;
		return rs->args->interval_s;
	}
	return retry_after(&rs->limit_s) + asked_wait_s(rs);
}

/*
 * Between two rounds: sends names that the gateway wants, for so many seconds. Once: until all are
 * sent. Blocks do not wait for names, so a failure is no failure of the round.
 */
static void send_names(const struct rounds *rs, double seconds)
{
	uint64_t end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9), now, wait = 0;
	struct error err = { 0 };

	while (!ship_is_over && (now = clock_monotonic_ns()) < end) {
		if (!rs->names)
			wait = UINT64_MAX;
		else if (ship_names_step(rs->names, &wait, &err) < 0)
			log_warning("names are not sent: %s", err.text);
		if (wait == UINT64_MAX && rs->args->once)
			return;
		wait_for((double)MIN(wait, end - now) / 1e9);
	}
}

/* Tells the daemon of a round with the result r. */
static void put_status(struct rounds *rs, const struct ship_result *result, int r)
{
	struct ship_status *s = &rs->status;
	struct error err = { 0 };

	s->round_ns = clock_wall_ns();
	s->success_ns = r < 0 ? s->success_ns : s->round_ns;
	s->failures = r < 0 ? s->failures + 1 : 0;
	s->refused += result->n_refused;
	s->expired += result->expired;
	/* A round that failed early leaves the queue unknown: the last one counts. */
	if (r >= 0 || rs->has_looked || result->n_left || result->n_sent)
		s->backlog = result->n_left + result->n_refused;
	if (!rs->gateway)
		s->rate_hz = 0;
	else if (*gateway_fleet(rs->gateway)) /* it has spoken: else the last one counts */
		s->rate_hz = gateway_rate_hz(rs->gateway);
	if (!rs->args->dry_run && ship_status_write(s, &err) < 0)
		log_warning("%s", err.text);
}

static int ship_rounds(struct rounds *rs, struct error *err)
{
	const struct ship_args *args = rs->args;

	while (!ship_is_over) {
		struct ship_result result;
		int r = one_round(rs, &result, err);

		malloc_trim(0); /* a part's tree is large, and the next round is far */
		ship_print_round(&result, args->quiet || args->dry_run);
		if (args->dry_run && result.n_containers)
			printf("names of containers and pods: %" PRIu32 "\n", result.n_containers);
		if (r != -EAGAIN && r != -EINTR)
			put_status(rs, &result, r);
		if (rs->n_sent)
			rs->limit_s = RETRY_FIRST_S; /* the gateway takes blocks: only as many as it
							wants */
		if (r == -EAGAIN || r == -EINTR)
			continue;
		/* Once: a busy server gets the rest, as long as it takes blocks. */
		if (r == -EBUSY && args->once && (rs->gateway || rs->post) && rs->n_sent) {
			wait_for(time_until_next(rs, r));
			continue;
		}
		if (r < 0 && is_final(rs, r))
			return r;
		rs->is_first = false;
		if (args->once && rs->names)
			send_names(rs, NAMES_ONCE_S);
		if (args->once || args->dry_run)
			return result.n_damaged || result.n_refused
				       ? error_set(err, -EBADMSG, "%s", "")
				       : 0;
		if (r < 0)
			log_warning("%s; assay tries again", err->text);
		if (r < 0)
			wait_for(time_until_next(rs, r));
		else
			send_names(rs, time_until_next(rs, r));
	}
	return args->once || args->dry_run
		       ? error_set(err, -EINTR,
				   "a signal ended it before it had looked at all blocks")
		       : 0;
}

/* The second queue, to the fleet in the fleet. */
static int open_leaves(struct rounds *rs, const struct ship_config *config, struct error *err)
{
	cleanup(free_at_exit) char *fleet = fleet_leaves(config->fleet);
	struct ship_config leaves = *config;
	struct buf services = { 0 };
	int r = fleet_make(fleet, err);

	ship_parse_leaves(&rs->args->leaves, &services);
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
	struct rounds rs = { .args = args,
			     .gateway = gateway,
			     .post = post,
			     .limit_s = RETRY_FIRST_S,
			     .is_first = true };
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
	rs.state_dir = config->fleet;
	rs.ship = ship_new(config);
	r = args->leaves.n ? open_leaves(&rs, config, err) : 0;
	ship_status_read(&rs.status); /* it goes on where the last process ended */
	r = r < 0 ? r : ship_rounds(&rs, err);
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
		.stops = ship_stops,
	};
	const struct ship_post_config post_to = { .to = args->to,
						  .host = config->host,
						  .state = config->fleet,
						  .token_file = args->token_file,
						  .ca = args->ca,
						  .certificate = args->certificate,
						  .key = args->key,
						  .stops = ship_stops };
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
	struct ship_config config = { .history = DEFAULT_HISTORY, .stops = ship_stops };
	const struct sigaction on_end = { .sa_handler = end_ship };
	struct buf labels = { 0 };
	struct error err = { 0 };
	cleanup(free_at_exit) char *fleet = NULL;
	cleanup(kubelet_free_at_exit) struct kubelet *kubelet = NULL;
	char hostname[FLEET_HOST_MAX + 1] = "";
	int status = command_begin(self, false, argc, argv, &args, &operands), r;
	const struct kubelet_config to_ask = { args.kubelet, args.kubelet_token, args.kubelet_ca,
					       ship_stops };

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
			sigaction(SIGINT, &on_end, NULL);
			sigaction(SIGTERM, &on_end, NULL);
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
