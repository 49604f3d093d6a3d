/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of `assay fleet` (fleet_words.def), each in its own file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"

struct error;
struct query;

struct fleet_args {
	const char *format;        /* "text" or "json" */
	const char *input;         /* the fleet, instead of the first operand; NULL: not given */
	const char *since, *until; /* of blocks, rate, regressions: as of window_args; NULL: open */
	uint64_t limit;            /* of blocks and regressions: at most so many */
	const char *clickhouse;    /* URL,URL…; NULL: not given */
	const char *login;         /* a file with USER:PASSWORD, or NULL */
	const char *replicated;    /* the path in ZooKeeper or Keeper, or NULL */
	const char *users;         /* a folder for files of ClickHouse's users, or NULL */
	bool follow;               /* of load: go on until a signal comes */
	double interval_s;         /* with follow: seconds between two rounds */
	bool print;                /* SQL instead of changes */
	uint64_t push_bytes;       /* of adopt: of the history; 0: no limit */
	uint64_t target_samples;   /* of rate: samples of a service in an hour; 0: not given */
	bool certificate;          /* of enroll: the host has a certificate, and no token */
};

/*
 * A word. `operands` are those behind the word. Returns an exit status, or a negative errno with
 * *err: -EINVAL is a wrong command line.
 */
typedef int fleet_word_run(const struct fleet_args *args, const struct option_list *operands,
			   struct error *err);

#define FLEET_WORD(name, arguments, help) fleet_word_run fleet_##name##_run;
#include "commands/fleet/fleet_words.def"
#undef FLEET_WORD

/* The audit with --clickhouse, of these hosts. Prints. Returns as a word. */
struct history_names;
int fleet_audit_clickhouse(const struct fleet_args *args, const char *fleet,
			   const struct history_names *hosts, struct error *err);

/* Writes the files of `init --users`. */
struct clickhouse;
int fleet_write_users(const char *dir, const struct clickhouse *ch, struct error *err);

/*
 * Drops a day in ClickHouse, and stores it again from the directory. Returns as a word. -EBUSY:
 * another process loads the fleet. -EBADMSG: the day stays, or ClickHouse would lose samples. With
 * `takes_broken`, a day that ClickHouse can't read is made from the directory alone.
 */
int fleet_rebuild_day(struct clickhouse *ch, const char *fleet, uint64_t day_s, bool takes_broken,
		      struct error *err);

/* Whether --format asks for JSON. */
bool fleet_args_want_json(const struct fleet_args *args);

/* Sets *fleet to the only operand that must be there, a fleet's directory. */
int fleet_operand(const struct option_list *operands, const char **fleet, struct error *err);

/* The window of --since and --until; open ends where they are not given. -EINVAL: it ends before it
 * begins. */
struct time_window;
int fleet_args_window(const struct fleet_args *args, struct time_window *out, struct error *err);

/* As fleet_operand(), but it may be a fleet in ClickHouse: "clickhouse:URL,…". */
int fleet_place(const struct option_list *operands, const char **place, struct error *err);

/* Opens the servers of such a place, with the login of the arguments or the environment. */
struct clickhouse;
int fleet_open_servers(const struct fleet_args *args, const char *place, struct clickhouse **out,
		       struct error *err);

/*
 * Reads the operands behind the fleet's directory into *q, which the caller initialized and ends by
 * query_fini(). -EINVAL: one of them is no filter host:.
 */
int fleet_host_filters(const struct option_list *operands, struct query *q, struct error *err);
