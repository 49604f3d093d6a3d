/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The man page section of every command that takes -e EVENT; the grammar is counter/counter.h's. */
#pragma once

#define EVENTS_SECTION                                                                            \
	{                                                                                         \
		"EVENTS",                                                                         \
			"An event is written in one of these ways; several may be joined by "     \
			"commas.\n\n*NAME*[*:*_MODIFIERS_]\n\n\tA generic event (*cycles*, "      \
			"*instructions*, *L1-dcache-load-misses*), a software event "             \
			"(*cpu-clock*, *page-faults*, *context-switches*), a tracepoint "         \
			"(*sched:sched_switch*, or a pattern as *sched:\\**), a raw code "        \
			"(*r01c2*), an event of a PMU's driver (*mem-loads*), or a name of the "  \
			"processor's manual as libpfm4 has it "                                   \
			"(*MEM_LOAD_RETIRED:L1_HIT*).\n\n_PMU_*/*_TERM_[*=*_VALUE_]*,*…*/"      \
			"*[_MODIFIERS_]\n\n\tTerms "                                              \
			"of a PMU in sysfs: *cpu/event=0x3c,umask=1/u*. Every PMU has "           \
			"*config*, *config1*, *config2*, *period*, *freq* and *name* as "         \
			"well.\n\n_NAME_*:*_COUNT_[*:*_UNITMASK_[*:*_KERNEL_[*:*_USER_]]]"        \
			"\n\n\tOProfile's "                                                       \
			"way, for any name: *CPU_CLK_UNHALTED:100000:0:1:1*. The unit mask is "   \
			"a number or a name; _KERNEL_ and _USER_ are 0 or "                       \
			"1.\n\n*{*_EVENT_*,*_EVENT_*,*…*}*[*:*_MODIFIERS_]\n\n\tA group: "      \
			"*'{cycles,instructions}:u'* (quoted, as the shell has braces, too). "    \
			"The kernel counts all its events at once or none, so the counts cover "  \
			"the same time. Each event takes separate samples. The modifiers are "    \
			"added to those of each event, *D* and *e* to those of the "              \
			"first.\n\n*uprobe:*_PATH_*:*_FUNCTION_[*+*_OFFSET_], "                   \
			"*uretprobe:*_PATH_*:*_FUNCTION_, *usdt:*_PATH_*:*_PROVIDER_*:*_NAME_"    \
			"\n\n\tProbes on a program or library: each call of a function (or each " \
			"pass of an instruction in it), each return, and each pass of a static "  \
			"probe. They need root or CAP_PERFMON. If a function has several "        \
			"namesakes, *' #2'* or *' #g'* chooses. A static probe at several "       \
			"places is an event for each, with *#1* and so on behind its name. "      \
			"Names have no commas.\n\nModifiers are letters: *u* user, *k* kernel "   \
			"and *h* "                                                                \
			"hypervisor mode, *G* guest and *H* host, *I* not while idle, *p* *pp* "  \
			"*ppp* *P* precise, *D* pinned, *e* exclusive.\n\nWithout a rate, a "     \
			"tracepoint takes a sample at every hit, and so do probes, page faults "  \
			"and "                                                                    \
			"migrations: their numbers are exact. Without permission to sample "      \
			"the kernel, assay records user code only (as if you had added *:u*). "   \
			"An event that is given twice counts once."                               \
	}
