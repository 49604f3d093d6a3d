/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"
#include "jitdump_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "event/guest_task.h"
#include "event/text.h"
#include "machine/address_space.h"
#include "machine/machine.h"
#include "machine/proc.h"

/* A machine that is fed events as text, over a fake /proc and /sys. */
struct fixture {
	char root[32], proc[64], sys[64];
	struct machine *machine;
	struct event_sink sink;
};

static struct fixture fx;

static int feed(struct event_sink *sink, const struct event *event)
{
	(void)sink;
	machine_event(fx.machine, event);
	return 0;
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fx.root, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(file_mkdirs(path, 0777, NULL), 0);
	path[strlen(path)] = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	strcpy(fx.root, "machine-XXXXXX");
	if (!mkdtemp(fx.root))
		return -1;
	snprintf(fx.proc, sizeof(fx.proc), "%s/proc", fx.root);
	snprintf(fx.sys, sizeof(fx.sys), "%s/sys", fx.root);
	put("proc/kallsyms", "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _text\nffffffff81000040 T secondary\n");
	put("proc/modules", "ext4 4096 1 - Live 0xffffffffc0100000\n"
			    "crc16 8192 1 ext4, Live 0xffffffffc0200000 (E)\n");
	fx.machine = machine_new(&(struct machine_config){ fx.proc, fx.sys });
	fx.sink.push = feed;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	machine_free(fx.machine);
	return file_remove_tree(fx.root, NULL);
}

static void given(const char *text)
{
	struct error err = { 0 };

	if (event_parse_text(text, &fx.sink, &err) < 0)
		fail_msg("%s", err.text);
}

/* "PATH+OFFSET" of an address, or "?REASON". */
static const char *at_ms(int32_t pid, enum cpu_mode mode, uint64_t addr, uint64_t ms)
{
	static char text[256];
	struct thread_view t = machine_thread(fx.machine, pid, pid);
	struct code_addr code;
	int reason = machine_resolve(fx.machine, &t, mode, addr, ms * 1000000, &code);

	if (reason >= 0)
		snprintf(text, sizeof(text), "?%s", loss_texts[reason].key);
	else
		snprintf(text, sizeof(text), "%s+0x%lx",
			 image_get(machine_images(fx.machine), code.image)->path, code.offset);
	return text;
}

static const char *at(int32_t pid, enum cpu_mode mode, uint64_t addr)
{
	return at_ms(pid, mode, addr, 5000);
}

static const char *user(int32_t pid, uint64_t addr)
{
	return at(pid, MODE_USER, addr);
}

static const char *app_of(int32_t pid)
{
	return image_get(machine_images(fx.machine), machine_thread(fx.machine, pid, pid).app)
		->path;
}

static const char *comm_of(int32_t pid, int32_t tid)
{
	return strings_get(machine_strings(fx.machine), machine_thread(fx.machine, pid, tid).comm);
}

static void map_at(int32_t pid, uint64_t start, const char *path)
{
	struct event e = {
		.type = EVENT_MAPPING,
		.pid = pid,
		.tid = pid,
		.mapping = { .start = start, .size = 0x1000, .path = path, .is_executable = true }
	};

	machine_event(fx.machine, &e);
}

static void an_address_becomes_an_offset_in_the_file(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"app\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x2000 off=0x1000 path=\"/bin/app\"\n"
	      "0 cpu0 41/41 mmap start=0x7f0000 size=0x1000 off=0x3000 path=\"/lib/libc.so\"\n");
	assert_string_equal(user(41, 0x401000), "/bin/app+0x1000");
	assert_string_equal(user(41, 0x402fff), "/bin/app+0x2fff");
	assert_string_equal(user(41, 0x403000), "?unmapped");
	assert_string_equal(user(41, 0x7f0010), "/lib/libc.so+0x3010");
	assert_string_equal(app_of(41), "/bin/app");
	assert_string_equal(comm_of(41, 41), "app");
}

