/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors for people.
 *
 * A function that can fail takes a `struct error *` as its last parameter and returns a negative
 * errno. The innermost function names the attempt, its object, the reason and, if known, the
 * remedy. Callers add their context with error_wrap(). Only commands/, daemon/ and oprofile/tools/
 * print. `err` may be NULL if the caller only needs the code.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct error {
	int code; /* negative errno; 0 while nothing went wrong */
	char text[768];
};

/* Both return `code`, so that `return error_set(err, -EINVAL, ...)` reads well. */
int error_set(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " in front of the text that is there already. */
int error_wrap(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Puts ": " and the text of errno value -code behind the message. EMFILE has the limit and its
 * remedy.
 */
int error_errno(struct error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* "the limit of 12 open files is reached; …", with the remedy for this process. */
void error_files_limit(char *text, size_t size);
