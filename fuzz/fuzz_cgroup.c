/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths of cgroups: users who may make a cgroup choose its name. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "machine/cgroup_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = xstrndup((const char *)data, size);
	char container[CGROUP_TEXT_SIZE], pod[CGROUP_TEXT_SIZE];
	struct cgroup_names names;

	cgroup_names_of(path, &names);
	cgroup_container_text(&names, container);
	cgroup_pod_text(&names, pod);
	/* A container has a runtime; a class is a pod's; all ends. */
	if (!*names.container != !*names.runtime || (*names.qos && !*names.pod) ||
	    strlen(names.unit) >= sizeof(names.unit) || strlen(container) >= sizeof(container) ||
	    strlen(pod) >= sizeof(pod))
		abort();
	free(path);
	return 0;
}