static void a_fork_has_its_parents_mappings_and_an_exec_has_none(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"sh\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/sh\"\n"
	      "1 cpu0 42/42 fork parent=41/41\n");
	assert_string_equal(user(42, 0x401010), "/bin/sh+0x10");
	assert_string_equal(comm_of(42, 42), "sh");
	given("2 cpu0 42/42 comm exec name=\"ls\"\n"
	      "2 cpu0 42/42 mmap start=0x500000 size=0x1000 off=0x0 path=\"/bin/ls\"\n");
	assert_string_equal(user(42, 0x401010), "?unmapped");
	assert_string_equal(user(42, 0x500010), "/bin/ls+0x10");
	assert_string_equal(user(41, 0x401010), "/bin/sh+0x10");
	assert_string_equal(app_of(42), "/bin/ls");
	assert_string_equal(app_of(41), "/bin/sh");
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"first\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/first\"\n"
	      "0 cpu0 50/50 comm exec name=\"other\"\n"
	      "0 cpu0 50/50 mmap start=0x601000 size=0x1000 off=0x0 path=\"/bin/other\"\n"
	      "1 cpu0 41/41 exit\n");
	assert_string_equal(user(41, 0x401000), "/bin/first+0x0"); /* late samples */
	given("2 cpu0 41/41 fork parent=50/50\n");
	assert_string_equal(user(41, 0x401000), "?unmapped");
	assert_string_equal(user(41, 0x601000), "/bin/other+0x0");
	assert_string_equal(comm_of(41, 41), "other");
}

static void threads_share_a_process_and_have_names_of_their_own(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"app\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/app\"\n"
	      "1 cpu0 41/42 fork parent=41/41\n"
	      "1 cpu0 41/42 comm name=\"worker\"\n"
	      "2 cpu0 41/41 exit\n");
	assert_string_equal(comm_of(41, 42), "worker");
	assert_string_equal(comm_of(41, 41), "app");
	machine_forget_ended(fx.machine, 3000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1); /* 42 still runs */
	given("4 cpu0 41/42 exit\n");
	machine_forget_ended(fx.machine, 4000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1);
	machine_forget_ended(fx.machine, 4000000001, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 0);
}

static void a_thread_that_has_ended_keeps_its_name_for_late_samples(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"app\"\n"
	      "1 cpu0 41/42 fork parent=41/41\n"
	      "1 cpu0 41/42 comm name=\"worker\"\n"
	      "2 cpu0 41/42 exit\n");
	assert_string_equal(comm_of(41, 42), "worker");
	machine_forget_ended(fx.machine, 2000000000, NULL, NULL);
	assert_string_equal(comm_of(41, 42), "worker");
	given("3 cpu0 41/41 exit\n"); /* late samples are no new threads */
	machine_forget_ended(fx.machine, 2000000001, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1);
	machine_forget_ended(fx.machine, 3000000001, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 0);
	given("4 cpu0 43/43 comm exec name=\"next\"\n"
	      "5 cpu0 43/42 fork parent=43/43\n"
	      "6 cpu0 43/42 exit\n"
	      "6 cpu0 43/42 fork parent=43/43\n"
	      "7 cpu0 43/42 comm name=\"again\"\n");
	machine_forget_ended(fx.machine, 9000000000, NULL, NULL);
	assert_string_equal(comm_of(43, 42), "again"); /* a new thread of that number lives */
}

/* It has the number of the first one from then on. */
static void a_thread_that_executes_a_program_is_the_only_one(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"app\"\n"
	      "1 cpu0 41/42 fork parent=41/41\n"
	      "1 cpu0 41/43 fork parent=41/41\n"
	      "2 cpu0 41/43 exit\n"
	      "2 cpu0 41/41 exit\n"
	      "3 cpu0 41/41 comm exec name=\"next\"\n"
	      "4 cpu0 41/44 fork parent=41/41\n");
	machine_forget_ended(fx.machine, 5000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1);
	given("5 cpu0 41/41 exit\n");
	machine_forget_ended(fx.machine, 9000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1); /* 44 still runs */
	given("9 cpu0 41/44 exit\n");
	machine_forget_ended(fx.machine, 10000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 0);
}

