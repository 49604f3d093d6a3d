/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format "json": one object. */
#pragma once

#include "report/formats.h"

extern const struct report_format json_format;
