/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of other tools. They have names instead of addresses.
 *
 * A reader takes bytes and pushes samples. The frames of a sample are symbols, with images,
 * addresses and build ids if the format has them. import/import_foreign.h makes a session of them.
 * Readers open no files and log nothing. They count in struct foreign_facts the parts that they did
 * not understand or left out; the caller reports these.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/error.h"
#include "base/mem.h"
#include "foreign/slice.h"

struct foreign_frame {
	struct slice symbol; /* len 0: no name */
	struct slice image;  /* a path, or "[kernel.kallsyms]", "[vdso]" …; len 0: not known */
	struct slice file;   /* of its source; of a frame with a symbol */
	uint32_t line;       /* 0: not known */
	struct build_id build_id; /* of the image; len 0: not told */
	uint64_t addr;            /* as the source has it; 0: none */
	uint64_t symbol_off;      /* from the symbol's start */
	uint64_t file_off;        /* of the address in the image's file, where has_file_off */
	bool has_file_off;
	bool is_kernel;
};

/*
 * Labels of a sample, as a program names them. Names are texts that a filter can have, and each is
 * there once; values are not empty.
 */
struct foreign_label {
	struct slice name, value;
};
#define FOREIGN_LABELS_MAX 16
struct foreign_labels {
	struct foreign_label label[FOREIGN_LABELS_MAX];
	uint32_t n;
};

/*
 * Adds a label, unless one of the name is there. A label that has an empty value or a
 * name that no filter can have, or is one too many, is left out, and facts->n_labels counts it.
 * Values are cut to FOREIGN_LABEL_VALUE_MAX bytes, at the end of a character.
 */
#define FOREIGN_LABEL_NAME_MAX  32
#define FOREIGN_LABEL_VALUE_MAX 128
struct foreign_facts;
void foreign_labels_add(struct foreign_labels *to, struct slice name, struct slice value,
			struct foreign_facts *facts);

/* Slices hold until the reader goes on. */
struct foreign_sample {
	struct slice event, unit; /* unit: of the period; len 0: "events" */
	struct slice comm;
	struct slice service; /* the name of the program that pushes it; len 0: not told */
	struct foreign_labels labels;
	int32_t pid, tid; /* -1: not told */
	uint32_t cpu;
	uint64_t time_ns;
	uint64_t samples, period;
	const struct foreign_frame *frames; /* innermost first; n_frames may be 0 */
	uint32_t n_frames;
};

struct foreign_sink {
	/* 0, or a negative errno that ends the reading. */
	int (*sample)(struct foreign_sink *self, const struct foreign_sample *sample);
};

#define FOREIGN_MAX_FRAMES 1024

/* The facts that a source has about itself, and the counts of omitted parts. Begin with { 0 }. */
struct foreign_facts {
	/* The caller frees them by foreign_facts_fini(). NULL: not known. */
	char *hostname, *release, *arch, *cpu_model, *command, *tool;
	uint32_t n_cpus;
	uint64_t wall_ns;     /* time of day at the start; 0: not known */
	uint64_t duration_ns; /* 0: not told */
	uint64_t lost;        /* samples that the source says were lost */
	uint64_t n_bad;       /* lines or messages that were not understood */
	uint64_t bad_line;    /* the first of them, from 1 */
	char bad_text[64];    /* its beginning */
	uint64_t n_cut;       /* chains longer than FOREIGN_MAX_FRAMES */
	uint64_t n_extra;     /* samples with more than is kept: payloads, branch stacks … */
	uint64_t n_lines;     /* source lines of frames without a name, which are not kept */
	uint64_t n_rounded;   /* counts that were not whole numbers */
	uint64_t n_labels;    /* labels of samples that are left out */
	uint64_t n_negative;  /* values below zero, as differences have: left out */
};

void foreign_facts_fini(struct foreign_facts *facts);
void foreign_facts_bad_line(struct foreign_facts *facts, uint64_t line, struct slice text);

/* Sets *fact to a copy of the text, cut at 4096 bytes, unless it is set already. */
void foreign_fact_set(char **fact, struct slice text);

/*
 * Whether an event of samples counts those of the event behind it: "samples", or of one among
 * several events "cycles samples" before "cycles".
 */
bool foreign_is_count_of(struct slice name, struct slice next);

/* Whether the file of a frame is the kernel or a module; by the address if it has no name. */
bool foreign_is_kernel_file(struct slice file, uint64_t addr);