/* As `record -p` finds them: a thread that ends is not the end of its process. */
static void threads_from_before_belong_to_their_process(void **state)
{
	int32_t found[] = { 76, 77, 79, 80 };
	const struct pid_list tids = { found, 4, 4 };

	(void)state;
	put("proc/77/status", "Name:\tapp\nTgid:\t77\n");
	put("proc/79/status", "Name:\tworker\nTgid:\t77\n");
	put("proc/80/status", "Name:\tother\nTgid:\t80\n");
	put("proc/77/task/77/comm", "app\n");
	put("proc/77/task/79/comm", "worker\n");
	put("proc/80/task/80/comm", "other\n");
	put("proc/77/maps", "00401000-00402000 r-xp 00001000 08:01 12 /bin/app\n");
	assert_int_equal(proc_scan_threads(fx.proc, &tids, 0, &fx.sink), 0);
	assert_int_equal(machine_process_count(fx.machine), 2);
	assert_string_equal(machine_thread_name(fx.machine, 77, 79), "worker");
	given("1 cpu0 77/79 exit\n");
	machine_forget_ended(fx.machine, 5000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 2);
	given("6 cpu0 77/77 exit\n");
	machine_forget_ended(fx.machine, 9000000000, NULL, NULL);
	assert_int_equal(machine_process_count(fx.machine), 1);
}

static void anonymous_code_keeps_its_address(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"node\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/node\"\n"
	      "0 cpu0 41/41 mmap start=0x900000 size=0x1000 off=0x0 path=\"//anon\"\n"
	      "0 cpu0 41/41 mmap start=0xa00000 size=0x1000 off=0x5000 path=\"/memfd:jit "
	      "(deleted)\"\n");
	assert_string_equal(user(41, 0x900010), "[anon]+0x900010");
	assert_string_equal(user(41, 0xa00010), "[anon]+0xa00010");
	assert_string_equal(app_of(41), "/bin/node");
}

static void a_deleted_file_keeps_its_name(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"app\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/app (deleted)\"\n");
	assert_string_equal(user(41, 0x401000), "/bin/app+0x0");
}

static void kernel_addresses_count_from_text_or_their_module(void **state)
{
	(void)state;
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffff81000040), "[kernel]+0x40");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0100123), "[ext4]+0x123");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0201fff), "[crc16]+0x1fff");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0900000), "[kernel.unlisted]+0x0");
}

static void offsets_in_the_kernel_become_addresses_again(void **state)
{
	struct thread_view thread = machine_thread(fx.machine, 0, 0);
	static const uint64_t addrs[] = { 0xffffffff81000040, 0xffffffffc0100123,
					  0xffffffffc0201fff };
	struct code_addr code;
	uint64_t base = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		assert_int_equal(machine_resolve(fx.machine, &thread, MODE_KERNEL, addrs[i], 1,
						 &code),
				 -1);
		assert_true(machine_kernel_base(fx.machine, code.image, &base));
		assert_true(base + code.offset == addrs[i]);
	}
	assert_false(machine_kernel_base(fx.machine, IMAGE_UNKNOWN_ID, &base));
}

static void a_module_loaded_meanwhile_is_found(void **state)
{
	(void)state;
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0900010, 5000),
			    "[kernel.unlisted]+0x0");
	put("proc/modules", "late 4096 0 - Live 0xffffffffc0900000\n");
	/* Not at each sample is the list read. */
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0900010, 5005),
			    "[kernel.unlisted]+0x0");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0900010, 5010), "[late]+0x10");
}

static void addresses_of_nothing_have_modules_read_ever_more_seldom(void **state)
{
	(void)state;
	for (uint64_t ms = 5000; ms < 5640; ms++)
		at_ms(0, MODE_KERNEL, 0xffffffffc0900010, ms);
	/* Read at 5000, 5010, 5030, 5070, 5150, 5310, 5630; next at 6270. */
	put("proc/modules", "late 4096 0 - Live 0xffffffffc0900000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0900010, 6269),
			    "[kernel.unlisted]+0x0");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0900010, 6270), "[late]+0x10");
}

