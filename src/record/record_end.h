/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of `assay record`, or of a front end that records. */
#pragma once

#include <stdbool.h>

#include "record/recorder.h"

struct record_end {
	int code;     /* negative: recording failed, and the user has read the reason */
	bool has_run; /* there is a session */
	struct recorder_result result;
};
