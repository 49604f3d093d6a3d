/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the kernel's structures that we read. CO-RE finds each field by its name in the
 * running kernel's BTF, so order and size here mean nothing. Fields of some kernels only are in a
 * separate type, whose name CO-RE cuts at "___".
 */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned int s_dev; /* MKDEV: major << 20 | minor */
};

struct inode {
	unsigned long i_ino;
	unsigned int i_generation;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

/* Mappings since Linux 6.1: a maple tree (include/linux/maple_tree.h). */

struct maple_tree {
	void *ma_root;
};

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

/* Before Linux 6.1: a red-black tree. */

struct rb_node {
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct vm_area_struct___rb {
	struct rb_node vm_rb;
};

struct mm_struct___rb {
	struct rb_root mm_rb;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	struct maple_tree mm_mt;
	struct file *exe_file;
	unsigned long start_code;
	mm_context_t context;
};

/* A process's numbers: one in each pid namespace from the initial one (level 0) to its own. */

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

/* Control groups: a task's are those of its set, one in each hierarchy. */

struct kernfs_node {
	unsigned long long id;
};

struct cgroup {
	int level; /* 0: the root */
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp; /* of v2 */
};

/* The thread pointer. */
struct thread_struct {
#if defined(__TARGET_ARCH_x86)
	unsigned long fsbase;
#else
	struct {
		unsigned long tp_value; /* AArch64: as of the last switch to another thread */
	} uw;
#endif
};

typedef struct {
	unsigned int val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct list_head {
	struct list_head *next;
};

struct signal_struct {
	struct list_head thread_head; /* of its threads' thread_node */
};

struct task_struct {
	struct thread_struct thread;
	unsigned int flags;
	unsigned in_iowait : 1;
	struct signal_struct *signal;
	struct list_head thread_node;
	int pid;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	unsigned long long start_time;
	unsigned int self_exec_id; /* since Linux 5.7 it has 8 bytes */
	struct pid *thread_pid;
	struct css_set *cgroups;
	const struct cred *cred;
	char comm[16];
};

/* Block I/O; the device of a bio is there since Linux 5.12. */

struct block_device {
	unsigned int bd_dev;
};

struct bio {
	struct block_device *bi_bdev;
};

/* Data of tracepoints (events/sched/… and events/lock/…/format in tracefs). */

struct trace_event_raw_sched_switch {
	long prev_state;
	int next_pid;
};

struct trace_event_raw_sched_wakeup_template { /* of sched_waking */
	int pid;
};

struct trace_event_raw_contention_begin {
	void *lock_addr;
	unsigned int flags;
};

struct trace_event_raw_contention_end {
	void *lock_addr;
};

/* Of a program that visits tasks. */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct pt_regs___syscall { /* at the entry into the kernel */
	int syscallno;     /* -1: by no system call */
};

#pragma clang attribute pop

enum maple_type { maple_dense, maple_leaf_64, maple_range_64, maple_arange_64 };

#define VM_EXEC    4 /* include/linux/mm.h */
#define VM_SHARED  8
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

/* Bits of a task's state (include/linux/sched.h). */
#define TASK_DEAD        0x80
#define TASK_IDLE        0x402
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN      0x8000 /* since Linux 6.1 */
