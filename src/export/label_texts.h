/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The labels of samples for exports: those of goroutines and OpenTelemetry's thread context (record
 * --labels), and those of imported profiles.
 */
#pragma once

#include "export/names.h"
#include "profile/profile.h"

struct label_text {
	const char *name, *value; /* UTF-8, valid as long as the frame names */
};

struct label_texts {
	VEC(struct label_text) list;
	uint32_t
		*first; /* by value of PROFILE_LABEL: its labels are list[first[i], first[i + 1]) */
};

/* PROFILE_LABEL has to be among the profile's keys, with by_label_pairs. */
void label_texts_init(struct label_texts *l, const struct profile *p, struct frame_names *frames);
void label_texts_fini(struct label_texts *l);
