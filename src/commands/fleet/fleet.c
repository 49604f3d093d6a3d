/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet: looks after a fleet. Its words are in fleet_words.def. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time_window.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/clickhouse.h"
#include "fleet/fleet_store.h"
#include "open/input.h"
#include "profile/query.h"

#define FIELD(f) offsetof(struct fleet_args, f)
static const struct option_spec fleet_options[] = {
	{ 0, "format", "FORMAT", OPT_CHOICE, FIELD(format), "text", "text or json",
	  .choices = "text|json" },
	{ 'i', "input", "FLEET", OPT_STRING, FIELD(input), NULL,
	  "the fleet, instead of the first operand",
	  "Lists of hosts, blocks and regressions take a fleet in ClickHouse, too: "
	  "*clickhouse:URL,…*" },
	{ 0, "since", "TIME", OPT_STRING, FIELD(since), NULL,
	  "with blocks, rate and regressions: from this time on; see TIMES of assay-report(1)" },
	{ 0, "until", "TIME", OPT_STRING, FIELD(until), NULL,
	  "with blocks, rate and regressions: before this time" },
	{ 'n', "limit", "N", OPT_U64, FIELD(limit), "1000",
	  "with blocks: the N newest; with regressions: the N largest", NULL, 1, 1e6 },
	{ 0, "clickhouse", "URL,…", OPT_STRING, FIELD(clickhouse), NULL,
	  "ClickHouse's servers: http://HOST:PORT/DATABASE",
	  "Several are shards, and their order is part of the fleet. Of replicas, name one." },
	{ 0, "login", "FILE", OPT_STRING, FIELD(login), NULL,
	  "a file with a line USER:PASSWORD for ClickHouse",
	  "Others must not be able to read it (mode 600)." },
	{ 0, "replicated", "PATH", OPT_STRING, FIELD(replicated), NULL,
	  "with init: replicated tables, below PATH in ZooKeeper or Keeper",
	  "Each server needs the macro *{replica}*. Run *init* once for each replica." },
	{ 0, "users", "DIR", OPT_STRING, FIELD(users), NULL,
	  "with init: write files for two users of ClickHouse, and change nothing",
	  "DIR is made. It gets *write.login* and *read.login* for --login, with new passwords. Of "
	  "18.16, it gets *users.xml* for the folder users.d of each server; of newer servers, "
	  "*users.sql*." },
	{ 0, "print", NULL, OPT_FLAG, FIELD(print), NULL,
	  "with init: print the SQL, and change nothing" },
	{ 0, "follow", NULL, OPT_FLAG, FIELD(follow), NULL,
	  "with adopt, load, merge and rate --target-samples: go on until a signal comes (assay "
	  "serve runs them)",
	  "If a server is away, the next round comes after up to 1 s, 2 s, 4 s … 10 min." },
	{ 0, "interval", "TIME", OPT_SECONDS, FIELD(interval_s), "60s",
	  "with --follow: look for new blocks, or for old ones, or set rates, so often", NULL, 0.1,
	  86400 },
	{ 0, "push-size", "SIZE", OPT_SIZE, FIELD(push_bytes), NULL,
	  "with adopt: remove the oldest profiles until the history is no larger",
	  "Those that are in the fleet go first." },
	{ 0, "target-samples", "N", OPT_U64, FIELD(target_samples), "0",
	  "with rate: ask the hosts of each SERVICE for the rate that gives it N samples an hour",
	  "Counts the samples of the last hour, or between *--since* and *--until*. N is of all "
	  "hosts together. A host with several of the services gets the highest rate of them.",
	  0, 1e12 },
	{ 0, "certificate", NULL, OPT_FLAG, FIELD(certificate), NULL,
	  "with enroll: the host has a client certificate of its name, and no token" },
};

static const struct {
	const char *name;
	fleet_word_run *run;
} fleet_runs[] = {
#define FLEET_WORD(name, arguments, help) { #name, fleet_##name##_run },
#include "commands/fleet/fleet_words.def"
#undef FLEET_WORD
};

int fleet_args_window(const struct fleet_args *args, struct time_window *out, struct error *err)
{
	const struct window_args window = { .since = args->since, .until = args->until };
	struct query q = { .window = TIME_WINDOW_ALL };
	int r = input_window(&window, &q, err);

	*out = q.window;
	return r;
}

bool fleet_args_want_json(const struct fleet_args *args)
{
	return !strcmp(args->format, "json");
}

int fleet_operand(const struct option_list *operands, const char **fleet, struct error *err)
{
	if (!operands->n)
		return error_set(err, -EINVAL,
				 "name the directory of the fleet, as in 'assay fleet hosts "
				 "/srv/fleet'; audit, blocks, hosts and regressions also take it "
				 "from ASSAY_FLEET");
	*fleet = operands->data[0];
	return fleet_require(*fleet, err);
}

int fleet_place(const struct option_list *operands, const char **place, struct error *err)
{
	if (!operands->n || !input_is_clickhouse(operands->data[0]))
		return fleet_operand(operands, place, err);
	*place = operands->data[0];
	return 0;
}

int fleet_open_servers(const struct fleet_args *args, const char *place, struct clickhouse **out,
		       struct error *err)
{
	const struct clickhouse_options options = {
		.urls = strchr(place, ':') + 1,
		.login = args->login ? args->login : getenv("ASSAY_CLICKHOUSE_LOGIN"),
	};

	return clickhouse_open(&options, out, err);
}

