/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzz target's main() where there is no libFuzzer: replays the seeds of a
 * folder, one TAP test each, and the empty input. A finding is a crash.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

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
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
	int n = 1;

	if (argc != 2) {
		fprintf(stderr, "Usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	puts("ok 1 - the empty input");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			replay(argv[1], entry->d_name, ++n);
	if (dir)
		closedir(dir);
	printf("1..%d\n", n);
	return 0;
}
