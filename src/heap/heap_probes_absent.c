/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heap/heap_probes.h in a build without BPF. */
#include <errno.h>

#include "base/error.h"
#include "heap/heap_probes.h"

int heap_probes_open(uint64_t mean_bytes, struct heap_probes **out, struct error *err)
{
	(void)mean_bytes, (void)out;
	return error_set(
		err, -ENOSYS,
		"--alloc of a running process, or of a static, set-uid or musl program, needs a "
		"BPF program, and this assay was built without BPF");
}

void heap_probes_free(struct heap_probes *p)
{
	(void)p;
}

int heap_probes_attach(struct heap_probes *p, int32_t tid, struct error *err)
{
	(void)p, (void)tid;
	return error_set(err, -ENOSYS, "this assay was built without BPF");
}

int heap_probes_attach_later(struct heap_probes *p, int32_t pid, char *const *files, size_t n_files,
			     struct error *err)
{
	(void)files, (void)n_files;
	return heap_probes_attach(p, pid, err);
}

uint64_t heap_probes_collect(struct heap_probes *p, struct heap_records *out)
{
	(void)p, (void)out;
	return 0;
}

struct heap_ring_losses heap_probes_take_losses(struct heap_probes *p)
{
	(void)p;
	return (struct heap_ring_losses){ 0 };
}

bool heap_probes_are_in(const struct heap_probes *p, const char *image)
{
	(void)p, (void)image;
	return false;
}

uint64_t heap_probes_calls(const struct heap_probes *p)
{
	(void)p;
	return 0;
}

void heap_probes_detach(struct heap_probes *p)
{
	(void)p;
}