static void a_module_takes_the_place_of_one_that_went(void **state)
{
	(void)state;
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0100123, 5000), "[ext4]+0x123");
	put("proc/modules", "other 8192 0 - Live 0xffffffffc0100000\n"
			    "crc16 8192 7 ext4, Live 0xffffffffc0200000 (E)\n");
	/* An address that was known is not looked up anew for a second. */
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0100123, 5999), "[ext4]+0x123");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0100123, 6000), "[other]+0x123");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0201fff, 6000), "[crc16]+0x1fff");
	put("proc/modules", "other 8192 0 - Live 0xffffffffc0100000\n"
			    "ext4 4096 0 - Live 0xffffffffc0500000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0500123, 7000), "[ext4]+0x123");
	/* A late sample of one that is gone, and whose space nobody has taken. */
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0201fff, 7000), "[crc16]+0x1fff");
}

/* The sizes are of all memory, and the codes stand behind one another (as of Linux 7.2). */
static void modules_whose_sizes_overlap_are_all_found(void **state)
{
	(void)state;
	put("proc/modules", "lz4hc 12288 0 - Live 0xffffffffc0410000\n"
			    "zram 65536 0 - Live 0xffffffffc0403000\n"
			    "raid6_pq 131072 0 - Live 0xffffffffc0400000\n");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0402fff), "[raid6_pq]+0x2fff");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0403000), "[zram]+0x0");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0410010), "[lz4hc]+0x10");
	/* One more module between them, and a program in a place without code. */
	put("proc/modules", "raid6_pq 131072 0 - Live 0xffffffffc0400000\n"
			    "lz4hc 12288 0 - Live 0xffffffffc0410000\n"
			    "late 65536 0 - Live 0xffffffffc0401000\n"
			    "zram 65536 0 - Live 0xffffffffc0403000\n");
	given("1 cpu0 -1/-1 ksymbol start=0xffffffffc0412000 size=0x80 bpf "
	      "name=\"bpf_prog_1_x\"\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0400fff, 6000), "[raid6_pq]+0xfff");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0401010, 6000), "[late]+0x10");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0403010, 6000), "[zram]+0x10");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0410010, 6000), "[lz4hc]+0x10");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0412010, 6000),
			    "[bpf:bpf_prog_1_x]+0x10");
}

/* The size of a module covers the space of the next module's code. */
static void a_module_loaded_into_the_size_of_another_is_found_at_once(void **state)
{
	(void)state;
	put("proc/modules", "raid6_pq 131072 0 - Live 0xffffffffc0400000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0402000, 5000), "[raid6_pq]+0x2000");
	put("proc/modules", "zram 65536 0 - Live 0xffffffffc0404000\n"
			    "raid6_pq 131072 0 - Live 0xffffffffc0400000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0402000, 5001), "[raid6_pq]+0x2000");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0404010, 5002), "[zram]+0x10");
	put("proc/modules", "lz4hc 12288 0 - Live 0xffffffffc0406000\n"
			    "zram 65536 0 - Live 0xffffffffc0404000\n"
			    "raid6_pq 131072 0 - Live 0xffffffffc0400000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0405000, 5003), "[zram]+0x1000");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0406010, 5003), "[lz4hc]+0x10");
}

/* Late samples of a program are its own until a module has its place. */
static void a_module_takes_the_place_of_a_program_that_went(void **state)
{
	(void)state;
	at(0, MODE_KERNEL, 0xffffffff81000040);
	given("1 cpu0 -1/-1 ksymbol start=0xffffffffc0401000 size=0x80 bpf "
	      "name=\"bpf_prog_1_x\"\n"
	      "2 cpu0 -1/-1 ksymbol start=0xffffffffc0401000 size=0x80 bpf gone "
	      "name=\"bpf_prog_1_x\"\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0401010, 5000),
			    "[bpf:bpf_prog_1_x]+0x10");
	put("proc/modules", "late 8192 0 - Live 0xffffffffc0400000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffffc0401010, 6001), "[late]+0x1010");
}

static void a_bpf_program_is_an_image_of_its_own(void **state)
{
	(void)state;
	at(0, MODE_KERNEL, 0xffffffff81000040);
	given("1 cpu0 -1/-1 ksymbol start=0xffffffffc0001000 size=0x80 bpf "
	      "name=\"bpf_prog_1_x\"\n");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffffc0001010), "[bpf:bpf_prog_1_x]+0x10");
}

static void the_kernel_of_aarch64_begins_before_its_first_symbol(void **state)
{
	(void)state;
	put("proc/kallsyms", "ffffaafed7e10000 t gic_handle_irq\nffffaafed7e10000 T _stext\n");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffaafed7e10040), "[kernel]+0x10040");
}

