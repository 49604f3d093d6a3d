/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped files that are cut while they are read. */
#include "base/files/block_cache.h"
#include "base/files/cut_guard.h"
#include "base/files/file.h"
#include "base/files/secret_file.h"
#include "commands/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "scratch.h"

#define PAGE ((size_t)65536) /* of any machine, or several */

static void write_pages(const char *name, size_t n)
{
	char *text = xmalloc(n * PAGE + 1);

	memset(text, 'x', n * PAGE);
	text[n * PAGE] = '\0';
	write_file(name, text);
	free(text);
}

static int with_guard(void **state)
{
	(void)state;
	cut_guard_enable();
	return 0;
}

/* The first test: the guard stays once it is there. */
static void without_the_guard_a_file_is_copied(void **state)
{
	struct file_mapping copy = { 0 };
	struct sigaction before, after;

	(void)state;
	assert_false(cut_guard_is_enabled());
	assert_int_equal(sigaction(SIGBUS, NULL, &before), 0);
	write_pages("copied", 2);
	assert_int_equal(file_map("copied", &copy, NULL), 0);
	assert_int_equal(sigaction(SIGBUS, NULL, &after), 0);
	assert_true(before.sa_handler == after.sa_handler);
	assert_int_equal(truncate("copied", 0), 0);
	assert_int_equal(copy.size, 2 * PAGE);
	assert_int_equal(madvise((void *)copy.base, copy.size, MADV_DONTNEED), 0);
	assert_int_equal(copy.base[0], 'x');
	assert_int_equal(copy.base[2 * PAGE - 1], 'x');
	assert_false(file_is_cut(&copy));
	file_unmap(&copy);
	assert_int_equal(file_map("copied", &copy, NULL), 0); /* empty now */
	assert_null(copy.base);
	file_unmap(&copy);
}

static void what_a_file_has_lost_reads_as_zeros(void **state)
{
	struct file_mapping cut = { 0 }, whole = { 0 };

	(void)state;
	write_pages("cut", 4);
	write_pages("whole", 2);
	assert_int_equal(file_map("cut", &cut, NULL), 0);
	assert_int_equal(file_map("whole", &whole, NULL), 0);
	assert_int_equal(cut.base[3 * PAGE], 'x');
	assert_int_equal(truncate("cut", PAGE), 0);
	assert_false(file_is_cut(&cut));
	assert_int_equal(cut.base[0], 'x');
	assert_false(file_is_cut(&cut));
	assert_int_equal(cut.base[2 * PAGE], 0);
	assert_true(file_is_cut(&cut));
	assert_int_equal(cut.base[4 * PAGE - 1], 0);
	assert_int_equal(cut.base[PAGE], 0); /* before the page that was read first */
	assert_int_equal(cut.base[0], 'x');
	assert_int_equal(whole.base[PAGE], 'x');
	assert_false(file_is_cut(&whole));
	file_unmap(&cut);
	file_unmap(&whole);
	assert_false(file_is_cut(&cut));
}

static void small_files_are_copied_and_large_ones_mapped(void **state)
{
	struct file_mapping small = { 0 }, large = { 0 }, empty = { 0 };
	FILE *f;

	(void)state;
	write_file("small", "abc");
	write_pages("large", 1);
	write_file("empty", "");
	f = fopen("small", "re");
	assert_int_equal(file_load_fd(fileno(f), "small", 3, &small, NULL), 0);
	fclose(f);
	f = fopen("large", "re");
	assert_int_equal(file_load_fd(fileno(f), "large", PAGE - 1, &large, NULL), 0);
	fclose(f);
	f = fopen("empty", "re");
	assert_int_equal(file_load_fd(fileno(f), "empty", 3, &empty, NULL), 0);
	fclose(f);
	assert_int_equal(small.size, 3);
	assert_memory_equal(small.base, "abc", 3);
	assert_null(small.guard);
	assert_non_null(large.guard);
	assert_int_equal(large.base[PAGE - 1], 'x');
	assert_int_equal(empty.size, 0);
	/* The copy stays, whatever happens to its file, and to memory of mappings. */
	file_rest(&small, 0, small.size);
	assert_int_equal(truncate("small", 0), 0);
	assert_memory_equal(small.base, "abc", 3);
	assert_false(file_is_cut(&small));
	file_unmap(&small);
	file_unmap(&large);
	file_unmap(&empty);
}

