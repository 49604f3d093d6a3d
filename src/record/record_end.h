/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How `assay record`, or a front end that records, ended. */
#pragma once

#include <stdbool.h>

#include "record/recorder.h"

struct record_end {
	int code;     /* negative: recording failed, and the user has read why */
	bool has_run; /* there is a session */
	struct recorder_result result;
};
