/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of engines, podman's databases, and lists of names: the first byte says which. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine/engine_files.h"
#include "machine/podman_pods.h"
#include "machine/storage_places.h"

#define LONGEST (64 << 10)

static const char id[] = "3f0c4f1e2d9b8a7c6e5f40312a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse(struct container_names *n, char which, char *text, size_t size)
{
	switch (which) {
	case 's':
		engine_parse_storage(n, text, size);
		break;
	case 'd':
		engine_parse_docker(n, id, text, size);
		break;
	case 'c':
		engine_parse_containerd(n, id, text, size);
		break;
	case 'l':
		engine_parse_log(n, text);
		break;
	case 'p':
		engine_parse_pod(n, text);
		break;
	case 'b':
		podman_parse_pods(n, text, size);
		break;
	case 'g':
		free(storage_conf_get(text, "graphroot"));
		break;
	default:
		container_names_parse(n, text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct container_names *n = container_names_new();
	const char *name;
	char *text;

	if (size && size <= LONGEST) {
		text = xcalloc(size, 1);
		memcpy(text, data + 1, size - 1);
		parse(n, (char)data[0], text, size - 1);
		free(text);
	}
	name = container_names_find(n, id);
	if (name && (!*name || strlen(name) >= CONTAINER_NAME_SIZE || strpbrk(name, "\n\t\033")))
		abort();
	container_names_free(n);
	return 0;
}
