# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a small C project: N files, each of which takes gcc, cc1 and as to compile."""

import pathlib

HEADERS = """\
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
"""

FUNCTION = """\
struct item_{f} {{ int key, weight[{size}]; struct item_{f} *next; }};

int sum_{f}(const struct item_{f} *item, int limit)
{{
	int sum = {f};

	for (; item && limit > 0; item = item->next, limit--)
		for (int i = 0; i < {size}; i++)
			sum += item->weight[i] > {file} ? item->weight[i] * item->key : -item->key;
	return sum;
}}

int find_{f}(struct item_{f} *items, int n, const char *name)
{{
	for (int i = 0; i < n; i++) {{
		if (items[i].key == (int)strlen(name) + {f})
			return items[i].weight[i % {size}];
		if (isdigit((unsigned char)name[i % 7]))
			items[i].key ^= atoi(name) << ({f} % 13);
	}}
	return -1;
}}
"""


def write(folder, files, functions):
    """Makes `folder` with that many C files of that many pairs of functions, and a Makefile."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True)
    for file in range(files):
        body = "".join(FUNCTION.format(f=1000 * (file + 1) + i, size=3 + i % 9, file=file)
                       for i in range(functions))
        (folder / f"part{file}.c").write_text(HEADERS + body)
    (folder / "Makefile").write_text(
        "OBJECTS := $(patsubst %.c,%.o,$(wildcard part*.c))\n"
        "all: $(OBJECTS)\n"
        "%.o: %.c\n\tgcc -O1 -c -o $@ $<\n")
