/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzz target's main() where there is no libFuzzer: replays the seeds of a
 * folder, one TAP test each, and the empty input. A finding is a crash.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/files/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *dir, const char *name, int number)
{
	char path[4096], *bytes = NULL;
	size_t size = 0;
	int r;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	r = file_read_all(path, 64 << 20, &bytes, &size);
	if (r == 0)
		LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
	printf("%sok %d - %s\n", r == 0 ? "" : "not ", number, name);
	free(bytes);
}

int main(int argc, char **argv)
{
	struct dirent **entries;
	int n = 1, n_entries;

	if (argc != 2) {
		fprintf(stderr, "Usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	puts("ok 1 - the empty input");
	n_entries = scandir(argv[1], &entries, NULL, alphasort);
	if (n_entries < 0)
		printf("not ok %d - %s is read\n", ++n, argv[1]);
	for (int i = 0; i < n_entries; i++) {
		if (entries[i]->d_name[0] != '.')
			replay(argv[1], entries[i]->d_name, ++n);
		free(entries[i]);
	}
	if (n_entries >= 0)
		free(entries);
	printf("1..%d\n", n);
	return 0;
}