int fleet_host_filters(const struct option_list *operands, struct query *q, struct error *err)
{
	int r = 0;

	for (size_t i = 1; i < operands->n && r >= 0; i++)
		r = query_add(q, operands->data[i], err);
	for (int tag = 0; tag < N_FILTERS && r >= 0; tag++)
		if (tag != FILTER_HOST && query_has(q, (enum filter_tag)tag))
			r = error_set(err, -EINVAL, "only the filter host: chooses hosts");
	return r < 0 ? r : 0;
}

/* Whether a word changes nothing. */
static bool only_reads(const char *word)
{
	static const char *const words[] = { "audit", "blocks", "hosts", "regressions" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i], word))
			return true;
	return false;
}

/*
 * The operands behind the word; --input stands for the first one. A command that changes a fleet
 * must name it.
 */
static void list_operands(const struct fleet_args *args, const struct option_list *words,
			  struct option_list *operands)
{
	const char *usual = getenv("ASSAY_FLEET");

	if (args->input)
		vec_push(operands, args->input);
	else if (words->n == 1 && usual && *usual && only_reads(words->data[0]))
		vec_push(operands, usual);
	for (size_t i = 1; i < words->n; i++)
		vec_push(operands, words->data[i]);
}

static fleet_word_run *find_word(const struct option_list *words, struct error *err)
{
	for (size_t i = 0; words->n && i < ARRAY_SIZE(fleet_runs); i++)
		if (!strcmp(fleet_runs[i].name, words->data[0]))
			return fleet_runs[i].run;
	if (!words->n)
		error_set(err, -EINVAL,
			  "say what to do, as in 'assay fleet hosts FLEET'; 'assay fleet "
			  "--help' lists all");
	else
		error_set(err, -EINVAL,
			  "there is no 'assay fleet %s'; 'assay fleet --help' lists all",
			  words->data[0]);
	return NULL;
}

static int fleet_run(const struct command *self, int argc, char **argv)
{
	struct fleet_args args = { 0 };
	struct option_list words = { 0 }, operands = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &words);

	if (status < 0) {
		fleet_word_run *run = find_word(&words, &err);

		list_operands(&args, &words, &operands);
		status = run ? run(&args, &operands, &err) : -EINVAL;
		if (status < 0) {
			log_error("fleet: %s", err.text);
			status = status == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
		}
	}
	option_list_fini(&words);
	option_list_fini(&operands);
	return status;
}

static const struct command_word fleet_words[] = {
#define FLEET_WORD(name, arguments, help) { #name, arguments, help },
#include "commands/fleet/fleet_words.def"
#undef FLEET_WORD
	{ NULL, NULL, NULL },
};

static const struct command_section fleet_sections[] = {
	{ "AUDIT",
	  "*.keys* has a line for each block that came, with its samples, its losses and a hash of "
	  "its bytes. The audit reads the blocks again, and compares. It compares blocks that were "
	  "merged by their sum, and names blocks that are older than all that is there as "
	  "removed." },
	{ "CLICKHOUSE", "For many hosts, ClickHouse answers questions faster than the directory. "
			"*init* makes its "
			"tables. *load* stores blocks in it, each exactly once, and removes days "
			"that are older than "
			"each table keeps them. *rebuild* drops a day and stores it again, if the "
			"directory has all of its samples. "
			"docs/fleet.md has the tables." },
	{ "REGRESSIONS",
	  "Each host is compared with itself: a service before and after the first sample of a new "
	  "build of a file. Equal changes of several hosts add up (Cochran-Mantel-Haenszel test). "
	  "A function is listed if chance would list any function less than once in a hundred "
	  "times. Its share must have grown by half a point or more, on more than half of the "
	  "hosts. Other causes, such as another load, count as well." },
	{ "HOSTS",
	  "*enroll* prints a token of 256 bits. The fleet keeps its hash alone, in *.tokens*. A "
	  "token is for one host, and *enroll* again makes another one. *forget* removes the "
	  "blocks "
	  "of a host, and its token. *.log* has a line for each use of *enroll*, *forget*, "
	  "*invite*, "
	  "*rate* and *rebuild*." },
	{ "ENVIRONMENT", "*ASSAY_FLEET*: the directory of the fleet for *audit*, *blocks*, *hosts* "
			 "and *regressions* without another word." },
	{ "EXIT STATUS", "0. 1 if the fleet can't be read, or if the audit finds a difference. 2 "
			 "for wrong usage." },
	{ NULL, NULL },
};

static const struct command_example fleet_examples[] = {
	{ "assay fleet hosts /srv/fleet", "each host, and its last block" },
	{ "assay fleet blocks /srv/fleet host:web1 --since -1h",
	  "the blocks of a host in the last hour" },
	{ "assay fleet regressions /srv/fleet service:nginx",
	  "functions of nginx that grew after new builds of this week" },
	{ "assay fleet audit /srv/fleet", "whether each sample that came is there once" },
	{ "assay fleet init --clickhouse http://ch1:8123/fleet,http://ch2:8123/fleet",
	  "the tables of two shards" },
	{ "assay fleet load --clickhouse http://ch1:8123/fleet,http://ch2:8123/fleet /srv/fleet",
	  "all blocks that are not there yet" },
	{ "umask 077; assay fleet enroll /srv/fleet web1 >token", "web1 may send to the gateway" },
	{ "assay fleet forget /srv/fleet web1", "web1 is gone, with its samples" },
	{ NULL, NULL },
};

const struct command fleet_command = {
	.name = "fleet",
	.summary = "look after a fleet: its hosts and its blocks",
	.synopsis = "WHAT [ARGUMENT…]",
	.description = "Works on the directory of a fleet, to which *assay ship* sends.",
	.options = OPTIONS(fleet_options),
	.words = fleet_words,
	.sections = fleet_sections,
	.examples = fleet_examples,
	.run = fleet_run,
};
