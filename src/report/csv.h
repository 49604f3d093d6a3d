/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format "csv": comma-separated values. */
#pragma once

#include "report/formats.h"

extern const struct report_format csv_format;
