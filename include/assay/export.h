/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles in the formats of other tools. */
#ifndef ASSAY_EXPORT_H
#define ASSAY_EXPORT_H

#include <stddef.h>

#include <assay/rows.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The name of a format of assay_export(), and a help text that names the programs which read it.
 * NULL: there are no more.
 */
const char *assay_export_format(size_t index);
const char *assay_export_help(size_t index);

/*
 * Writes the samples that the query takes (NULL: all) to a file, in a format of
 * assay_export_format(). The keys of the query do not count. A file of this name is replaced when
 * the new one is complete, and is unchanged after a failure. -ENODATA: the query takes no sample.
 */
int assay_export(struct assay_session *session, const struct assay_query *query, const char *format,
		 const char *path, struct assay_error *error);

#ifdef __cplusplus
}
#endif
#endif
