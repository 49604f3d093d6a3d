/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `assay retain` and `assay fleet merge` say of a history. */
#pragma once

struct retention_result;

/* Warns of the parts that were left alone, if there are any. */
void retain_warn_of_parts(const struct retention_result *r);
