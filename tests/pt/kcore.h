/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Presents a static program as a kernel: as a vmlinux, or as the folder kcore_dir of `perf record
 * --kcore`. The folder has the program's code in kcore and its functions in kallsyms. There are no
 * modules.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KERNEL_TEXT 0xffffffff81000000ULL

struct build_id;

/*
 * The same as a vmlinux that is linked to `shift` beyond the file's addresses; it has the program's
 * build id, which is also given.
 */
void vmlinux_write(const char *out, const char *program, uint64_t shift, struct build_id *id);

/*
 * Below the directory `out`, which is made; addresses are those of the file and `shift`. The `n`
 * bytes at `addr` are `instead`; *was gets what the file has there. Ends the process on errors.
 */
void kcore_write(const char *out, const char *program, uint64_t shift, uint64_t addr,
		 const uint8_t *instead, uint8_t *was, size_t n);
