/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine: processes, threads, address spaces, the kernel. An absolute PC becomes (image,
 * offset) here and nowhere else.
 *
 * Events come in the order of time; a resolution is valid for that moment. Not thread-safe; one
 * pipeline owns it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/strings.h"
#include "event/event.h"
#include "event/loss.h"
#include "guard/limits.h"
#include "machine/guest_modules.h"
#include "machine/image.h"

struct mapping;

struct machine;

struct machine_config {
	const char *proc; /* NULL: "/proc" */
	const char *sys;  /* NULL: "/sys" */
	/*
	 * Events of another machine or another time: nothing is read on this machine. The events
	 * alone describe processes, the kernel and its modules (MAPPING events with is_kernel).
	 */
	bool is_offline;
	bool has_other_clock; /* offline: times are not CLOCK_MONOTONIC, unlike those of jitdumps */
	const char *release;  /* offline: the kernel's uname -r; NULL or "": not known */
};

struct machine *machine_new(const struct machine_config *config);
void machine_free(struct machine *m);
DEFINE_AT_EXIT(machine_free, struct machine)

/* Facts of guests that no record has. */
struct machine_guests {
	/* A process that runs a guest has the guest's user code, at the same addresses. */
	bool has_code;
	/* Lists of their modules, which then have images of their own. Copied. */
	struct guest_files files;
};

/* Before the first sample; the last call counts. */
void machine_set_guests(struct machine *m, const struct machine_guests *guests);

struct image_table *machine_images(struct machine *m);
struct strings *machine_strings(struct machine *m); /* comms */

/*
 * Limits of a machine that lives (guard/limits.h): a process with more than MAPPINGS_FREE
 * executable mappings counts in its user's share. Names of files that processes of a user mapped
 * first take FILES_USER_BYTES at most, and those of all users FILES_BYTES. Later files have no
 * names of their own.
 */

/* The name of the image of such files. */
#define NAME_TOO_MANY_FILES "[one of too many files]"

/*
 * Refused since the last call: mappings, files without a name of their own, dumps by reason
 * (machine/jit_code.h), and addresses of code whose dump was not read in time.
 */
struct machine_refusals {
	uint64_t mappings, files, dumps[N_LOSS_REASONS], unread_code;
};
struct machine_refusals machine_take_refusals(struct machine *m);

/* MAPPING, COMM, FORK, EXIT, KSYMBOL, CGROUP change the machine; other types do nothing. */
void machine_event(struct machine *m, const struct event *event);

/* A sample's thread at this moment. */
struct thread_view {
	uint32_t process; /* for machine_resolve(); valid until the next machine_event() */
	bool is_known;    /* false: neither events nor /proc named the process */
	image_id app;     /* the main executable; the kernel's image for kernel threads */
	string_id comm;
	int32_t guest_pid; /* the process here that runs the sample's guest; 0: this thread's */
};
struct thread_view machine_thread(struct machine *m, int32_t pid, int32_t tid);

/* The name of a thread that events have shown to be of the process; NULL: none has. */
const char *machine_thread_name(const struct machine *m, int32_t pid, int32_t tid);

/*
 * The path of the sample's cgroup `id`. If the sample has none (0, or the root of v2 where v1 has
 * the groups): the cgroup of the thread's process at the first look-up. The string is in the
 * machine's strings; "" if not known.
 */
string_id machine_cgroup(struct machine *m, const struct thread_view *thread, uint64_t id);

/*
 * From now on, if the sample has no cgroup, a process with a FORK event is assumed to be in its
 * parent's cgroup. So only the first process of a command needs a look-up.
 */
void machine_trust_parents(struct machine *m);

/*
 * Resolves one address of the thread's process (MODE_USER) or of the kernel. If nothing covers it,
 * *out is (unknown, addr) and the reason is returned; else -1.
 */
int machine_resolve(struct machine *m, const struct thread_view *thread, enum cpu_mode mode,
		    uint64_t addr, uint64_t time_ns, struct code_addr *out);

/*
 * The same for one user address of several. *near is the mapping of the last one, at first NULL:
 * most callers are in the same file.
 */
int machine_resolve_near(struct machine *m, const struct thread_view *thread, uint64_t addr,
			 uint64_t time_ns, const struct mapping **near, struct code_addr *out);

