/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's address space: its text, modules, BPF programs, trampolines.
 *
 * Nothing is read until the first kernel address is there to be named; then
 * the head of /proc/kallsyms (as far as _text), /proc/modules, and the BPF
 * programs that bpf(2) lists. Modules are read again when an address is in none
 * of the known ranges, at most once a second: the kernel has no record for
 * a module that is loaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "machine/image.h"

struct kernel_map;

/* `proc` and `sys` are "/proc" and "/sys", or fake trees. */
struct kernel_map *kernel_map_new(struct image_table *images, const char *proc, const char *sys);

/*
 * The kernel of another machine or another time: all it has is what kernel_map_mapping() and
 * kernel_map_symbol() tell. `release` is its uname -r; NULL or "" where not known.
 *
 * Without a build id the kernel and its modules are called "[kernel]" and "[name]" only if it
 * is the kernel that runs here: of the same release or, where that is not known, at the same
 * address. Otherwise the release is part of the name, so that nothing takes them for
 * this machine's.
 */
struct kernel_map *kernel_map_new_offline(struct image_table *images, const char *release);
void kernel_map_free(struct kernel_map *k);

/*
 * Finds the code at a kernel address. False when no range covers it;
 * kernel_map_is_hidden() then tells whether addresses are hidden from us at all.
 */
bool kernel_map_resolve(struct kernel_map *k, uint64_t addr, uint64_t time_ns,
			struct code_addr *out);
bool kernel_map_is_hidden(const struct kernel_map *k);

/* The image of the kernel's own text, for kernel threads. */
image_id kernel_map_image(struct kernel_map *k);

/*
 * A mapping of the kernel's own, as perf records them: "[kernel.kallsyms]_text" with the
 * address of that symbol as file_off, or a module by its path or as "[name]".
 */
void kernel_map_mapping(struct kernel_map *k, const struct mapping_event *mapping);

/* PERF_RECORD_KSYMBOL: code appeared or went. */
void kernel_map_symbol(struct kernel_map *k, uint64_t addr, uint32_t size, bool is_bpf,
		       bool is_unregister, const char *name);

/* Visits the names of code that has no file (BPF programs, trampolines). */
void kernel_map_names(const struct kernel_map *k,
		      void (*visit)(void *context, image_id image, uint64_t size, const char *name),
		      void *context);
