/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session of sample files has no place for: where it was recorded, its events as
 * they were asked for, what was lost. It stands as JSON in samples/SESSION/assay.json, which
 * OProfile's own tools do not look at; a session of theirs has none.
 */
#pragma once

#include "base/mem.h"
#include "event/loss.h"
#include "store/store.h"

#define FACTS_FILE "assay.json"

/*
 * The name of code that has no file. Sample files have no place for it, but .jo files have one for
 * JIT code (oprofile/store/jit_file.h): such names are read here, in older sessions, but not
 * written.
 */
struct facts_symbol {
	enum image_kind kind;
	int32_t pid;      /* JIT: the process */
	const char *path; /* of the image */
	uint64_t offset, size;
	const char *name;
};

struct session_facts {
	struct session_info info; /* strings and counters belong to the facts after a read */
	struct session_end end;
	bool has_end;
	uint64_t samples;
	uint64_t lost[N_LOSS_REASONS];
	struct image *images; /* those that have a build id, which names of files can't tell */
	uint32_t n_images;
	VEC(struct facts_symbol) symbols;
	uint64_t lost_arcs; /* counts of call graph arcs that could not be written */
	void *owner;        /* owns the texts that were read */
};

/* Replaces the file at once. */
int session_facts_write(const char *path, const struct session_facts *facts, struct error *err);

/* -ENOENT where there is none; -EBADMSG names what is wrong. Missing values are 0 or "". */
int session_facts_read(const char *path, struct session_facts *out, struct error *err);
void session_facts_fini(struct session_facts *facts);

/* Texts and counters of *to are its own. */
void session_info_copy(struct session_info *to, const struct session_info *from);
void session_info_free(struct session_info *info);
