/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The names of OProfile's sample files. A name is the class of the file's samples:
 *
 *   MAIN/{dep}/DEP/[{cg}/CALLEE/]EVENT.COUNT.UNITMASK.TGID.TID.CPU
 *
 *   MAIN, DEP, CALLEE = {root}/PATH | {kern}/NAME | {anon:LABEL}/TGID.0xSTART.0xEND
 *
 * below samples/SESSION/. MAIN is the application's image, DEP the image of the sample (of an arc:
 * of the caller). TGID, TID and CPU are numbers, or "all" if samples are not kept apart by them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct error;

#define SAMPLE_NAME_ALL (-1) /* "all" of a tgid, tid or cpu */

enum sample_image_kind { SAMPLE_IMAGE_ROOT, SAMPLE_IMAGE_KERN, SAMPLE_IMAGE_ANON };

struct sample_image_name {
	enum sample_image_kind kind;
	char *text; /* ROOT: the absolute path; KERN: the name; ANON: the label */
	int64_t tgid;
	uint64_t start, end; /* ANON: of the region; whether `end` is in it differs by writer */
};

struct sample_name {
	struct sample_image_name main, dep, callee;
	bool is_arc; /* has a callee */
	char *event;
	uint64_t count, unit_mask;
	int64_t tgid, tid, cpu;
};

void sample_name_fini(struct sample_name *n); /* {0} is fine */

/* Appends the name, without a slash in front. The event has neither '.' nor '/'. */
void sample_name_write(const struct sample_name *n, struct buf *out);

/*
 * Parses what follows samples/SESSION/. -EBADMSG says which part is wrong. *out is the
 * caller's to sample_name_fini().
 */
int sample_name_parse(const char *text, struct sample_name *out, struct error *err);

/* How an event is called in names: the caller's to free(). */
char *sample_name_event(const char *event);
