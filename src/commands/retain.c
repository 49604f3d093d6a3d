/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay retain: old parts of a history merged and removed, as the daemon does it. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "cli/command.h"
#include "commands/retain.h"
#include "commands/retain_blocks.h"
#include "open/client.h"
#include "open/lock.h"
#include "store/history/retention.h"
#include "store/store.h"

#define PATIENCE_S 10.0

struct retain_args {
	const char *session_dir, *level, *output;
	struct option_list tiers;
	double max_age_s, exact_age_s;
	uint64_t max_bytes;
	bool quiet;
};

#define FIELD(f) offsetof(struct retain_args, f)
static const struct option_spec retain_options[] = {
	{ 0, "session-dir", "DIR", OPT_STRING, FIELD(session_dir), NULL,
	  "the directory of a daemon or a history", "The same as the operand." },
	{ 0, "tier", "LEVEL=AGE[,SHARE]", OPT_LIST, FIELD(tiers), NULL,
	  "parts older than AGE become blocks of LEVEL: minutes, ten-minutes, hours or days",
	  "Stacks with less than SHARE percent of the samples are put together in *[other]*, below "
	  "their callers; sums stay exact. AGE is a number with s, m, h, d or w; *never* leaves "
	  "the level "
	  "out. A merged part spans AGE at most. Default: *minutes=2d,0*, *ten-minutes=never*, "
	  "*hours=14d,0.0001* and *days=90d,0.001*." },
	{ 0, "exact-time-age", "TIME", OPT_SECONDS, FIELD(exact_age_s), NULL,
	  "parts older than TIME lose the exact times of their samples",
	  "They keep the second of each. Without this option, times stay until the seconds become "
	  "minutes.",
	  1, 1e10 },
	{ 0, "max-age", "TIME", OPT_SECONDS, FIELD(max_age_s), NULL,
	  "remove parts that ended longer ago", NULL, 1, 1e10 },
	{ 0, "max-size", "SIZE", OPT_SIZE, FIELD(max_bytes), NULL,
	  "merge, and then remove, the oldest parts until the history is no larger" },
	{ 0, "level", "LEVEL", OPT_CHOICE, FIELD(level), NULL,
	  "make blocks of ten minutes in --output, and leave the history as it is",
	  "The level is *functions*: all code of a function is one place, as addresses stay on the "
	  "machine. Blocks have neither command lines nor processes, threads and processors. The "
	  "folder of blocks is a history: give it to *-i*.",
	  .choices = "functions" },
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), NULL,
	  "the new directory that gets the blocks of --level", NULL },
	{ 'q', "quiet", NULL, OPT_FLAG, FIELD(quiet), NULL, "print errors only" },
};

static int bad_tier(const char *text, struct error *err)
{
	return error_set(err, -EINVAL,
			 "--tier '%s': write LEVEL=AGE or LEVEL=AGE,SHARE, such as minutes=2d or "
			 "hours=14d,0.01; levels are minutes, ten-minutes, hours and days",
			 text);
}

/* "2d", "36h": seconds, at least one. */
static bool parse_age(const char *text, size_t len, uint64_t *out)
{
	cleanup(free_at_exit) char *ago = xasprintf("-%.*s", (int)len, text);
	const uint64_t now = UINT64_MAX / 2;
	uint64_t then;

	if (time_point_parse(ago, now, &then, NULL) < 0 || now - then < NS_PER_SECOND)
		return false;
	*out = (now - then) / NS_PER_SECOND;
	return true;
}

static int parse_tier(const char *text, struct retention_policy *policy, struct error *err)
{
	size_t name = strcspn(text, "="), age, level = 0;
	const char *at = text + name + 1;
	struct retention_tier tier;
	char *end;

	while (level < N_HISTORY_LEVELS && (strlen(history_levels[level].name) != name ||
					    strncmp(history_levels[level].name, text, name) != 0))
		level++;
	if (level == N_HISTORY_LEVELS || !text[name])
		return bad_tier(text, err);
	tier = policy->tiers[level];
	age = strcspn(at, ",");
	if (age == 5 && !strncmp(at, "never", 5))
		tier.after_s = 0;
	else if (!parse_age(at, age, &tier.after_s))
		return bad_tier(text, err);
	/* A tier that begins soon should not wait for the end of a week. */
	if (tier.after_s)
		tier.span_s = MIN(tier.span_s, MAX(tier.after_s,
						   history_levels[level].block_ns / NS_PER_SECOND));
	if (at[age]) {
		tier.min_share = strtod(at + age + 1, &end) / 100;
		if (end == at + age + 1 || *end || !(tier.min_share >= 0 && tier.min_share <= 1))
			return bad_tier(text, err);
	}
	policy->tiers[level] = tier;
	return 0;
}

