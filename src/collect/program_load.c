/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/program_load.h"

#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/error.h"
#include "collect/kernel_btf.h"
#include "collect/load_log.h"

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"

/* libbpf's warnings while programs are loaded; libbpf prints without a context. NULL: not now. */
static struct buf *load_messages;

static int __attribute__((format(printf, 2, 0)))
take_message(enum libbpf_print_level level, const char *format, va_list ap)
{
	char *text;

	if (!load_messages || level != LIBBPF_WARN || vasprintf(&text, format, ap) < 0)
		return 0;
	buf_str(load_messages, text); /* with a verifier's log: megabytes */
	free(text);
	return 0;
}

static int explain_load(int code, struct buf *messages, struct error *err)
{
	char reason[512];

	load_log_reason(buf_cstr(messages), reason, sizeof(reason));
	return error_set(err, code, "the kernel refuses assay's BPF program (%s)%s%s",
			 strerror(-code), *reason ? ": " : "", reason);
}

int program_types(char path[static 32])
{
	int fd = memfd_create("kernel-types", MFD_CLOEXEC);

	libbpf_set_print(take_message);
	path[0] = '\0';
	if (fd >= 0)
		snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

int program_load(struct bpf_object_skeleton *skeleton, int types_fd, struct error *err)
{
	struct buf messages = { 0 };
	int e = 0;

	load_messages = &messages;
	if (types_fd >= 0)
		e = kernel_btf_write(KERNEL_BTF_PATH, bpf_object__btf(*skeleton->obj), types_fd);
	if (e == 0)
		e = bpf_object__load_skeleton(skeleton);
	load_messages = NULL;
	if (e < 0)
		explain_load(e, &messages, err);
	buf_fini(&messages);
	return e;
}