/*
 * The place of data at an address of the thread's process or of the kernel: in a file; or in memory
 * without a file, which is one place by its name: [heap], [stack], [anon], [kernel], [unknown].
 * Only recordings with mappings of data have files here (perf record -d, perf mem record).
 * Memory without a file right behind a file's data is that file's .bss.
 */
struct code_addr machine_resolve_data(struct machine *m, const struct thread_view *thread,
				      uint64_t addr);

/* The present address of offset 0 in a kernel image; false: no such image. */
bool machine_kernel_base(const struct machine *m, image_id image, uint64_t *out);

/* The mapping of a user address of the thread's process, or NULL. Valid as long as `thread`. */
const struct mapping *machine_mapping(const struct machine *m, const struct thread_view *thread,
				      uint64_t addr);

/* The mapping that covers the address, or else the first one behind it, or NULL. */
const struct mapping *machine_next_mapping(const struct machine *m,
					   const struct thread_view *thread, uint64_t addr);

/*
 * Ended processes and threads are kept for late samples. (Since Linux 6.16, the exit event of a
 * thread comes before the kernel takes its memory apart.) This forgets those that ended before
 * `before_ns`, and calls `ended` (may be NULL) for each process.
 */
void machine_forget_ended(struct machine *m, uint64_t before_ns,
			  void (*ended)(void *context, int32_t pid), void *context);

/* Visits the kernel's names of code without a file (BPF programs). */
void machine_kernel_names(struct machine *m,
			  void (*visit)(void *context, image_id image, uint64_t size,
					const char *name),
			  void *context);

/*
 * Visits the names of code from jitdumps that was resolved since the last visit, of one process or
 * (-1) of all. Offsets are in the dump, which is the image. machine_forget_ended() forgets them.
 */
typedef void (*machine_name_visit)(void *context, image_id image, uint64_t offset, uint64_t size,
				   const char *name);
void machine_jit_names(struct machine *m, int32_t pid, machine_name_visit visit, void *context);

/*
 * Who reads the jitdumps. begin() has jit_reader_read() called, on any thread, and then calls
 * machine_dump_is_read(). NULL, as at first: the machine reads them itself, and readers that are
 * away do not come back.
 *
 * machine_resolve() gives unread code as (`unread`, addr): this image stands for the dump.
 * machine_settle() resolves it later, by the time of the sample. False: the dump is still being
 * read. `is_last`: it is not waited for.
 */
struct jit_reader;
struct machine_dump_reader {
	void (*begin)(void *context, image_id unread, struct jit_reader *reader);
	void *context;
};
void machine_read_dumps_by(struct machine *m, const struct machine_dump_reader *by);
void machine_dump_is_read(struct machine *m, image_id unread, struct jit_reader *reader);
bool machine_settle(struct machine *m, uint64_t time_ns, bool is_last, struct code_addr *code);

/*
 * The function of a process's jitdump at an address whose record came later than its samples: a
 * compiler may write records at its end. The dump of a process that ends is read once more.
 */
struct jit_function;
bool machine_find_function(const struct machine *m, int32_t pid, uint64_t addr,
			   struct jit_function *out);
/* Whether the dump of some process is being read. */
bool machine_reads_dumps(const struct machine *m);

/* The reader is away for too long. Until it comes back, the dump's code is unknown code. */
void machine_dump_is_late(struct machine *m, image_id unread);

/* There are jitdumps, but has_other_clock is set, so that the time of their code is unknown. */
bool machine_has_untimed_code(const struct machine *m);

/*
 * A number for the present mappings of the thread's process. It changes with every change of the
 * mappings; a fork keeps it until its mappings change. Never 0.
 */
uint64_t machine_space(const struct machine *m, const struct thread_view *thread);

/* The same for a thread that is already known, without a look-up; else 0. */
uint64_t machine_known_space(const struct machine *m, int32_t pid, int32_t tid);

/*
 * Pushes COMM and MAPPING events of all running processes, as proc_scan_all(), where events may
 * have been missed: also that a process has executed another program. `sink` leads to the machine,
 * before which it has all earlier events. Returns 0 or a negative errno.
 */
int machine_scan_again(const struct machine *m, uint64_t time_ns, struct event_sink *sink);

uint32_t machine_process_count(const struct machine *m);

/*
 * The number of processes whose counters ended when they executed a program, because the program
 * has other rights (set-uid, set-gid, file capabilities). The processes may run on. *comm is the
 * name of the first one, valid as long as the machine is.
 */
uint32_t machine_protected(const struct machine *m, const char **comm);
