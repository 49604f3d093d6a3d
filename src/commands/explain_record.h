/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording that `assay explain` makes first: with all that the rights permit. */
#pragma once

#include "cli/options.h"
#include "explain/facts.h"

struct explain_recording {
	const struct option_list *command; /* NULL: none */
	const char *pid;                   /* "12,13"; NULL */
	const char *output;                /* the session's directory */
	double duration_s;                 /* 0: as long as the command runs; ten seconds for -p */
	struct explain_outside outside;    /* set; its texts are of the recording */
	char no_waits[640], throttled_by[256];
};

/* -1: there is a session. Else an exit status, after a message. */
int explain_record(struct explain_recording *r);
