/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/database/sqlite_file.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

int sqlite_file_fail(struct sqlite_file *f, int r)
{
	int code = (r & 0xff) == SQLITE_FULL ? -ENOSPC : -EIO;

	if (*f->code < 0)
		return *f->code;
	if ((r & 0xff) == SQLITE_IOERR && f->db && sqlite3_system_errno(f->db))
		code = -sqlite3_system_errno(f->db);
	else if (r == SQLITE_NOMEM)
		code = -ENOMEM;
	*f->code = code;
	if (code == -EIO)
		return error_set(f->err, code, "SQLite: %s",
				 f->db ? sqlite3_errmsg(f->db) : sqlite3_errstr(r));
	return error_set(f->err, code, "%s", strerror(-code));
}

int sqlite_file_run(struct sqlite_file *f, const char *sql)
{
	int r = sqlite3_exec(f->db, sql, NULL, NULL, NULL);

	return r == SQLITE_OK ? 0 : sqlite_file_fail(f, r);
}

int sqlite_file_begin(struct sqlite_file *f, const char *path)
{
	int r = sqlite3_open_v2(path, &f->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

	if (r != SQLITE_OK)
		return sqlite_file_fail(f,
					(r & 0xff) == SQLITE_CANTOPEN && sqlite3_system_errno(f->db)
						? SQLITE_IOERR
						: r);
	return sqlite_file_run(
		f, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-65536;"
		   "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; BEGIN");
}

int sqlite_file_end(struct sqlite_file *f)
{
	if (*f->code >= 0)
		sqlite_file_run(f, "COMMIT");
	sqlite3_close(f->db);
	f->db = NULL;
	return *f->code;
}
