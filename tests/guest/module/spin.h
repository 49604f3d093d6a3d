/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel module with work to be sampled: reading /proc/NAME takes 0.4 s in NAME_work(). */
#pragma once

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/version.h>

#define JOIN2(a, b) a##b
#define JOIN(a, b)  JOIN2(a, b)
#define TEXT2(a)    #a
#define TEXT(a)     TEXT2(a)
#define work        JOIN(NAME, _work)

static noinline unsigned long work(unsigned long x)
{
	unsigned long i;

	for (i = 0; i < 10000; i++)
		x = x * 6364136223846793005ul + 1442695040888963407ul;
	return x;
}

static ssize_t spin_read(struct file *file, char __user *buffer, size_t size, loff_t *at)
{
	unsigned long end = jiffies + msecs_to_jiffies(400), x = 1;

	while (time_before(jiffies, end) && !signal_pending(current)) {
		x = work(x);
		cond_resched();
	}
	return x == 7 ? -EIO : 0;
}

static const struct proc_ops ops = { .proc_read = spin_read };

static int __init spin_init(void)
{
	return proc_create(TEXT(NAME), 0444, NULL, &ops) ? 0 : -ENOMEM;
}

static void __exit spin_exit(void)
{
	remove_proc_entry(TEXT(NAME), NULL);
}

module_init(spin_init);
module_exit(spin_exit);
MODULE_LICENSE("GPL");
