/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with a Java virtual machine: its memory, and what is known of its code. For
 * java_stacks.c.
 */
#pragma once

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "lang/hotspot.h"
#include "machine/image.h"
#include "pipeline/lang_frame.h"
#include "pipeline/read_pause.h"

/* A piece of code. It was the same from `from_ns` (0: ever since) until `valid_ns`. */
struct java_blob {
	struct hotspot_blob blob;
	uint64_t from_ns, valid_ns;
	uint64_t read_ns;          /* it was there then */
	uint64_t used_ns;          /* the last sample in it */
	struct hotspot_flow *flow; /* NULL: not asked for yet, or there is none */
	bool has_flow;             /* it was asked for */
	bool is_dead;              /* something else is in its place */
	bool is_recent;            /* it is in the process's list */
};

/* An address in a piece of code. */
struct java_place {
	uint32_t blob;
	uint32_t first, n; /* frames; none: interpreted, or not known */
	uint64_t tried_ns; /* not known then: later samples try again; 0: it is certain */
	bool is_exact;     /* the code has a call or a trap here */
	/* Ways out of an innermost frame, as hotspot_leaves(); none: not asked for yet. */
	uint32_t n_leaves;
	struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX];
	enum hotspot_answer returned;     /* hotspot_is_innermost() */
	enum hotspot_answer calls_method; /* java_process_calls_method() */
};

/* It was the same from `from_ns` (0: ever since) until `valid_ns`. */
struct java_method {
	uint64_t address;
	struct hotspot_method method;
	uint64_t from_ns, valid_ns;
	uint64_t used_ns;    /* the last sample in it, interpreted */
	uint64_t noted_ns;   /* the first one that was noted for the in-kernel sampler; 0: none */
	uint32_t last_check; /* of the last method that was read here; 0: none */
	struct known_word words[HOTSPOT_WORDS_MAX]; /* hotspot_method_words() */
	bool is_good;
	bool has_words, has_no_words; /* neither: they were not asked for yet */
	bool is_recent;               /* it is in the process's list */
};

#define JAVA_RECENT_MAX 64

/* Indexes of code that samples had of late. */
struct java_recent {
	uint32_t list[JAVA_RECENT_MAX], n;
};

enum java_state {
	JAVA_NONE,   /* it has no virtual machine */
	JAVA_EARLY,  /* its library is looked at */
	JAVA_BARRED, /* its memory can't be read, or the virtual machine is only starting */
	JAVA_REFUSED,
	JAVA_STUCK, /* a read of its memory took too long: it has a pause */
	JAVA_READY,
};

#define JAVA_BLOCK_SIZE 4096 /* at most a page: the next one may not be there */
#define JAVA_BLOCKS     32
#define JAVA_BLOCKS_NS  (2 * NS_PER_MS)

/* Memory of the process that a walk has read: most reads are small, and near others. */
struct java_blocks {
	uint32_t next;                /* the place of the next one */
	uint64_t starts[JAVA_BLOCKS]; /* 0: none */
	uint8_t bytes[JAVA_BLOCKS][JAVA_BLOCK_SIZE];
};

struct java_process {
	int32_t pid;
	int fd; /* its memory, and never that of another process; -1: none */
	enum java_state state;
	enum java_state before; /* stuck: the state after … */
	struct read_pause pause;
	uint64_t space;    /* of its mappings, as they were looked at */
	uint64_t tried_ns; /* to find the virtual machine, or more of its heaps */
	uint32_t n_tries;
	uint64_t code; /* where the library is mapped */
	image_id image;
	bool is_gone; /* its memory is; samples after that are of another program */
	uint64_t gone_ns;
	bool lacks_reads;   /* in this walk, a read was wanted and not allowed */
	bool has_read;      /* in this walk, perhaps from its blocks; not of known code */
	uint64_t looked_ns; /* at all recent code */
	struct java_recent recent_blobs, recent_methods;
	const struct lang_memory *memory; /* for tests: in place of its own; or NULL */
	uint32_t n_reads;                 /* left in this walk */
	uint64_t walk_ns;                 /* no block is older: this walk began then, or later */
	struct java_blocks *blocks;       /* NULL: none yet */
	struct hotspot vm;
	VEC(struct java_blob) blobs;
	VEC(uint32_t) order; /* of the living ones, by their start */
	struct intmap place_at, method_at;
	VEC(struct java_place) places;
	VEC(struct java_method) methods;
	VEC(struct lang_frame) frames;
	size_t flow_bytes;
	uint32_t flow_work; /* steps that are left in this walk (lang/hotspot.h) */
};

