/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a machine: its processes and threads. Inside machine/. */
#pragma once

#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "guard/budget.h"
#include "machine/address_space.h"
#include "machine/machine.h"

/*
 * The name of a thread. A program can give its threads any number of names, so a name takes memory
 * for good only when a sample has it.
 */
#define TASK_NAME_BYTES 16 /* TASK_COMM_LEN of Linux. A recording may have longer ones */

struct task_name {
	char text[TASK_NAME_BYTES];
	string_id id;
	bool is_interned;
};

struct process {
	int32_t pid, parent; /* parent: its pid when it forked; 0: not known */
	uint32_t n_threads;
	struct address_space space;
	struct address_space data; /* all mappings since there were some of data */
	uint64_t space_number;     /* of the present space */
	image_id app;
	image_id jit;  /* id 0: none yet */
	uint32_t dump; /* in dumps; NO_DUMP: no compiler named its dump */
	struct task_name name;
	struct guard_share mappings; /* of a process with many of them */
	string_id cgroup;            /* its parent's, until its own is looked up */
	bool is_used, has_ended, has_app, has_own_cgroup;
	bool is_bare;      /* it executed a program, of which nothing is mapped yet */
	bool is_looked_up; /* an event or /proc named it, or /proc was asked */
	bool is_lost;      /* and nothing was known */
	uint64_t ended_ns;
};

/* The slot of an unknown process, offline. */
#define NOBODY 0

struct thread {
	int32_t tid;
	uint32_t process;
	struct task_name name;
	bool is_used, has_ended;
};

/*
 * A thread that is kept for late samples: after its exit event, a thread still runs while the
 * kernel takes it apart.
 */
struct ended_thread {
	int32_t tid;
	uint64_t ended_ns;
};

/*
 * Threads of samples, which mostly come again and again, by tid. An event makes those of its
 * process and of its thread's number unknown.
 */
#define KNOWN_THREADS 64

struct known_thread {
	int32_t pid, tid;
	uint64_t version; /* 0: nothing is known */
	struct thread_view view;
};

/* A jitdump. Processes share their parent's. */
struct machine_dump {
	struct jit_code *code; /* NULL: forgotten */
	image_id image;        /* code that was found in it */
	image_id unread;       /* code that waits until it is read */
	image_id other;        /* code that is not in it */
	uint32_t n_users;      /* processes */
	bool is_ended;         /* its process wrote its last records while the reader was away */
	bool is_late;          /* the reader is away for too long: nothing waits for it */
};

/* The place of no dump. */
#define NO_DUMP 0

/* A guest whose kernel a sample was in. */
struct guest_of_process {
	int32_t pid;
	image_id kernel;
	struct guest_modules *own_modules;   /* NULL: the list for all guests is its */
	const struct guest_modules *modules; /* NULL: not known, as there were too many */
	const struct guest_module *module;   /* of the last sample in a module; NULL: none */
	image_id module_image;
};

struct machine {
	bool is_offline, has_other_clock;
	bool has_untimed_code;
	bool has_guest_code;
	struct guest_files guest_files; /* copies */
	VEC(struct guest_of_process) guests;
	struct intmap by_guest;              /* its process here to index in `guests` */
	struct guest_modules *guest_modules; /* of the list for all guests */
	size_t guest_list_bytes;             /* of lists of single guests */
	bool has_data;                       /* offline: mappings of data come */
	char *proc;
	struct image_table *images;
	struct strings strings;
	struct kernel_map *kernel;
	struct cgroups *cgroups;
	bool trusts_parents;
	struct build_id vdso_build_id;

	/* Slots are reused; the maps name the living (and just ended) processes. */
	VEC(struct process) processes;
	VEC(struct thread) threads;
	VEC(uint32_t) free_processes;
	VEC(uint32_t) free_threads;
	VEC(struct ended_thread) ended_threads; /* no leaders: these go with their process */
	struct intmap by_pid, by_tid;
	struct known_thread known[KNOWN_THREADS];
	uint64_t versions[KNOWN_THREADS]; /* by pid: of what is known of such processes */
	uint32_t n_ended;
	uint64_t last_space_number;
	struct guard_budget mapping_budget;
	struct intmap file_bytes; /* of images, by the user whose processes mapped them first */
	uint64_t all_file_bytes;
	struct machine_refusals refused;
	VEC(struct machine_dump) dumps;
	VEC(uint32_t) dropped;   /* dumps without processes, until their names are visited */
	struct intmap by_unread; /* dumps, by that image */
	struct guard_pool *dump_pool;
	struct machine_dump_reader dump_reader;
	uint32_t n_protected;
	string_id protected_comm; /* of the first */
};

/* The slot of a process or thread. A new one is added. */
uint32_t machine_get_process(struct machine *m, int32_t pid);
struct thread *machine_get_thread(struct machine *m, int32_t tid, uint32_t process,
				  struct task_name name);

/* What samples have is no longer known: of a process and a thread, or of all. */
static inline void machine_unknow(struct machine *m, int32_t pid, int32_t tid)
{
	m->versions[(uint32_t)pid % KNOWN_THREADS]++;
	m->known[(uint32_t)tid % KNOWN_THREADS].version = 0;
}

static inline void machine_unknow_all(struct machine *m)
{
	memset(m->known, 0, sizeof(m->known));
}

struct task_name task_name_new(struct machine *m, const char *text);
string_id task_name_id(struct machine *m, struct task_name *name);

/* NULL: no such process. */
static inline struct process *machine_find_process(struct machine *m, int32_t pid)
{
	uint32_t *at = intmap_find(&m->by_pid, (uint32_t)pid);

	return at ? &m->processes.data[*at] : NULL;
}

/* How many ended parents to pass in the search for a live one. */
#define MAX_PARENTS 8

/* The path in /proc of the process or, if it has gone, of its nearest live parent. Asked once. */
string_id machine_process_cgroup(struct machine *m, struct process *p, int depth);

/* ---- jitdumps: machine_dumps.c ---- */

void machine_dumps_init(struct machine *m);
void machine_dumps_fini(struct machine *m);

/* A compiler maps its dump so that tools find it. */
void machine_open_dump(struct machine *m, struct process *p, const char *path);

/* Frees the copies of names of guests' files. */
void machine_forget_guest_files(struct machine *m);

/* The process has it no longer. If nobody else has it, it is kept until its names are visited. */
void machine_drop_dump(struct machine *m, struct process *p);

/* The same for a process that is forgotten, whose names were visited. */
void machine_forget_process_dump(struct machine *m, struct process *p);

/* The process has ended: has its last records read. */
void machine_end_dump(struct machine *m, const struct process *p);

/* Whether samples wait for the dump of the process. */
bool machine_awaits_dump(const struct machine *m, const struct process *p);

/*
 * The code at an address, as machine_resolve(): in the dump of the process, or not known yet.
 * False: it is in no dump. `other`: its image then.
 */
bool machine_find_dumped(struct machine *m, const struct process *p, image_id other, uint64_t addr,
			 uint64_t time_ns, struct code_addr *out);
