/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which assay this is and which optional parts are built in. */
#pragma once

int version_print(void); /* to stdout; returns an exit status */
