/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters of system calls (seccomp): the process says which calls it makes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <seccomp.h> /* SCMP_SYS() for rows */

struct error;

/* A system call that is permitted, or fails with an errno of its own. */
struct filter_row {
	int call;  /* SCMP_SYS(name); a call that this architecture does not have is left out */
	int error; /* 0: permitted */
	/* Only if (argument & mask) == value; mask 0: always. */
	unsigned int argument;
	uint64_t mask, value;
	/* And the same of another argument. */
	unsigned int argument_2;
	uint64_t mask_2, value_2;
};

#define FILTER_ALLOW(name)             \
	{                              \
		.call = SCMP_SYS(name) \
	}

struct filter_table {
	const struct filter_row *rows;
	size_t n;
};

#define FILTER_TABLE(rows) ((struct filter_table){ rows, ARRAY_SIZE(rows) })

/* Computing, memory that is neither executable nor shared, threads, signals, clocks, and files that
 * are open. */
extern const struct filter_table filter_basic;

/* Signals to threads of any process that the user may send them to, and owners of files (fcntl). */
extern const struct filter_table filter_signals;

/*
 * From now on, this process and its children have the calls of the tables only. Others fail with
 * EPERM. There must be one thread, with no_new_privs. `whose` is for the message.
 */
int filter_enter(const struct filter_table *tables, size_t n, const char *whose, struct error *err);
