/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OProfile's interface for compilers that make code at run time. A compiler names its code by it,
 * and assay then reports samples in the code by these names and lines.
 *
 * The library (libopagent.so.1) writes a jitdump: jit-PID.dump in $JITDUMPDIR, $TMPDIR or /tmp, and
 * maps it, which is how profilers find it. All agents of a process share one dump. A child that
 * fork(2) made gets one of its own with its first call.
 *
 * Functions return 0, or -1 and errno. Threads may call them at the same time; signal handlers may
 * not.
 */
#ifndef OPAGENT_H
#define OPAGENT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void *op_agent_t;

/* From address `vma` on, code is of this line. */
struct debug_line_info {
	unsigned long vma;
	unsigned int lineno;
	const char *filename;
};

/* Begins. NULL and errno: the dump cannot be made. */
op_agent_t op_open_agent(void);

/* Ends. The names stay in the dump. */
int op_close_agent(op_agent_t agent);

/*
 * `size` bytes of code run at the address `vma`. `code`: the bytes, if they may be read now, or
 * NULL. Code that was at the address before is replaced.
 */
int op_write_native_code(op_agent_t agent, const char *name, uint64_t vma, const void *code,
			 unsigned int size);

/*
 * Lines of code that was written before, by its bytes or its address. ENOENT: there is no such
 * code.
 */
int op_write_debug_line_info(op_agent_t agent, const void *code, size_t n,
			     const struct debug_line_info *lines);

/* The code at `vma` is gone. ENOENT: there was none. */
int op_unload_native_code(op_agent_t agent, uint64_t vma);

/* The version of this interface: 1.0. */
int op_major_version(void);
int op_minor_version(void);

#ifdef __cplusplus
}
#endif

#endif
