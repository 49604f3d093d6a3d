/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's structures, as far as we read them. CO-RE finds each field by
 * its name in the running kernel's BTF, so that order and size here mean nothing.
 */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	unsigned int s_dev; /* MKDEV: major << 20 | minor */
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
};

struct mm_struct {
	struct file *exe_file;
};

struct task_struct {
	struct mm_struct *mm;
};

#pragma clang attribute pop
