/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format "text": for people. */
#pragma once

#include "report/formats.h"

extern const struct report_format text_format;