static void a_module_behind_the_kernel_is_not_the_kernel(void **state)
{
	(void)state;
	put("proc/iomem", "40000000-5fffffff : System RAM\n"
			  "  40210000-4158ffff : Kernel code\n"
			  "  41a10000-41caffff : Kernel data\n");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffff82a9ffff), "[kernel]+0x1a9ffff");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffff83000010), "[kernel.unlisted]+0x0");
	put("proc/modules", "late 4096 1 - Live 0xffffffff83000000\n");
	assert_string_equal(at_ms(0, MODE_KERNEL, 0xffffffff83000010, 6000), "[late]+0x10");
}

static void hidden_kernel_addresses_are_reported(void **state)
{
	(void)state;
	put("proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T secondary\n");
	assert_string_equal(at(0, MODE_KERNEL, 0xffffffff81000040), "?no-kernel");
}

static void a_process_without_events_is_looked_up_in_proc(void **state)
{
	(void)state;
	put("proc/77/task/77/comm", "old one\n");
	put("proc/77/maps", "00400000-00401000 r--p 00000000 08:01 12                 /bin/old\n"
			    "00401000-00402000 r-xp 00001000 08:01 12                 /bin/old\n"
			    "7f000000-7f001000 r-xp 00000000 00:00 0\n");
	assert_string_equal(user(77, 0x401234), "/bin/old+0x1234");
	assert_string_equal(user(77, 0x7f000010), "[anon]+0x7f000010");
	assert_string_equal(comm_of(77, 77), "old one");
	assert_string_equal(user(78, 0x401234), "?no-process");
}

static void a_program_that_was_executed_unseen_is_found_in_proc(void **state)
{
	(void)state;
	given("0 cpu0 41/41 comm exec name=\"sh\"\n"
	      "0 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x0 path=\"/bin/sh\"\n"
	      "0 cpu0 42/42 comm exec name=\"app\"\n"
	      "0 cpu0 42/42 mmap start=0x601000 size=0x1000 off=0x0 path=\"/bin/app\"\n"
	      "0 cpu0 42/42 mmap start=0x7f0000 size=0x1000 off=0x0 path=\"/lib/a.so\"\n"
	      "0 cpu0 43/43 fork parent=41/41\n"
	      "0 cpu0 44/44 comm exec name=\"jailed\"\n"
	      "0 cpu0 44/44 mmap start=0x701000 size=0x1000 off=0x0 dev=34359738369 ino=16 "
	      "path=\"/app\"\n"
	      "0 cpu0 44/44 mmap start=0x7f0000 size=0x1000 off=0x0 path=\"/lib/a.so\"\n");
	/* Its root is /srv/jail (chroot(2)). */
	put("proc/44/task/44/comm", "jailed\n");
	put("proc/44/maps", "00701000-00702000 r-xp 00000000 08:01 16 /srv/jail/app\n");
	put("proc/41/task/41/comm", "worker\n");
	put("proc/41/maps", "00300000-00301000 r-xp 00000000 08:01 13 /lib/a.so\n"
			    "00401000-00402000 r-xp 00000000 08:01 12 /bin/sh\n");
	put("proc/42/task/42/comm", "app\n");
	put("proc/42/maps", "00601000-00602000 r-xp 00000000 08:01 14 /bin/app (deleted)\n");
	put("proc/43/task/43/comm", "ls\n");
	put("proc/43/maps", "00500000-00501000 r-xp 00000000 08:01 15 /bin/shell\n"
			    "00600000-00601000 r-xp 00000000 00:00 0\n");
	assert_int_equal(machine_scan_again(fx.machine, 1000, &fx.sink), 0);
	/* The same programs, whose mappings stay. */
	assert_string_equal(app_of(41), "/bin/sh");
	assert_string_equal(comm_of(41, 41), "worker");
	assert_string_equal(user(41, 0x300010), "/lib/a.so+0x10");
	assert_string_equal(app_of(42), "/bin/app");
	assert_string_equal(user(42, 0x7f0010), "/lib/a.so+0x10");
	assert_string_equal(app_of(44), "/app");
	assert_string_equal(user(44, 0x7f0010), "/lib/a.so+0x10");
	/* Another one: no mapping of the old one is left. */
	assert_string_equal(app_of(43), "/bin/shell");
	assert_string_equal(comm_of(43, 43), "ls");
	assert_string_equal(user(43, 0x401010), "?unmapped");
	assert_string_equal(user(43, 0x500010), "/bin/shell+0x10");
}