static void print_result(const struct retention_result *r)
{
	log_info("%" PRIu32 " parts packed, %" PRIu32 " merged to %" PRIu32 ", %" PRIu32
		 " removed; %.1f MB were %.1f MB",
		 r->n_packed, r->n_merged, r->n_made, r->n_removed, (double)r->bytes_after / 1e6,
		 (double)r->bytes_before / 1e6);
	if (r->samples_cut)
		log_info("%" PRIu64 " sample%s of rare stacks %s in [other] now", r->samples_cut,
			 plural_s(r->samples_cut), plural(r->samples_cut, "is", "are"));
	retain_warn_of_parts(r);
}

void retain_warn_of_parts(const struct retention_result *r)
{
	if (r->n_damaged)
		log_warning("%" PRIu32 " part%s cannot be read, and %s left alone", r->n_damaged,
			    plural_s(r->n_damaged), plural(r->n_damaged, "was", "were"));
	if (r->n_newer)
		log_warning("%" PRIu32 " %s written by a newer assay, and left alone: "
			    "update assay to read %s",
			    r->n_newer, plural(r->n_newer, "part was", "parts were"),
			    plural(r->n_newer, "it", "them"));
}

/* The directory of the daemon that writes the history; NULL: none does. */
static char *daemon_of(const char *dir)
{
	static const char below[] = "/samples/current";
	cleanup(free_at_exit) char *real = realpath(dir, NULL);
	size_t len = real ? strlen(real) : 0, n = sizeof(below) - 1;
	char *place = len > n && !strcmp(real + len - n, below) ? xstrndup(real, len - n) : NULL;

	if (place && lock_holder(place))
		return place;
	free(place);
	return NULL;
}

/*
 * Only the daemon knows which part it writes: on a full disk, that part may be hours old. List the
 * parts before you ask, because the daemon may begin another one.
 */
static int ask_daemon(const char *place, const char *dir, struct history_names *over,
		      struct error *err)
{
	json_t *request = json_pack("{s:s}", "request", "status"), *status = NULL;
	const char *part, *slash;
	int r = history_list(dir, over);

	if (r < 0)
		error_errno(err, r, "cannot read %s", dir);
	else
		r = client_ask(place, request, PATIENCE_S, &status, err);
	json_decref(request);
	if (r < 0)
		return error_wrap(err, r, "%s: which part its daemon writes", place);
	part = json_string_value(json_object_get(status, "part"));
	slash = part ? strrchr(part, '/') : NULL;
	if (slash)
		history_names_drop(over, slash + 1);
	json_decref(status);
	return 0;
}

/* The owner of a history; of two different ones, the one who is not root. */
static int find_owner(const char *path, int dir, struct stat *out)
{
	struct stat given;

	if (fstat(dir, out) < 0 || stat(path, &given) < 0)
		return -errno;
	if (!out->st_uid)
		*out = given;
	return 0;
}

/*
 * Root becomes the owner of the history: its new files are his then, and links that he has put
 * there lead no further than he could go himself. He may have no way to the folder, as to one below
 * /root; then it becomes the working directory, and *dir ".".
 */
static int become_owner(const char *path, char **dir, struct error *err)
{
	cleanup(close_at_exit) int fd = open(*dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat owner;

	if (geteuid() != 0)
		return 0;
	if (fd < 0 || find_owner(path, fd, &owner) < 0)
		return error_errno(err, -errno, "cannot read %s", *dir);
	if (!owner.st_uid)
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(owner.st_gid, owner.st_gid, owner.st_gid) < 0 ||
	    setresuid(owner.st_uid, owner.st_uid, owner.st_uid) < 0)
		return error_errno(err, -errno, "cannot become user %u, the owner of %s",
				   owner.st_uid, *dir);
	if (access(*dir, W_OK | X_OK) == 0)
		return 0;
	if (fchdir(fd) < 0)
		return error_errno(err, -errno, "cannot enter %s", *dir);
	free(*dir);
	*dir = xstrdup(".");
	return 0;
}

static bool has_sample_files(const char *path)
{
	/* a daemon's directory, or one session below its samples/ */
	static const char *const places[] = { "", "/samples/current", "/samples/earlier" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		cleanup(free_at_exit) char *there = xasprintf("%s%s", path, places[i]);

		for (size_t k = 0; store_kinds[k]; k++)
			if (store_kinds[k]->is_at && store_kinds[k]->is_at(there))
				return true;
	}
	return false;
}

