/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading of assay's BPF programs, with the kernel's reason if it refuses one. */
#pragma once

struct bpf_object_skeleton;
struct error;

/*
 * An empty file that program_load() fills with the kernel's types, and its path for libbpf
 * (btf_custom_path); before an object is opened. -1: libbpf finds them itself, and the path is "".
 * The caller closes it.
 */
int program_types(char path[static 32]);

/*
 * Permissions and features were checked before: a failure is a fault of the program or the kernel.
 */
int program_load(struct bpf_object_skeleton *skeleton, int types_fd, struct error *err);
