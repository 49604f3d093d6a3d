/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages beside the result, on stderr, prefixed "assay: ", or with the program's name.
 *
 * Only commands/, daemon/ and web/ print; libraries return errors and counts.
 * Level and name are process-wide.
 */
#pragma once

enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE, LOG_DEBUG };

void log_set_level(enum log_level level);
void log_set_program(const char *name); /* outlives all messages */

/*
 * Appends everything that goes to stderr to this file instead, with the time in front of messages.
 * Call it again after log rotation: it opens the file again. Returns 0 or a negative errno; on
 * failure nothing changes.
 */
int log_to_file(const char *path);

void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));   /* always */
void log_warning(const char *format, ...) __attribute__((format(printf, 1, 2))); /* >= NORMAL */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));    /* >= NORMAL */
/*
 * A text that the next one replaces, on a terminal; NULL removes it. Nothing if stderr is no
 * terminal.
 */
void log_progress(const char *text);
void log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2))); /* >= VERBOSE */
