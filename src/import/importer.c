/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "import/importer.h"

const struct importer *importer_find(const char *path)
{
	for (const struct importer *const *i = importers; *i; i++)
		if ((*i)->can_import(path))
			return *i;
	return NULL;
}

char *importer_find_root(const char *path)
{
	const struct importer *importer = importer_find(path);

	return importer ? importer->find_root(path) : NULL;
}
