/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libassay: reads what assay, perf and other profilers recorded. See assay(3).
 *
 *     struct assay_error error;
 *     struct assay_session *session;
 *     struct assay_rows *rows;
 *
 *     if (assay_open("assay.data", NULL, &session, &error) < 0)
 *             errx(1, "%s", error.text);
 *     if (assay_rows(session, NULL, &rows, &error) < 0)
 *             errx(1, "%s", error.text);
 *     for (size_t i = 0; i < assay_rows_count(rows); i++)
 *             printf("%s\n", assay_row_text(rows, i, "symbol"));
 *     assay_rows_free(rows);
 *     assay_close(session);
 *
 * Errors: a function that can fail returns a negative errno and describes the failure in *error,
 * which may be NULL. On failure *out is NULL. The library never prints and never exits.
 *
 * Memory: if there is not enough for a file or for an answer, the function returns -ENOMEM. For
 * this, an open session holds 64 MB of address space in reserve, which take no memory. Only small
 * fixed allocations, such as that of assay_query_new(), may end the process (see assay(3)).
 *
 * Ownership: every object that a function gives through *out has a function that frees it; NULL is
 * fine there. Texts belong to the object that gave them and live as long as the object does,
 * unless their function says otherwise. Rows keep their session alive: you may close it first.
 *
 * NULL: all functions take NULL in place of an object. Functions with an error return -EINVAL;
 * others return 0, NULL or "". An index that is too large counts as NULL. An object that was
 * freed must not be used.
 *
 * Threads: an object belongs to one thread at a time, with the session and the rows that come from
 * it. Different sessions may be used in different threads.
 *
 * Signals: the library installs no handler, unless you set "guard-cut-files" (assay_config_set()).
 *
 * Units: times are nanoseconds; numbers of samples and of events are counts. An event of a clock is
 * a nanosecond.
 */
#ifndef ASSAY_ASSAY_H
#define ASSAY_ASSAY_H

#include <assay/error.h>
#include <assay/export.h>
#include <assay/rows.h>
#include <assay/samples.h>
#include <assay/session.h>

#endif