static void a_process_whose_first_thread_has_ended_has_the_mappings_of_another(void **state)
{
	(void)state;
	put("proc/77/task/77/comm", "ended\n");
	put("proc/77/maps", "");
	put("proc/77/task/77/maps", "");
	put("proc/77/task/79/maps", "00401000-00402000 r-xp 00001000 08:01 12 /bin/app\n");
	assert_string_equal(user(77, 0x401234), "/bin/app+0x1234");
}

/* A guest's path names a file in the guest, and this machine may have another one there. */
static void a_dump_that_a_guest_names_is_not_read_here(void **state)
{
	struct dump d = { 0 };
	FILE *f = fopen("./jit-41.dump", "w");

	(void)state;
	assert_non_null(f);
	dump_header(&d);
	load(&d, 2000, 0x5000, 1, "compiled");
	assert_int_equal(fwrite(d.b.data, d.b.len, 1, f), 1);
	fclose(f);
	buf_fini(&d.b);
	machine_free(fx.machine);
	fx.machine = machine_new(&(struct machine_config){ fx.proc, fx.sys, .is_offline = true });
	for (int32_t pid = 41, i = 0; i < 2; i++, pid = guest_task(300, 41)) {
		map_at(pid, 0x5000, "//anon");
		map_at(pid, 0x9000, "./jit-41.dump");
	}
	assert_string_equal(user(41, 0x5004), "./jit-41.dump+0x6d");
	assert_string_equal(user(guest_task(300, 41), 0x5004), "[anon]+0x5004");
	unlink("./jit-41.dump");
}

static void idle_is_the_swapper(void **state)
{
	(void)state;
	assert_string_equal(comm_of(0, 0), "swapper");
	assert_string_equal(app_of(0), "[kernel]");
}

static void a_name_that_no_sample_has_takes_no_memory(void **state)
{
	char text[96];
	uint32_t n;

	(void)state;
	given("0.1 cpu0 41/41 comm name=\"first\"\n");
	machine_thread(fx.machine, 41, 41);
	n = machine_strings(fx.machine)->n;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "0.1 cpu0 41/41 comm name=\"name%d\"\n", i);
		given(text);
	}
	assert_int_equal(machine_strings(fx.machine)->n, n);
	assert_string_equal(strings_get(machine_strings(fx.machine),
					machine_thread(fx.machine, 41, 41).comm),
			    "name999");
	assert_int_equal(machine_strings(fx.machine)->n, n + 1);
}

/* A process can map a page, unmap it, and map another one for ever. */
static void more_mappings_than_a_user_may_have_are_left_out(void **state)
{
	const uint64_t most = MAPPINGS_USER_BYTES / 1024 * 1024 / sizeof(struct mapping) - 1;

	(void)state;
	put("proc/41/comm", "app");
	for (uint64_t i = 0; i < most; i++)
		map_at(41, 0x1000 + 0x2000 * i, "/app");
	assert_int_equal(machine_take_refusals(fx.machine).mappings, 0);
	map_at(41, 0x1000 + 0x2000 * most, "/app");
	assert_int_equal(machine_take_refusals(fx.machine).mappings, 1);
	assert_string_equal(user(41, 0x1000 + 0x2000 * most), "?unmapped");
	assert_string_equal(user(41, 0x1000 + 0x2000 * (most - 1)), "/app+0x0");
	/* Other users are not affected, and neither is the process's next program. */
	for (uint64_t i = 0; i <= 2 * MAPPINGS_FREE; i++)
		map_at(42, 0x1000 + 0x2000 * i, "/app");
	given("0.1 cpu0 41/41 comm exec name=\"app\"\n");
	for (uint64_t i = 0; i <= 2 * MAPPINGS_FREE; i++)
		map_at(41, 0x1000 + 0x2000 * i, "/app");
	assert_int_equal(machine_take_refusals(fx.machine).mappings, 0);
}

