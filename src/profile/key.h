/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys: what a report can be broken down by.
 *
 * A CLASS key is a property of the whole sample (whose it is), a CODE key one of
 * each frame (where it is). A row of a report is a tuple of key values; a value is
 * a small number that only its profile can put into words (profile_key_text()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

enum key_kind { KEY_CLASS, KEY_CODE };

/* X(id, key, kind, help) */
#define PROFILE_KEYS(X)                                                                           \
	X(APP, "app", CLASS, "program: the main executable of the process")                       \
	X(PROCESS, "process", CLASS, "process, by its id")                                        \
	X(THREAD, "thread", CLASS, "thread, by its id")                                           \
	X(COMM, "comm", CLASS, "name of the thread")                                              \
	X(CPU, "cpu", CLASS, "processor")                                                         \
	X(CGROUP, "cgroup", CLASS, "control group, by its path")                                  \
	X(UNIT, "unit", CLASS, "systemd's unit, as the cgroup's path names it")                   \
	X(CONTAINER, "container", CLASS, "container, as the cgroup's path names it")              \
	X(POD, "pod", CLASS, "Kubernetes pod, as the cgroup's path names it")                     \
	X(WAKER, "waker", CLASS, "name of the thread that ended the wait, or [interrupt]")        \
	X(WAKER_SYMBOL, "waker-symbol", CLASS, "the waker's function")                            \
	X(WAKER_STACK, "waker-stack", CLASS, "the waker's stack, outermost function first")       \
	X(REASON, "reason", CLASS, "why a thread waited: futex, block-io, socket, …")             \
	X(OWNER, "owner", CLASS, "thread that had the mutex as the wait began")                   \
	X(DEVICE, "device", CLASS, "block device of the I/O that the thread waited for")          \
	X(MEM, "mem", CLASS, "where a memory access found its data: L1 hit, Local RAM hit, …")    \
	X(TLB, "tlb", CLASS, "where a memory access found its page: L1 or L2 hit, …")             \
	X(SNOOP, "snoop", CLASS, "what a memory access met in other caches: None, HitM, …")       \
	X(DATA_SYMBOL, "data-symbol", CLASS, "variable that was accessed, or [heap], [stack], …") \
	X(DATA_IMAGE, "data-image", CLASS, "file that holds the variable")                        \
	X(TRACE, "trace", CLASS, "trace that the sample belongs to (record --labels trace)")      \
	X(SPAN, "span", CLASS, "span that the sample belongs to (record --labels span)")          \
	X(LABEL, "label", CLASS, "labels of the goroutine; *label:NAME* is the value of one")     \
	X(PARALLELISM, "parallelism", CLASS, "threads that ran at the moment of the sample")      \
	X(HOST, "host", CLASS, "machine that the sample is of")                                   \
	X(SERVICE, "service", CLASS,                                                              \
	  "workload of the pod, else systemd's service, else the container, else the program")    \
	X(EVENT, "event", CLASS, "what was counted")                                              \
	X(CONTEXT, "context", CLASS, "user, system, irq, softirq or idle")                        \
	X(MODE, "mode", CODE, "user or kernel")                                                   \
	X(LANGUAGE, "language", CODE, "language of the function: python, go, or native")          \
	X(IMAGE, "image", CODE, "file that holds the code: program, library, kernel")             \
	X(BUILD, "build", CODE, "build id of the file that holds the code")                       \
	X(SYMBOL, "symbol", CODE, "function")                                                     \
	X(FILE, "file", CODE, "source file")                                                      \
	X(LINE, "line", CODE, "source file and line")                                             \
	X(ADDRESS, "address", CODE, "address in the file, as nm and objdump show it")

enum profile_key {
#define X(id, key, kind, help) PROFILE_##id,
	PROFILE_KEYS(X)
#undef X
		N_PROFILE_KEYS
};

/* The value of CPU where samples are not kept apart by it. */
#define PROFILE_CPU_ALL (UINT32_MAX - 1)

struct profile_key_info {
	const char *key;
	enum key_kind kind;
	const char *help;
};

extern const struct profile_key_info profile_keys[N_PROFILE_KEYS];

/* The key of this name, or of perf's name for it ("dso", "sym"); -1 if there is none. */
int profile_key_find(const char *name, size_t len);

#define KEY_LABEL_MAX 32 /* bytes; recordings have no longer names */

/* Keys in the order asked for, each at most once. */
struct key_list {
	enum profile_key key[N_PROFILE_KEYS];
	size_t n;
	char label[KEY_LABEL_MAX + 1]; /* the NAME of the key label:NAME; "": all labels */
	bool by_label_pairs; /* of all labels: values of LABEL are label_pairs (profile.h) */
};

bool key_list_has(const struct key_list *list, enum profile_key key);
void key_list_add(struct key_list *list, enum profile_key key); /* nothing if it is there */

/* label:NAME is the key LABEL with a name, of which a list has one. Appends the keys of
 * "process,symbol". An unknown word is -EINVAL and names the known ones. */
int key_list_parse(struct key_list *list, const char *text, struct error *err);
