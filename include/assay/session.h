/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions: opening them, and information about them. */
#ifndef ASSAY_SESSION_H
#define ASSAY_SESSION_H

#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_config;  /* how sessions are opened */
struct assay_session; /* a recording that is open */

/* A config with the defaults of the command line. */
struct assay_config *assay_config_new(void);
void assay_config_free(struct assay_config *config);

/*
 * Sets an option by its name, and copies `value`. A switch is on with "" or "1", and off with "0".
 * -EINVAL: there is no such option. The message lists all names, as assay_config_name() does.
 *
 *     itrace, filter, no-itrace, vmlinux, symfs, container-names, no-demangle, since, until
 *                        as the options of assay-report(1)
 *     symbol-cache       a folder for indexes of symbols; "" keeps none
 *     guard-cut-files    a switch: large files are mapped instead of copied into memory. Installs a
 *                        handler for SIGBUS, for the whole process and for good: bytes that
 *                        somebody cuts from a mapped file read as zeros
 */
int assay_config_set(struct assay_config *config, const char *name, const char *value,
		     struct assay_error *error);
const char *assay_config_name(size_t index); /* of an option; NULL: there are no more */

/*
 * Opens a session of assay or the directory of its daemon. A file of perf record, perf script or
 * another tool becomes a temporary session, which assay_close() removes. `config` may be NULL, and
 * may be freed afterwards.
 *
 * Damage is no failure: assay_session_is_damaged() and the warnings report it.
 */
int assay_open(const char *path, const struct assay_config *config, struct assay_session **out,
	       struct assay_error *error);
void assay_close(struct assay_session *session);

const char *assay_session_path(const struct assay_session *session);
int assay_session_is_damaged(const struct assay_session *session); /* 1: a part is missing */

/* Sentences about the input, for example about damage. */
size_t assay_session_warnings(const struct assay_session *session);
const char *assay_session_warning(const struct assay_session *session, size_t index);

/*
 * A fact by its name: version, command, target, hostname, os_release, arch, cpu_model, collector,
 * stacks, note. "" where it is not known, NULL where there is no such name.
 */
const char *assay_session_text(const struct assay_session *session, const char *name);

uint64_t assay_session_start_ns(const struct assay_session *session);    /* since 1970 */
uint64_t assay_session_duration_ns(const struct assay_session *session); /* first to last sample */
uint64_t assay_session_samples(const struct assay_session *session);     /* of all events */

/* The events that were recorded. */
size_t assay_events(const struct assay_session *session);
const char *assay_event_name(const struct assay_session *session, size_t event);
const char *assay_event_unit(const struct assay_session *session,
			     size_t event); /* "ns", "events" */

#ifdef __cplusplus
}
#endif
#endif
