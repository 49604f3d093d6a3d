/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inputs of later rooms that the library and the commands read. */
#include "config.h"
#include "import/importer.h"
#include "oprofile/oprofile.h"

const struct importer *const importers[] = {
#ifdef HAVE_OPROFILE
	&oprofile_importer,
#endif
	NULL,
};
