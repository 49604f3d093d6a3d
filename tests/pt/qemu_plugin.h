/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's interface for plugins, version 1. Debian has no header for it. The part that the plugins
 * here use is declared from QEMU's documentation, "QEMU TCG Plugins".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef uint64_t plugin_id;

enum { PLUGIN_ACCESSES = 3 /* reads and writes: for reads alone, QEMU 7.2 does not call */ };

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id,
					   void (*call)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*call)(unsigned int, void *), int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*call)(unsigned int, void *), int flags,
					    void *data);
/* operation 0: adds a number to *count */
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int operation,
						void *count, uint64_t number);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*call)(unsigned int, uint32_t, uint64_t vaddr, void *),
				      int flags, int which, void *data);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);

__attribute__((visibility("default"))) extern int qemu_plugin_version;
__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info,
							       int argc, char **argv);
