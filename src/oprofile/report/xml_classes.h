/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside OProfile's XML: its head, and the classes that counts refer to. */
#pragma once

#include "base/buf.h"
#include "oprofile/report/xml.h"

/*
 * A profile's lanes in the order of process, thread, unit mask, event, count and processor. A class
 * is named by processor, event and mask; it has a name if lanes differ in them, or a mask is not 0.
 */
struct xml_classes {
	const struct profile *p;
	uint32_t *lanes;       /* by place: the lane */
	uint32_t *class_of;    /* by place */
	int64_t *tgids, *tids; /* by place; -1: all */
	uint32_t *events;      /* by counter: its number in <setup>; NO_INDEX: it has no lane */
	uint32_t n_events, n_classes, n_cpus;
	bool merges_masks; /* masks keep nothing apart: classes have none */
	bool are_named, has_masks, has_threads;
};

void xml_classes_make(struct xml_classes *c, const struct profile *p, bool merges_masks);
void xml_classes_fini(struct xml_classes *c);

/* The declaration, the start of <profile>, <options>, <setup> and <classes>. */
void xml_put_head(const struct xml_source *s, const struct xml_classes *c, FILE *out);

void xml_put_attribute(FILE *out, const char *name, const char *value);
void xml_append_text(const char *text, struct buf *out);
