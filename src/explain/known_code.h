/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that are known by their names: allocators, copies, locks, interpreters, functions that
 * wait, and the kernel's functions for faults and processes. The table is in known_code.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of a function that runs. */
enum known_code {
	KNOWN_NONE,
	/* programs and libraries */
	KNOWN_ALLOCATOR,
	KNOWN_COLLECTOR,   /* of garbage */
	KNOWN_COPY,        /* memory */
	KNOWN_ZERO,        /* memory */
	KNOWN_LOCK,        /* taking one */
	KNOWN_INTERPRETER, /* the loop over the instructions of a language */
	KNOWN_LINKER,      /* of the start of a program */
	/* the kernel */
	KNOWN_FAULT,
	KNOWN_KERNEL_COPY, /* between the kernel and a program */
	KNOWN_CLEAR,       /* pages */
	KNOWN_SPIN,        /* on a lock of the kernel */
	KNOWN_PROCESS,     /* begin and end of processes */
	KNOWN_SYSCALL,     /* the entry of one */
	N_KNOWN_CODES
};

/* The object of a wait. */
enum known_wait {
	WAIT_OTHER,
	WAIT_LOCK,
	WAIT_CONDITION,
	WAIT_TIMER,
	WAIT_CHILD,
	WAIT_IO,
	WAIT_SERVER,      /* of a network file system */
	WAIT_PEER,        /* another process, by a pipe or a socket */
	WAIT_KERNEL_LOCK, /* in the kernel */
	WAIT_MEMORY,      /* that is free */
	WAIT_CPU,
	N_KNOWN_WAITS
};

/*
 * By the name, with or without parameters and the parts that compilers append (".part.0"). The
 * kernel's functions and those of programs are two lists.
 */
enum known_code known_code_of(const char *function, bool is_kernel);

/* A function of programs that waits. Sets `*words`: "row locks". WAIT_OTHER: it is not known. */
enum known_wait known_wait_of(const char *function, const char **words);

/* "read" of "__x64_sys_read"; NULL: the function is not the entry of a system call. */
const char *known_syscall(const char *function);
