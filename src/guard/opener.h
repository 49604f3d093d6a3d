/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The opener: a small process that may open what the daemon may not.
 *
 *	daemon (user assay, CAP_PERFMON, CAP_BPF …)  ── request [descriptor] ──►  opener
 *	                                             ◄── reply [descriptor] ────  (CAP_SYS_PTRACE,
 *	                                                                          CAP_DAC_READ_SEARCH)
 *
 * Each request is a datagram of a socketpair (SOCK_SEQPACKET), and so is its reply. A request names
 * a kind of thing (OPENER_KINDS), never only a path: the opener opens nothing but
 *
 *   - facts of a file (O_PATH), which nobody can read by it,
 *   - ELF images that are no core dump,
 *   - perf maps, jitdumps and files of container engines: by the form of their names,
 *   - maps, root, exe and map_files of a process,
 *   - the memory of a process that runs code of libjvm.so, libnode.so, node or nodejs,
 *   - formats and numbers of tracepoints, cgroups, and counters.
 *
 * The opener applies the rules of guard/open.h itself, because a hostile daemon is why it exists.
 * Both sides are of one program, so numbers are in the order of this machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guard/open.h"

#define OPENER_PATH_MAX 4096

/* X(id, descriptor, payload): the descriptor of a request is a root or a folder. */
#define OPENER_KINDS(X)                                                                  \
	X(FACTS, MAY, PATH)       /* any file below a root or here, with O_PATH */       \
	X(IMAGE, MAY, PATH)       /* an ELF file below a root or here */                 \
	X(JIT_MAP, MAY, PATH)     /* "perf-PID.map", also in a folder */                 \
	X(JIT_DUMP, MAY, PATH)    /* "/FOLDER/jit-PID.dump" */                           \
	X(ENGINE_FILE, NO, PATH)  /* names of containers (machine/engine_files.h) */     \
	X(PROC_MAPS, NO, NONE)    /* /proc/PID/maps */                                   \
	X(PROC_ROOT, NO, NONE)    /* /proc/PID/root, with O_PATH */                      \
	X(PROC_EXE, NO, NONE)     /* /proc/PID/exe, an ELF file */                       \
	X(PROC_MAPPING, NO, NONE) /* /proc/PID/map_files/FIRST-LAST, an ELF file */      \
	X(PROC_MEMORY, NO, NONE)  /* /proc/PID/mem, of a Java or JavaScript runtime */   \
	X(TRACEPOINT, NO, PATH)   /* "SYSTEM/NAME/id" or ".../format" of tracefs */      \
	X(CGROUP, MUST, NONE)     /* the cgroup of number FIRST in a mount, by O_PATH */ \
	X(COUNTER, MAY, ATTR)     /* perf_event_open(2); the descriptor: its leader */

enum opener_kind {
#define X(id, descriptor, payload) OPENER_##id,
	OPENER_KINDS(X)
#undef X
		N_OPENER_KINDS
};

/* As it is sent, and then the payload: a path with its NUL, or a struct perf_event_attr. */
struct opener_head {
	uint32_t number; /* of the request; its reply has it, too */
	uint32_t kind;
	int32_t pid, cpu;
	uint64_t first, last;
	uint64_t max_bytes;
	uint32_t owner;
	uint32_t is_link_refused;
};

struct opener_request {
	struct opener_head head;
	size_t size; /* of the payload */
	union {
		char path[OPENER_PATH_MAX];
		uint8_t attr[OPENER_PATH_MAX];
	};
};

struct opener_reply {
	uint32_t number; /* OPENER_NOTICE, or that of the request */
	int32_t result;  /* 0 with a descriptor, or a negative errno */
};

/*
 * Not a reply: an opener started (its process id is the result), or it died (a negative errno).
 * What the opener had received will have no reply.
 */
#define OPENER_NOTICE 0

/*
 * Checks the bytes of a request: kind, sizes, and the form of the name. -EINVAL: it is refused, and
 * *out has no meaning.
 */
int opener_parse(const void *bytes, size_t size, bool has_descriptor, struct opener_request *out);

/* Whether a path has the form of a file that this kind opens. */
bool opener_is_path_of(enum opener_kind kind, const char *path);

/* ---- the opener's process ---- */

/* Serves until the other side closes its end. */
void opener_serve(int socket);

/* Tells the other side of the socket. Only the keeper of an opener (daemon/keeper.h) does this. */
void opener_notice(int socket, int32_t result);

/*
 * Whether a line of /proc/PID/maps is code of a runtime whose frames assay reads from the memory of
 * the process: HotSpot and V8.
 */
bool opener_is_runtime(const char *line);

/* ---- the daemon's process ---- */

/*
 * From now on, guard/ and base/files ask for what the kernel refuses to this process. Takes over
 * the socket. -1: they ask nobody any more. Call it while there is one thread.
 */
void opener_connect(int socket);

/*
 * The process id of the opener, or 0, and how many died. Waits for nothing: while another thread
 * asks, it is the state of before. One thread calls it.
 */
struct opener_state {
	int32_t pid;
	uint32_t n_died;
};
struct opener_state opener_state(void);

/* Whether this process asks an opener. */
bool opener_is_there(void);

/*
 * Asks for a descriptor. `fd` goes along; below 0: none. -ENOTCONN: there is no opener. -ETIMEDOUT:
 * the opener did not answer for two seconds, because the file system of a file does not. Until it
 * answers, further requests are refused at once (-EBUSY). -ECONNRESET: the opener died; the next
 * request may succeed. Any thread may call it.
 */
int opener_ask(const struct opener_request *request, int fd);

/* The requests of guard/open.c. Each returns `error` if the opener doesn't open it. */
int opener_open(int root, const char *path, const struct guard_rules *rules, int error);
int opener_facts(int root, const char *path, int error);
int opener_link(const char *link, const struct guard_rules *rules, int error);
int opener_root(const char *folder, int error);
int opener_memory(const char *path, int error);
int opener_cgroup(int mount, uint64_t number, int error);