/* By its name, which saves a look at all other files. Its markers decide. */
bool java_is_library(const struct image *image);

struct java_process *java_process_new(int32_t pid, const struct lang_memory *memory);
void java_process_free(struct java_process *p);

/* The walk of a sample begins, with so many reads. */
void java_process_begin_walk(struct java_process *p, uint32_t n_reads, uint64_t time_ns);

/* Forgets all code. */
void java_process_clear(struct java_process *p);

/* What it takes of the limits. */
size_t java_process_bytes(const struct java_process *p);

/* Opens the virtual machine in the library at `base`: sets the state. */
void java_process_open(struct java_process *p, const char *proc, const struct lang_runtime *runtime,
		       uint64_t base);

/* Its memory, within its budget of reads. */
struct lang_memory java_process_memory(struct java_process *p);

/*
 * Looks whether the code is still the same that samples had of late, before a sample: with few
 * reads of many parts.
 */
void java_process_look_at_code(struct java_process *p, uint64_t time_ns);

/* More heaps may have come since. */
void java_process_look_again(struct java_process *p);

/*
 * The blob of an address at the time of a sample, or NULL: its memory can't be read, or it is not
 * certain that it was the same then.
 */
struct java_blob *java_process_blob(struct java_process *p, uint64_t pc, uint64_t time_ns);

/* Whether a blob is still the same, as far as it matters for a sample. */
bool java_process_has_blob(struct java_process *p, struct java_blob *blob, uint64_t time_ns);

/*
 * The methods at an address of compiled code, the innermost first; 0: not known. *is_exact: the
 * code has a call or a trap there.
 */
uint32_t java_process_scopes(struct java_process *p, struct java_blob *blob, uint64_t pc,
			     struct hotspot_scope out[HOTSPOT_SCOPES_MAX], bool *is_exact);

/* As hotspot_leaves() and hotspot_is_innermost(); what they read of a place is kept. */
uint32_t java_process_leaves(struct java_process *p, const struct hotspot_blob *blob, uint64_t pc,
			     bool is_leaf, struct hotspot_leave out[HOTSPOT_LEAVES_MAX]);
bool java_process_is_innermost(struct java_process *p, uint64_t pc, uint64_t last_sp,
			       const uint64_t *registers);

/*
 * Whether the call before a return address leads to a method, or may do so later: to any code of
 * the code cache that is no HOTSPOT_STUBS. Then no such stub returns there, and one that has the
 * address in its frame has it from an earlier call. x86-64 alone; else, and for
 * indirect calls, HOTSPOT_NO. HOTSPOT_NOT_ASKED: this walk has no reads left.
 */
enum hotspot_answer java_process_calls_method(struct java_process *p, uint64_t pc,
					      uint64_t time_ns);

/*
 * The method at an address at the time of a sample; NULL: it is none, or that is not certain.
 * `learn` is called before its first use. `holder`: compiled code of it that was there at that
 * time, as java_process_blob(). HotSpot keeps a method as long as its code. NULL: none is known.
 */
typedef bool java_learn_fn(void *context, int32_t pid, const struct lang_code *code);
const struct java_method *java_process_method(struct java_process *p, uint64_t address,
					      uint64_t time_ns, const struct java_blob *holder,
					      java_learn_fn *learn, void *context);

/* The words of a method (hotspot_method_words()); NULL: it has none, or they are not known. */
const struct known_word *java_process_words(struct java_process *p, uint32_t method);