static void more_files_than_a_user_may_name_have_one_image(void **state)
{
	enum { NAME_BYTES = 4000 };
	const uint32_t most = FILES_USER_BYTES / (NAME_BYTES + sizeof(struct image));
	char path[NAME_BYTES];

	(void)state;
	put("proc/41/comm", "app");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[NAME_BYTES - 1] = '\0';
	for (uint32_t i = 0; i <= most; i++) {
		for (int k = 1; k < 5; k++)
			path[k] = (char)('a' + (i >> (k - 1) * 4 & 15));
		if (i == most)
			assert_int_equal(machine_take_refusals(fx.machine).files, 0);
		map_at(41, 0x1000 + 0x2000 * (uint64_t)i, path);
	}
	assert_int_equal(machine_take_refusals(fx.machine).files, 1);
	assert_string_equal(user(41, 0x1000 + 0x2000 * (uint64_t)most), NAME_TOO_MANY_FILES "+0x0");
	/* Known files keep their names, and other users are not affected. */
	path[1] = path[2] = path[3] = path[4] = 'a';
	map_at(41, 0x1000, path);
	map_at(42, 0x1000, "/app");
	assert_string_equal(user(42, 0x1000), "/app+0x0");
	assert_int_equal(machine_take_refusals(fx.machine).files, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_address_becomes_an_offset_in_the_file, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_fork_has_its_parents_mappings_and_an_exec_has_none, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pid_that_is_used_again_is_another_process, setup,
						teardown),
		cmocka_unit_test_setup_teardown(threads_share_a_process_and_have_names_of_their_own,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_thread_that_has_ended_keeps_its_name_for_late_samples, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thread_that_executes_a_program_is_the_only_one,
						setup, teardown),
		cmocka_unit_test_setup_teardown(threads_from_before_belong_to_their_process, setup,
						teardown),
		cmocka_unit_test_setup_teardown(anonymous_code_keeps_its_address, setup, teardown),
		cmocka_unit_test_setup_teardown(a_deleted_file_keeps_its_name, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_that_no_sample_has_takes_no_memory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(more_mappings_than_a_user_may_have_are_left_out,
						setup, teardown),
		cmocka_unit_test_setup_teardown(more_files_than_a_user_may_name_have_one_image,
						setup, teardown),
		cmocka_unit_test_setup_teardown(kernel_addresses_count_from_text_or_their_module,
						setup, teardown),
		cmocka_unit_test_setup_teardown(offsets_in_the_kernel_become_addresses_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_module_loaded_meanwhile_is_found, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			addresses_of_nothing_have_modules_read_ever_more_seldom, setup, teardown),
		cmocka_unit_test_setup_teardown(a_module_takes_the_place_of_one_that_went, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			the_kernel_of_aarch64_begins_before_its_first_symbol, setup, teardown),
		cmocka_unit_test_setup_teardown(a_module_behind_the_kernel_is_not_the_kernel, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_module_loaded_into_the_size_of_another_is_found_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(modules_whose_sizes_overlap_are_all_found, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_module_takes_the_place_of_a_program_that_went,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_bpf_program_is_an_image_of_its_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(hidden_kernel_addresses_are_reported, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_process_without_events_is_looked_up_in_proc,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_program_that_was_executed_unseen_is_found_in_proc,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_process_whose_first_thread_has_ended_has_the_mappings_of_another, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_dump_that_a_guest_names_is_not_read_here, setup,
						teardown),
		cmocka_unit_test_setup_teardown(idle_is_the_swapper, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
