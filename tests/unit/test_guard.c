/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that a profiled program controls: only the regular file below its own root is opened. */
#include "guard/open.h"

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include "guard/budget.h"
#include "guard/readable.h"

#include "scratch.h"

#include "base/error.h"

#define NOBODY 65534

static void need_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd < 0 && errno == ENOSYS)
		skip_because("openat2(2) is not here: an older kernel, or an emulator");
	close(fd);
}

/* A process 41 of a /proc here, whose root is "inside". Beside the root lies a secret. */
static int make_root(void)
{
	int root;

	need_openat2();
	run_command("rm -rf proc inside secret && mkdir -p proc/41 inside/bin && "
		    "ln -s ../../inside proc/41/root && echo host >secret && echo own >inside/own");
	root = guard_root("proc", 41);
	assert_true(root >= 0);
	return root;
}

/* The first letter of the file that is opened, or the negative errno. */
static int first_letter(int root, const char *path, const struct guard_rules *rules)
{
	cleanup(close_at_exit) int fd = guard_open(root, path, rules, NULL);
	char letter = 0;

	return fd < 0 ? fd : read(fd, &letter, 1) == 1 ? letter : 0;
}

static void a_regular_file_is_opened(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	struct file_mapping file;
	struct stat st;

	(void)state;
	assert_int_equal(first_letter(root, "/own", &guard_image_rules), 'o');
	assert_int_equal(first_letter(root, "/absent", &guard_image_rules), -ENOENT);
	assert_int_equal(first_letter(GUARD_HERE, "secret", &guard_image_rules), 'h');
	assert_int_equal(guard_map(root, "/own", &guard_image_rules, &file, NULL), 0);
	assert_memory_equal(file.base, "own\n", file.size);
	file_unmap(&file);
	assert_int_equal(guard_map_below("proc/41/root", "/own", &guard_image_rules, &file, NULL),
			 0);
	file_unmap(&file);
	assert_int_equal(guard_stat_below("inside", "/own", &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(guard_stat_below("absent", "/own", &st), -ENOENT);
}

/* Without O_PATH first, opening this FIFO would wake its writer. */
static void a_fifo_is_not_opened(void **state)
{
	cleanup(close_at_exit) int root = make_root();

	(void)state;
	assert_int_equal(mkfifo("inside/fifo", 0600), 0);
	assert_int_equal(first_letter(root, "/fifo", &guard_image_rules), -EINVAL);
}

static void a_device_is_not_opened(void **state)
{
	(void)state;
	need_openat2();
	assert_int_equal(first_letter(GUARD_HERE, "/dev/zero", &guard_image_rules), -EINVAL);
	assert_int_equal(guard_link("/dev/zero", &guard_image_rules, NULL), -EINVAL);
	assert_int_equal(first_letter(GUARD_HERE, "/dev", &guard_image_rules), -EINVAL);
}

static void a_link_does_not_leave_the_root(void **state)
{
	cleanup(close_at_exit) int root = make_root();

	(void)state;
	run_command("ln -s ../../../../$PWD/secret inside/up; ln -s \"$PWD/secret\" inside/abs; "
		    "ln -s /own inside/fine");
	assert_int_equal(first_letter(root, "/up", &guard_image_rules), -ENOENT);
	assert_int_equal(first_letter(root, "/abs", &guard_image_rules), -ENOENT);
	assert_int_equal(first_letter(root, "/../secret", &guard_image_rules), -ENOENT);
	assert_int_equal(first_letter(root, "/fine", &guard_image_rules), 'o');
}

static void a_last_link_is_refused_on_request(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	struct guard_rules rules = guard_image_rules;

	(void)state;
	rules.is_link_refused = true;
	assert_int_equal(symlink("own", "inside/link"), 0);
	assert_int_equal(first_letter(root, "/link", &rules), -ELOOP);
	assert_int_equal(first_letter(root, "/own", &rules), 'o');
}

static void a_folder_that_became_a_link_stays_inside(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	cleanup(close_at_exit) int folder = -1;

	(void)state;
	run_command("echo bin >inside/bin/secret");
	assert_int_equal(first_letter(root, "/bin/secret", &guard_image_rules), 'b');
	run_command("mv inside/bin inside/old && ln -s \"$PWD\" inside/bin");
	assert_int_equal(first_letter(root, "/bin/secret", &guard_image_rules), -ENOENT);
	folder = guard_folder(root, "/bin", NULL);
	assert_int_equal(folder, -ENOENT);
}

static void a_magic_link_is_passed_by_its_own_function_alone(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	cleanup(close_at_exit) int own = open("inside/own", O_RDONLY | O_CLOEXEC);
	cleanup(free_at_exit) char *link = xasprintf("/proc/self/fd/%d", own);
	const struct guard_place place = { .root = "", .process = "/proc/self" };
	struct file_mapping file;

	(void)state;
	(void)root; /* the folder that it makes is needed */
	assert_int_equal(first_letter(GUARD_HERE, link, &guard_image_rules), -ELOOP);
	assert_int_equal(symlink("/proc/self/exe", "exe"), 0);
	assert_int_equal(first_letter(GUARD_HERE, "exe", &guard_image_rules), -ELOOP);
	assert_int_equal(guard_map_place(&place, link, &guard_image_rules, &file, NULL), 0);
	assert_memory_equal(file.base, "own\n", file.size);
	file_unmap(&file);
	unlink("exe");
}

/* The letter behind a whole path, as image_files and symbolizers have them. */
static int letter_of_place(const char *root, const char *process, const char *path)
{
	const struct guard_place place = { .root = root, .process = process };
	struct file_mapping file;
	int r = guard_map_place(&place, path, &guard_image_rules, &file, NULL);

	if (r < 0)
		return r;
	r = file.base[0];
	file_unmap(&file);
	return r;
}

static void a_whole_path_stays_below_its_own_root(void **state)
{
	(void)state;
	close(make_root());
	run_command("ln -s ../secret inside/up && ln -s ../../secret proc/41/exe");
	assert_int_equal(letter_of_place("inside", NULL, "inside/own"), 'o');
	assert_int_equal(letter_of_place("inside", NULL, "inside/up"), -ENOENT);
	assert_int_equal(letter_of_place("", NULL, "inside/up"), 'h');
	assert_int_equal(letter_of_place("", "proc/41", "proc/41/root/own"), 'o');
	assert_int_equal(letter_of_place("", "proc/41", "proc/41/root/up"), -ENOENT);
	assert_int_equal(letter_of_place("", "proc/41", "proc/41/exe"), 'h');
	/* A recording that names a link of /proc does not get through it. */
	assert_int_equal(letter_of_place("", NULL, "/proc/self/exe"), -ELOOP);
	assert_int_equal(letter_of_place("", "/proc/41", "/proc/self/root/etc/passwd"), -ELOOP);
}

static void a_file_that_is_too_large_is_refused(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	struct guard_rules rules = { .max_bytes = 3, .owner = GUARD_ANY_OWNER };
	struct file_mapping file;

	(void)state;
	assert_int_equal(first_letter(root, "/own", &rules), -EFBIG);
	rules.max_bytes = 4;
	assert_int_equal(first_letter(root, "/own", &rules), 'o');
	assert_int_equal(truncate("inside/own", (off_t)4 << 40), 0);
	assert_int_equal(guard_map(root, "/own", &guard_image_rules, &file, NULL), -EFBIG);
}

static void a_file_of_another_user_is_refused(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	struct guard_rules rules;

	(void)state;
	if (geteuid())
		skip_because("chown(2) needs root");
	write_file("proc/41/status", "Name:\tx\nUid:\t0\t65534\t0\t0\n");
	rules = guard_rules_of_process("proc", 41, 100);
	assert_int_equal(rules.owner, NOBODY);
	assert_int_equal(first_letter(root, "/own", &rules), 'o'); /* of root */
	assert_int_equal(chown("inside/own", NOBODY, NOBODY), 0);
	assert_int_equal(first_letter(root, "/own", &rules), 'o');
	assert_int_equal(chown("inside/own", 1, NOBODY), 0);
	assert_int_equal(first_letter(root, "/own", &rules), -EPERM);
	/* A process that has ended cannot say whose file it is. */
	rules = guard_rules_of_process("proc", 42, 100);
	assert_int_equal(rules.owner, 0);
	assert_int_equal(first_letter(root, "/own", &rules), -EPERM);
}

static int no_such_call(int dir, const char *path, const struct open_how *how)
{
	(void)dir, (void)path, (void)how;
	errno = ENOSYS;
	return -1;
}

static int refused_call(int dir, const char *path, const struct open_how *how)
{
	(void)dir, (void)path, (void)how;
	errno = EPERM;
	return -1;
}

static unsigned int n_busy;

static int busy_call(int dir, const char *path, const struct open_how *how)
{
	if (n_busy && n_busy--) {
		errno = EAGAIN;
		return -1;
	}
	return (int)syscall(SYS_openat2, dir, path, how, sizeof(*how));
}

static void without_openat2_nothing_is_opened(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	guard_openat2 before = guard_set_openat2(no_such_call);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(guard_open(root, "/own", &guard_image_rules, &err), -ENOSYS);
	assert_string_equal(err.text,
			    "/own: not opened, because openat2(2) is not available (it needs "
			    "Linux 5.6, and a container's seccomp filter may refuse it)");
	guard_set_openat2(refused_call);
	assert_int_equal(guard_open(root, "/own", &guard_image_rules, &err), -ENOSYS);
	assert_non_null(strstr(err.text, "seccomp"));
	guard_set_openat2(before);
}

static void a_rename_on_the_way_is_tried_again(void **state)
{
	cleanup(close_at_exit) int root = make_root();
	guard_openat2 before = guard_set_openat2(busy_call);

	(void)state;
	n_busy = 3;
	assert_int_equal(first_letter(root, "/own", &guard_image_rules), 'o');
	n_busy = UINT32_MAX;
	assert_int_equal(first_letter(root, "/own", &guard_image_rules), -EAGAIN);
	guard_set_openat2(before);
}

/* Of the file at a path. */
static bool is_readable_by(const char *path, uint32_t user)
{
	cleanup(close_at_exit) int fd = open(path, O_PATH | O_CLOEXEC);

	assert_true(fd >= 0);
	return guard_is_readable_by(fd, user);
}

static void a_file_is_readable_by_its_bits_and_those_of_its_folders(void **state)
{
	uint32_t self = geteuid() ? geteuid() : NOBODY;

	(void)state;
	run_command("mkdir -p shut/open open && echo a >open/all && echo b >open/owner && "
		    "echo c >shut/open/all && chmod 644 open/all shut/open/all && "
		    "chmod 600 open/owner && chmod 755 open shut/open && chmod 700 shut");
	if (!geteuid())
		assert_int_equal(chown("open/owner", self, 0), 0);
	assert_true(is_readable_by("open/all", self));
	assert_true(is_readable_by("open/all", GUARD_NOBODY));
	assert_true(is_readable_by("open/owner", self));
	assert_false(is_readable_by("open/owner", GUARD_NOBODY));
	assert_false(is_readable_by("shut/open/all", GUARD_NOBODY));
	assert_true(is_readable_by("shut/open/all", 0));
	/* The class of the owner decides, though others may read. */
	assert_int_equal(chmod("open/owner", 0044), 0);
	assert_false(is_readable_by("open/owner", self));
	/* Links on the way do not hide the real folders. */
	assert_int_equal(symlink("shut/open", "door"), 0);
	assert_false(is_readable_by("door/all", GUARD_NOBODY));
}

static void shares_have_limits_by_user_and_in_total(void **state)
{
	struct guard_budget budget = { .user_bytes = 10 << 10, .total_bytes = 15 << 10 };
	struct guard_share one = { .budget = &budget, .user = 1 };
	struct guard_share again = one, other = { .budget = &budget, .user = 2 }, free = { 0 };

	(void)state;
	assert_true(guard_share_set(&one, 6 << 10));
	assert_false(guard_share_set(&again, (4 << 10) + 1)); /* of the same user */
	assert_true(guard_share_set(&again, 4 << 10));
	assert_false(guard_share_set(&other, 6 << 10)); /* of all users */
	assert_true(guard_share_set(&other, 5 << 10));
	assert_false(guard_share_set(&one, 7 << 10));
	assert_int_equal(one.held, 6);
	assert_true(guard_share_set(&one, 1));
	assert_int_equal(budget.used, 1 + 4 + 5);
	assert_true(guard_share_set(&other, 10 << 10));
	assert_false(guard_share_set(&other, UINT64_MAX));
	assert_true(guard_share_set(&free, UINT64_MAX)); /* without a budget */
	assert_true(guard_share_set(&one, 0));
	assert_true(guard_share_set(&again, 0));
	assert_true(guard_share_set(&other, 0));
	assert_int_equal(budget.by_user.n, 0);
	guard_budget_fini(&budget);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_regular_file_is_opened),
		cmocka_unit_test(a_fifo_is_not_opened),
		cmocka_unit_test(a_device_is_not_opened),
		cmocka_unit_test(a_link_does_not_leave_the_root),
		cmocka_unit_test(a_last_link_is_refused_on_request),
		cmocka_unit_test(a_folder_that_became_a_link_stays_inside),
		cmocka_unit_test(a_magic_link_is_passed_by_its_own_function_alone),
		cmocka_unit_test(a_whole_path_stays_below_its_own_root),
		cmocka_unit_test(a_file_that_is_too_large_is_refused),
		cmocka_unit_test(a_file_of_another_user_is_refused),
		cmocka_unit_test(without_openat2_nothing_is_opened),
		cmocka_unit_test(a_rename_on_the_way_is_tried_again),
		cmocka_unit_test(a_file_is_readable_by_its_bits_and_those_of_its_folders),
		cmocka_unit_test(shares_have_limits_by_user_and_in_total),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