static int refuse_folder(const char *path, struct error *err)
{
	if (has_sample_files(path))
		return error_set(err, -ENOTSUP,
				 "%s has sample files, which have no times: nothing in them is "
				 "older than the rest; their daemon keeps them below its "
				 "--keep-size",
				 path);
	return error_set(err, -ENOENT, "%s is no history: there are no parts in it", path);
}

static int retain(const struct retain_args *args, const char *path, struct retention_policy *policy,
		  struct error *err)
{
	cleanup(free_at_exit) char *dir = history_dir(path);
	cleanup(free_at_exit) char *place = dir ? daemon_of(dir) : NULL;
	struct history_names over = { 0 };
	struct retention_result result;
	int r = 0;

	if (!dir)
		return refuse_folder(path, err);
	if (place) {
		r = ask_daemon(place, dir, &over, err);
		policy->over = &over;
	}
	r = r < 0 ? r : become_owner(path, &dir, err);
	r = r < 0 ? r : history_retain(dir, policy, &result, err);
	if (r >= 0 && !args->quiet)
		print_result(&result);
	history_names_fini(&over);
	return r;
}

static int retain_run(const struct command *self, int argc, char **argv)
{
	struct retain_args args = { 0 };
	struct option_list operands = { 0 };
	struct retention_policy policy = RETENTION_DEFAULT;
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands), r = 0;

	if (status < 0) {
		const char *path = operands.n ? operands.data[0] : args.session_dir;

		status = EXIT_USAGE;
		if (operands.n + (args.session_dir != NULL) != 1)
			r = error_set(&err, -EINVAL, "name one history: 'assay retain DIR'");
		for (size_t i = 0; i < args.tiers.n && r >= 0; i++)
			r = parse_tier(args.tiers.data[i], &policy, &err);
		policy.max_age_s = (uint64_t)args.max_age_s;
		policy.max_bytes = args.max_bytes;
		policy.times_s = (uint64_t)args.exact_age_s;
		if (r >= 0 && (args.level || args.output)) {
			const struct retain_blocks_args blocks = { path, args.output, args.quiet };

			r = args.level && args.output && !args.tiers.n
				    ? retain_blocks(&blocks, &err)
				    : error_set(&err, -EINVAL,
						"--level and --output go together, and without "
						"--tier");
			status = r == -EINVAL ? EXIT_USAGE : r < 0 ? EXIT_FAILED : EXIT_OK;
		} else if (r >= 0) {
			r = retain(&args, path, &policy, &err);
			status = r < 0 ? EXIT_FAILED : EXIT_OK;
		}
		if (r < 0)
			log_error("retain: %s", err.text);
	}
	option_list_fini(&args.tiers);
	option_list_fini(&operands);
	return status;
}

static const struct command_section retain_sections[] = {
	{ "WHAT IS KEPT",
	  "A history is a directory of parts, sessions that the daemon recorded one "
	  "after the other. The parts of a calendar span (a day, a week, four weeks) "
	  "older than a tier's age become one part. Its samples are added up in blocks "
	  "of a minute, an hour or a day. Programs, processes and call chains stay. The "
	  "time within the block is lost, and so are exact times (*assay daemon --exact-time*). "
	  "From hours on threads and processors are not "
	  "kept apart, of days processes neither. Sums of samples and events, and the "
	  "losses of the recording, stay the same.\n\nEach part is packed. A large part "
	  "also gets *overviews*: its samples once more in blocks of minutes and hours. "
	  "They make reports of long times fast. assay makes only overviews that save "
	  "much reading.\n\nIt can be stopped at any moment, and readers can read "
	  "meanwhile: each sample is there once. The part that is being written is left "
	  "alone: without a daemon, one without an end that was written to in the last "
	  "hour.\n\nIf root runs it, it works with the rights of the owner of the history, "
	  "so that the files stay his." },
	{ NULL },
};

static const struct command_example retain_examples[] = {
	{ "assay retain /var/lib/assay --max-age 400d --max-size 600M",
	  "now, as the daemon does it by itself" },
	{ "assay retain --tier minutes=6h --tier hours=never history",
	  "minutes after six hours, and no hours" },
	{ "assay retain /var/lib/assay --level functions -o blocks",
	  "blocks of ten minutes, as another machine would get them" },
	{ NULL },
};

const struct command retain_command = {
	.name = "retain",
	.summary = "merge and remove old parts of a daemon's history",
	.synopsis = "[OPTIONS] DIR",
	.description =
		"Merges the old parts of a history to minutes, hours and days, and removes parts "
		"beyond an age or a size.",
	.options = OPTIONS(retain_options),
	.sections = retain_sections,
	.examples = retain_examples,
	.run = retain_run,
};
