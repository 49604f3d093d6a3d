/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A new SQLite file, before anybody reads it. It needs no journal: a partial file is removed.
 * All of it is one transaction, which sqlite_file_end() commits.
 */
#pragma once

#include <sqlite3.h>

struct error;

struct sqlite_file {
	sqlite3 *db;
	int *code; /* negative errno of the first failure, with its text in *err; 0 as long as
		      there is none. The owner's. */
	struct error *err;
};

/* Makes the file and begins the transaction. Returns 0 or *f->code. */
int sqlite_file_begin(struct sqlite_file *f, const char *path);

/* Runs statements that give no rows. */
int sqlite_file_run(struct sqlite_file *f, const char *sql);

/* Keeps the failure of a call that returned `r`. A full disk is reported as the full disk. */
int sqlite_file_fail(struct sqlite_file *f, int r);

/* Commits if nothing has failed, and closes. All statements must be finalized. */
int sqlite_file_end(struct sqlite_file *f);
