/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the kernel's BTF that a BPF program needs.
 *
 * libbpf finds each structure of a program by its name, and searches all types of the kernel each
 * time. There are about 150,000 types, and the search takes half of the time to load a program. A
 * file with the needed types alone takes one pass. BTF: Documentation/bpf/btf.rst.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"

struct btf;

/*
 * Appends BTF to `out`: of the kernel's BTF at `bytes`, the types that have the name of a type of
 * the program, and the types of their members. A name is compared up to "___", as in CO-RE. All
 * pointers become pointers to void, because CO-RE does not follow pointers.
 *
 * Returns 0, or -EBADMSG if the bytes are not BTF of version 1, or have an unknown kind of type;
 * `out` is empty then.
 */
int kernel_btf_reduce(const void *bytes, size_t size, const struct btf *program, struct buf *out);

/*
 * The same from the file at `path` into the file `fd`, from its start. If the file's BTF cannot be
 * reduced, `fd` gets all of it. Returns 0 or a negative errno.
 */
int kernel_btf_write(const char *path, const struct btf *program, int fd);
