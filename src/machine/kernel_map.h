/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's address space: its text, modules, BPF programs, trampolines.
 *
 * The first kernel address that needs a name loads the map. It reads the head of /proc/kallsyms (as
 * far as _text), /proc/iomem (the size of the kernel), /proc/modules, and the BPF programs that
 * bpf(2) lists. The kernel has no record for a loaded module, and a module's space can be reused.
 * So the list is read again with the first kernel sample of each second. An address in no known
 * range reads it sooner: after 10 ms, and after twice as long each time that nothing was new.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "machine/image.h"

struct kernel_map;

/* The whole kernel is mapped within 1 GiB of _text on every architecture that we run on. */
#define KERNEL_SPAN_MAX (1ULL << 30)

/*
 * _text, the zero of offsets, if the list has only _stext: AArch64 without CONFIG_KALLSYMS_ALL.
 * There, the linker script (arch/arm64/kernel/vmlinux.lds.S) puts .text at the next 64 KiB behind
 * the head at _text. On x86-64, in the topmost 2 GiB, both have one address.
 */
static inline uint64_t kernel_text_of_stext(uint64_t stext)
{
	return stext >= 0xffffffff80000000 ? stext : stext - 0x10000;
}

/* `proc` and `sys` are "/proc" and "/sys", or fake trees. */
struct kernel_map *kernel_map_new(struct image_table *images, const char *proc, const char *sys);

/*
 * The kernel of another machine or another time. Its content comes only from kernel_map_mapping()
 * and kernel_map_symbol(). `release` is its uname -r; NULL or "" where not known.
 *
 * Without a build id, only the kernel that runs here and its modules are called "[kernel]" and
 * "[name]". It is the kernel that runs here if it has the same release or, if that is not known,
 * the same address. Otherwise the release is part of the name, so that nothing takes them for this
 * machine's.
 */
struct kernel_map *kernel_map_new_offline(struct image_table *images, const char *release);
void kernel_map_free(struct kernel_map *k);

/*
 * Finds the code at a kernel address. The kernel lists no programs of classic BPF, such as
 * seccomp's filters: the code at an address of the upper half that is in no list has the image
 * "[kernel.unlisted]". False if no range covers the address, in a map of another kernel or one
 * without addresses; kernel_map_is_hidden() then says whether the kernel hides them from us.
 */
bool kernel_map_resolve(struct kernel_map *k, uint64_t addr, uint64_t time_ns,
			struct code_addr *out);
bool kernel_map_is_hidden(const struct kernel_map *k);

/* The present zero of offsets in a kernel image; false: the image is not in this map. */
bool kernel_map_base(const struct kernel_map *k, image_id image, uint64_t *out);

/* The image of the kernel's own text, for kernel threads. */
image_id kernel_map_image(struct kernel_map *k);

/*
 * A mapping of the kernel, as perf records it: "[kernel.kallsyms]_text" with the address of that
 * symbol as file_off; or a module by its path or as "[name]".
 */
void kernel_map_mapping(struct kernel_map *k, const struct mapping_event *mapping);

/* PERF_RECORD_KSYMBOL: code appeared or went. */
void kernel_map_symbol(struct kernel_map *k, uint64_t addr, uint32_t size, bool is_bpf,
		       bool is_unregister, const char *name);

/* Visits the names of code that has no file (BPF programs, trampolines). */
void kernel_map_names(const struct kernel_map *k,
		      void (*visit)(void *context, image_id image, uint64_t size, const char *name),
		      void *context);