static void a_held_file_is_mapped_when_it_is_needed(void **state)
{
	struct file_mapping held = { 0 };
	int fd = open("held", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(file_hold_fd(fd, "held", &held, NULL), 0);
	assert_null(held.base);
	assert_int_equal(held.size, 3);
	assert_int_equal(held.uid, geteuid());
	assert_int_equal(file_descriptor(&held), fd);
	assert_int_equal(file_map_held(&held, "held", NULL), 0);
	assert_memory_equal(held.base, "abc", 3);
	file_close_fd(&held);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(file_descriptor(&held), -1);
	assert_memory_equal(held.base, "abc", 3);
	file_unmap(&held);
	fd = open("held", O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_hold_fd(fd, "held", &held, NULL), 0);
	file_unmap(&held);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = open(".", O_RDONLY | O_CLOEXEC);
	assert_int_equal(file_hold_fd(fd, ".", &held, NULL), -EINVAL);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void a_file_gets_its_permissions_whatever_the_umask_is(void **state)
{
	mode_t before = umask(077);
	struct stat st;

	(void)state;
	assert_int_equal(file_replace_mode("open", 0640, "x", 1, NULL), 0);
	umask(0);
	assert_int_equal(file_replace_mode("secret", 0400, "x", 1, NULL), 0);
	umask(before);
	assert_int_equal(stat("open", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat("secret", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0400);
}

static void a_tree_is_removed_and_no_link_followed(void **state)
{
	(void)state;
	assert_int_equal(file_mkdirs("tree/of/some", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("beside", 0700, NULL), 0);
	write_file("tree/of/file", "x");
	write_file("beside/file", "x");
	assert_int_equal(symlink("../beside", "tree/link"), 0);
	assert_int_equal(file_remove_tree("tree", NULL), 0);
	assert_int_equal(access("tree", F_OK), -1);
	assert_int_equal(access("beside/file", F_OK), 0);
	assert_int_equal(file_remove_tree("tree", NULL), 0); /* nothing there is as well */
}

static void many_files_are_guarded_at_once(void **state)
{
	struct file_mapping maps[300] = { 0 };

	(void)state;
	write_pages("many", 2);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		assert_int_equal(file_map("many", &maps[i], NULL), 0);
	assert_int_equal(truncate("many", 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		assert_int_equal(maps[i].base[PAGE], 0);
		assert_true(file_is_cut(&maps[i]));
		file_unmap(&maps[i]);
	}
}

/* A bus error that is no guarded file's ends the process, as it does without us. */
static size_t resident_pages(const struct file_mapping *m)
{
	cleanup(free_at_exit) char *text = NULL;
	char range[64];
	const char *at;
	size_t kb = 0;

	snprintf(range, sizeof(range), "%zx-", (size_t)m->base);
	assert_int_equal(file_read_all("/proc/self/smaps", 64 << 20, &text, NULL), 0);
	at = strstr(text, range);
	assert_non_null(at);
	at = strstr(at, "\nRss:");
	assert_non_null(at);
	assert_int_equal(sscanf(at, " Rss: %zu kB", &kb), 1);
	return kb * 1024 / PAGE;
}

static void the_memory_of_large_files_comes_back_when_they_are_read(void **state)
{
	struct file_mapping large = { 0 }, small = { 0 };
	volatile uint8_t sum = 0;

	(void)state;
	write_pages("large", 64);
	write_pages("small", 8);
	assert_int_equal(file_map("large", &large, NULL), 0);
	assert_int_equal(file_map("small", &small, NULL), 0);
	/* Each page: how much a fault maps around its page is the kernel's choice. */
	for (size_t i = 0; i < large.size; i += (size_t)sysconf(_SC_PAGESIZE))
		sum += large.base[i] + small.base[i % small.size];
	(void)sum;
	if (UNIT_IS_EMULATED && !resident_pages(&large)) {
		file_unmap(&large);
		file_unmap(&small);
		skip_because("the emulator's smaps has no sizes");
	}
	assert_int_equal(resident_pages(&large), 64);
	cut_guard_rest(64 * PAGE);
	assert_int_equal(resident_pages(&large), 0);
	assert_int_equal(resident_pages(&small), 8);
	for (size_t i = 0; i < large.size; i++)
		assert_int_equal(large.base[i], 'x');
	assert_false(file_is_cut(&large));
	file_unmap(&large);
	cut_guard_rest(0); /* of a file that is there no longer: nothing */
	file_unmap(&small);
}

static void other_bus_errors_are_not_hidden(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	write_pages("foreign", 2);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct file_mapping guarded = { 0 };
		FILE *f = fopen("foreign", "r+");
		volatile char *base;

		signal(SIGBUS, SIG_DFL); /* cmocka's, which goes on */
		file_map("foreign", &guarded, NULL);
		base = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE, fileno(f), 0);
		if (truncate("foreign", 0) < 0 || base[PAGE])
			_exit(0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static int end_by(int number, bool has_name)
{
	int status = 0;
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		for (int i = SIGHUP; i <= SIGTERM; i++)
			signal(i, SIG_DFL);
		temporary_begin("out.tmp");
		write_file("out.tmp", "half of it");
		if (has_name)
			temporary_end();
		raise(number);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void a_file_without_a_name_goes_with_its_process(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		int status = end_by(signals[i], false);

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
		assert_int_not_equal(access("out.tmp", F_OK), 0);
	}
	end_by(SIGINT, true);
	assert_int_equal(access("out.tmp", F_OK), 0);
}

/* ---- blocks kept between runs ---- */

struct block {
	uint64_t checksum;
	struct build_id id;
	uint16_t owner;
	uint8_t bytes[2000000];
};
#define KIND_OF_BLOCKS(max, written)                                                            \
	{                                                                                       \
		"test", offsetof(struct block, bytes), offsetof(struct block, checksum),        \
			offsetof(struct block, id), offsetof(struct block, owner), max, written \
	}
static const struct block_kind kind = KIND_OF_BLOCKS(BLOCK_CACHE_BYTES, &(uint64_t){ UINT64_MAX });
/* of 40 blocks */
static const struct block_kind shared_kind = KIND_OF_BLOCKS(1638400, &(uint64_t){ UINT64_MAX });
static const struct build_id block_id = { .len = 1, .bytes = { 0xab } };

static bool is_whole_block(void)
{
	struct file_mapping file = { 0 };
	bool is_whole = block_cache_map(&kind, "blocks", &block_id, &file);

	file_unmap(&file);
	return is_whole;
}

/* A block whose file was last written that long ago. */
static void write_block(time_t age_s)
{
	struct block *block = xcalloc(1, sizeof(*block));
	const struct timespec then = { .tv_sec = time(NULL) - age_s }, times[2] = { then, then };

	block_cache_write(&kind, "blocks", &block_id, 0, block, sizeof(*block));
	assert_int_equal(utimensat(AT_FDCWD, "blocks/ab.test", times, 0), 0);
	free(block);
}

/* Its pieces are given back, and the file has them all. */
static void a_mapped_block_is_written_in_pieces(void **state)
{
	struct block *made = xcalloc(1, sizeof(*made)), *block;
	struct file_mapping file = { 0 };
	int fd = memfd_create("block", MFD_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < sizeof(made->bytes); i++)
		made->bytes[i] = (uint8_t)(i * i / 7);
	assert_int_equal(file_write_all(fd, made, sizeof(*made)), 0);
	block = mmap(NULL, sizeof(*block), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(block, MAP_FAILED);
	block_cache_write_mapped(&kind, "blocks", &block_id, 0, block, sizeof(*block));
	assert_true(block_cache_map(&kind, "blocks", &block_id, &file));
	assert_int_equal(file.size, sizeof(*made));
	assert_memory_equal(((const struct block *)(const void *)file.base)->bytes, made->bytes,
			    sizeof(made->bytes));
	file_unmap(&file);
	munmap(block, sizeof(*block));
	close(fd);
	free(made);
}

static bool has_mark(void)
{
	return listxattr("blocks/ab.test", NULL, 0) > 0;
}

static void change_block(void)
{
	assert_true(try_command("printf X | dd of=blocks/ab.test bs=1 seek=100000 conv=notrunc"));
}

/* Of 40,960 bytes on disk, written in the order of the calls. */
static void write_block_of(uint32_t uid, uint8_t number)
{
	static time_t then = 1000000;
	struct block *block = xcalloc(1, sizeof(*block));
	struct build_id id = { .len = 1, .bytes = { number } };
	struct timespec times[2] = { { .tv_sec = then }, { .tv_sec = then } };
	char path[32];

	then++;
	block_cache_write(&shared_kind, "shared", &id, uid, block, 40960);
	snprintf(path, sizeof(path), "shared/%02x.test", number);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	free(block);
}

/* Root has 5, one user has 16, and another one has 2, which are the oldest. */
static void write_blocks_of_users(void)
{
	assert_true(try_command("rm -rf shared"));
	write_block_of(54322, 0x20);
	write_block_of(54322, 0x21);
	for (uint8_t i = 0; i < 5; i++)
		write_block_of(0, i);
	for (uint8_t i = 0; i < 16; i++)
		write_block_of(54321, 0x10 + i);
}

static void blocks_within_the_limit_stay(void **state)
{
	(void)state;
	write_blocks_of_users();
	block_cache_trim(&shared_kind, "shared", 25 * 40960);
	assert_true(try_command("test $(ls shared | wc -l) = 23"));
}

static void the_user_with_most_blocks_loses_his_oldest(void **state)
{
	(void)state;
	write_blocks_of_users();
	/* an eighth is free then: 14 blocks stay */
	block_cache_trim(&shared_kind, "shared", 16 * 40960);
	assert_true(try_command("test \"$(ls shared | tr '\\n' ' ')\" = '00.test 01.test 02.test "
				"03.test 04.test 19.test 1a.test 1b.test 1c.test 1d.test 1e.test "
				"1f.test 20.test 21.test '"));
}

/* 4 of root, 2 of the one, and 2 of the other. Files of other kinds stay. */
static void root_keeps_half_and_the_others_share_the_rest(void **state)
{
	(void)state;
	write_blocks_of_users();
	assert_true(try_command("touch -d 1970-01-01 shared/else && "
				"head -c 8192 /dev/zero >shared/30.test.77.tmp"));
	block_cache_trim(&shared_kind, "shared", 10 * 40960);
	assert_true(try_command("test \"$(ls shared | tr '\\n' ' ')\" = '01.test 02.test 03.test "
				"04.test 1e.test 1f.test 20.test 21.test else '"));
}

static void a_folder_is_trimmed_as_blocks_are_written(void **state)
{
	(void)state;
	assert_true(try_command("rm -rf shared"));
	for (uint8_t i = 0; i < 100; i++)
		write_block_of(54321, i);
	/* at the limit, 35 stay, and more are written before it looks again */
	assert_true(try_command("n=$(ls shared | wc -l) && test $n -ge 35 && test $n -le 42 && "
				"test -e shared/63.test"));
}

static void a_block_is_verified_once_a_boot(void **state)
{
	struct stat before;
	struct timespec times[2];

	(void)state;
	write_block(0);
	assert_true(is_whole_block());
	assert_false(has_mark()); /* it is too new: a change could have its very time */
	write_block(100);
	assert_true(is_whole_block());
	if (!has_mark()) {
		skip_because("this file system has no extended attributes of users");
	}
	assert_true(is_whole_block());
	assert_int_equal(stat("blocks/ab.test", &before), 0);
	change_block();
	assert_false(is_whole_block());
	times[0] = times[1] = before.st_mtim;
	assert_int_equal(utimensat(AT_FDCWD, "blocks/ab.test", times, 0), 0);
	assert_true(is_whole_block()); /* which is why the bytes are never trusted */
	write_block(200);
	assert_true(is_whole_block());
	change_block();
	assert_false(is_whole_block());
}

static void a_secret_is_for_its_owner_and_for_groups_that_root_chose(void **state)
{
	const struct {
		uid_t user;
		gid_t group;
		mode_t forbidden;
	} rows[] = {
		{ 1000, getegid(), 077 }, { 0, 0, 07 },     { 0, getegid(), 07 },
		{ 0, 4000000, 077 },      { 1000, 0, 077 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct stat st = { .st_uid = rows[i].user, .st_gid = rows[i].group };

		assert_int_equal(secret_file_forbidden_bits(&st), rows[i].forbidden);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_for_its_owner_and_for_groups_that_root_chose),
		cmocka_unit_test(without_the_guard_a_file_is_copied),
		cmocka_unit_test_setup(what_a_file_has_lost_reads_as_zeros, with_guard),
		cmocka_unit_test_setup(many_files_are_guarded_at_once, with_guard),
		cmocka_unit_test_setup(the_memory_of_large_files_comes_back_when_they_are_read,
				       with_guard),
		cmocka_unit_test_setup(other_bus_errors_are_not_hidden, with_guard),
		cmocka_unit_test_setup(small_files_are_copied_and_large_ones_mapped, with_guard),
		cmocka_unit_test_setup(a_held_file_is_mapped_when_it_is_needed, with_guard),
		cmocka_unit_test(a_file_gets_its_permissions_whatever_the_umask_is),
		cmocka_unit_test(a_tree_is_removed_and_no_link_followed),
		cmocka_unit_test(a_file_without_a_name_goes_with_its_process),
		cmocka_unit_test(a_mapped_block_is_written_in_pieces),
		cmocka_unit_test(a_block_is_verified_once_a_boot),
		cmocka_unit_test(blocks_within_the_limit_stay),
		cmocka_unit_test(the_user_with_most_blocks_loses_his_oldest),
		cmocka_unit_test(root_keeps_half_and_the_others_share_the_rest),
		cmocka_unit_test(a_folder_is_trimmed_as_blocks_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
