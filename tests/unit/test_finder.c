/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where files of images are looked for, and the commands for their debug packages. */
#include "folder.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

#include "base/files/file.h"
#include "event/guest_task.h"
#include "machine/image.h"
#include "symbol/container_roots.h"
#include "symbol/debug_package.h"
#include "symbol/finder.h"
#include "symbol/symbols.h"

static void put_text(const char *path, const char *text)
{
	cleanup(free_at_exit) char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	assert_int_equal(file_mkdirs(dir, 0700, NULL), 0);
	assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

/* ---- packages ---- */

static void assert_command(const char *root, const char *path, const char *wanted)
{
	cleanup(free_at_exit) char *command = debug_package_command(root, path);

	if (wanted)
		assert_string_equal(command, wanted);
	else
		assert_null(command);
}

static void dpkg_names_the_package_of_a_file(void **state)
{
	(void)state;
	put_text("deb/etc/os-release", "NAME=\"Ubuntu\"\n\nID=ubuntu\nID_LIKE=debian\n");
	put_text("deb/var/lib/dpkg/info/libfoo1:amd64.list",
		 "/.\n/usr/lib\n/usr/lib/libfoo.so.1.2\n");
	put_text("deb/var/lib/dpkg/info/coreutils.list", "/.\n/bin\n/bin/sleep\n/bin/ls");
	put_text("deb/var/lib/dpkg/info/libc6:amd64.list", "/lib/libc.so.6\n");
	put_text("deb/var/lib/dpkg/status",
		 "Package: libfoo1-dev\nVersion: 9\n\nPackage: libfoo1\nStatus: ok\nVersion: "
		 "1.2-3\n\nPackage: coreutils\nStatus: ok\n\nPackage: libc6\nVersion: 2.36-9\n");
	assert_command("deb", "/usr/lib/libfoo.so.1.2", "apt install libfoo1-dbgsym=1.2-3");
	/* /lib is a link, and only one of the two paths is in the list */
	assert_command("deb", "/lib/libfoo.so.1.2", "apt install libfoo1-dbgsym=1.2-3");
	assert_command("deb", "/usr/bin/sleep", "apt install coreutils-dbgsym");
	assert_command("deb", "/usr/bin/ls", "apt install coreutils-dbgsym");
	assert_command("deb", "/usr/lib/libc.so.6", "apt install libc6-dbg=2.36-9");
	assert_command("deb", "/usr/lib/libfoo.so.1", NULL);
	assert_command("deb", "/home/me/app", NULL);
}

/* The system may be hostile, and users copy the command into a shell. */
static void names_that_a_shell_would_run_are_not_printed(void **state)
{
	(void)state;
	put_text("evil/etc/os-release", "ID=debian\n");
	put_text("evil/var/lib/dpkg/info/x$(reboot).list", "/usr/bin/a\n");
	put_text("evil/var/lib/dpkg/info/--force.list", "/usr/bin/b\n");
	put_text("evil/var/lib/dpkg/info/c.list", "/usr/bin/c\n");
	put_text("evil/var/lib/dpkg/status", "Package: c\nVersion: 1;reboot\n");
	assert_command("evil", "/usr/bin/a", NULL);
	assert_command("evil", "/usr/bin/b", NULL);
	assert_command("evil", "/usr/bin/c", NULL);
	put_text("evil2/etc/os-release", "ID=alpine\n");
	put_text("evil2/lib/apk/db/installed", "P:a`reboot`\nV:1\nF:bin\nR:a\n");
	assert_command("evil2", "/bin/a", NULL);
}

/* Its emulation (emulated_openat2.c) follows links out of a root. */
static void need_real_openat2(void)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	if (fd < 0)
		skip_because("openat2(2) is missing: Linux before 5.6, or an emulator");
	close(fd);
}

static void links_of_a_system_stay_in_it(void **state)
{
	(void)state;
	need_real_openat2();
	put_text("outside/os-release", "ID=debian\n");
	put_text("outside/dpkg/info/mine.list", "/usr/bin/a\n");
	put_text("linked/usr/lib/os-release", "ID=debian\n");
	put_text("linked/opt/dpkg/info/its.list", "/usr/bin/a\n");
	assert_int_equal(file_mkdirs("linked/etc", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("linked/var/lib", 0700, NULL), 0);
	assert_int_equal(symlink("/usr/lib/os-release", "linked/etc/os-release"), 0);
	assert_int_equal(symlink("/opt/dpkg", "linked/var/lib/dpkg"), 0);
	assert_command("linked", "/usr/bin/a", "apt install its-dbgsym");
	assert_int_equal(unlink("linked/var/lib/dpkg"), 0);
	assert_int_equal(symlink("../../../outside/dpkg", "linked/var/lib/dpkg"), 0);
	assert_command("linked", "/usr/bin/a", NULL);
}

static void apk_names_the_package_of_a_file(void **state)
{
	(void)state;
	put_text("alpine/etc/os-release", "ID=alpine\n");
	put_text("alpine/lib/apk/db/installed",
		 "P:zlib\nV:1.3-r2\nF:lib\nR:libz.so.1\n\nP:musl\nV:1.2.4-r2\nF:lib\n"
		 "R:ld-musl-x86_64.so.1\nF:usr/bin\nR:ldd\n");
	assert_command("alpine", "/lib/ld-musl-x86_64.so.1", "apk add musl-dbg=1.2.4-r2");
	assert_command("alpine", "/lib/libz.so.1", "apk add zlib-dbg=1.3-r2");
	assert_command("alpine", "/usr/lib/libz.so.1", NULL);
}

static void other_distributions_ask_rpm(void **state)
{
	(void)state;
	put_text("fedora/etc/os-release", "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n");
	put_text("suse/etc/os-release", "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n");
	put_text("none/etc/os-release", "ID=plan9\n");
	assert_command("fedora", "/usr/bin/a", "dnf debuginfo-install \"$(rpm -qf /usr/bin/a)\"");
	assert_command("suse", "/usr/bin/a",
		       "zypper install \"$(rpm -qf --qf '%{NAME}-debuginfo' /usr/bin/a)\"");
	assert_command("none", "/usr/bin/a", NULL);
	/* for a shell, a path is a word */
	assert_command("fedora", "/tmp/$(reboot)", NULL);
	assert_command("fedora", "/tmp/a b", NULL);
}

/* ---- containers ---- */

static bool has_root(const struct container_roots *roots, const char *path)
{
	vec_foreach (&roots->paths, root)
		if (!strcmp(*root, path))
			return true;
	return false;
}

static void roots_of_containers_are_listed(void **state)
{
	struct container_roots roots;
	char self[32];

	(void)state;
	assert_int_equal(file_mkdirs("m/var/lib/docker/overlay2/aa/diff", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("m/var/lib/docker/overlay2/l", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("m/var/lib/containers/storage/overlay/bb/diff", 0700, NULL),
			 0);
	assert_int_equal(file_mkdirs("m/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/"
				     "snapshots/7/fs",
				     0700, NULL),
			 0);
	assert_int_equal(file_mkdirs("m/proc/12/root", 0700, NULL), 0);
	assert_int_equal(file_mkdirs("m/proc/sys/root", 0700, NULL), 0);
	container_roots_init(&roots, "m");
	assert_true(has_root(&roots, "m/var/lib/docker/overlay2/aa/diff"));
	assert_true(has_root(&roots, "m/var/lib/containers/storage/overlay/bb/diff"));
	assert_true(has_root(&roots, "m/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/"
				     "snapshots/7/fs"));
	assert_true(has_root(&roots, "m/proc/12/root"));
	assert_int_equal(roots.paths.n, 4);
	container_roots_fini(&roots);
	/* processes in our own root are in no container */
	container_roots_init(&roots, "");
	snprintf(self, sizeof(self), "/proc/%d/root", (int)getpid());
	assert_false(has_root(&roots, self));
	container_roots_fini(&roots);
}

/* ---- the order of places ---- */

struct steps {
	enum finder_step steps[16];
	char *paths[16];
	uint32_t n;
};

static bool note_step(void *context, const struct image_place *place)
{
	struct steps *s = context;

	if (place->step == FINDER_CONTAINER)
		return false;
	s->paths[s->n] = xstrdup(place->path);
	s->steps[s->n++] = place->step;
	return false;
}

static void places_come_in_their_order(void **state)
{
	static const char *const dirs[] = { "listed" };
	const struct symbolizer_config config = { .root = "sys",
						  .image_dirs = dirs,
						  .n_image_dirs = 1 };
	struct image image = { .kind = IMAGE_FILE,
			       .path = "/opt/bin/app",
			       .build_id = { .len = 3, .bytes = { 0xab, 0xcd, 0xef } } };
	static const enum finder_step wanted[] = { FINDER_PATH,       FINDER_HERE,
						   FINDER_NAME,       FINDER_FOLDER,
						   FINDER_BUILD_ID,   FINDER_BUILD_ID,
						   FINDER_PERF_CACHE, FINDER_FETCHED };
	static const char *const paths[] = { "sys/opt/bin/app",
					     "/opt/bin/app",
					     "sys/app",
					     "listed/a/app",
					     "sys/usr/lib/debug/.build-id/ab/cdef",
					     "sys/usr/lib/debug/.build-id/ab/cdef.debug",
					     "/cache/.build-id/ab/cdef/elf",
					     "/fetched/abcdef/executable" };
	struct steps seen = { .n = 0 };
	struct finder finder;

	(void)state;
	setenv("PERF_BUILDID_DIR", "/cache", 1);
	setenv("DEBUGINFOD_CACHE_PATH", "/fetched", 1);
	put_text("listed/a/app", "");
	finder_init(&finder, &config);
	finder_each(&finder, &image, note_step, &seen);
	assert_int_equal(seen.n, ARRAY_SIZE(wanted));
	for (uint32_t i = 0; i < seen.n; i++) {
		assert_int_equal(seen.steps[i], wanted[i]);
		assert_string_equal(seen.paths[i], paths[i]);
		free(seen.paths[i]);
	}
	/* without a build id, only names and inodes lead to a file */
	image.build_id.len = 0;
	seen.n = 0;
	finder_each(&finder, &image, note_step, &seen);
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.steps[1], FINDER_NAME);
	for (uint32_t i = 0; i < seen.n; i++)
		free(seen.paths[i]);
	finder_fini(&finder);
}

/* However many guests a recording names, no file of this machine is taken for one of theirs. */
static void each_guest_has_files_of_its_own_or_none(void **state)
{
	const struct symbolizer_config config = { .root = "", .guest_mount = "/guests" };
	struct image image = { .kind = IMAGE_FILE, .path = "/usr/bin/app" };
	struct finder finder;

	(void)state;
	finder_init(&finder, &config);
	for (uint32_t guest = 1; guest <= 1030; guest++) {
		struct steps seen = { .n = 0 };

		image.generation = guest_file(guest);
		finder_each(&finder, &image, note_step, &seen);
		assert_int_equal(seen.n, guest <= 1024);
		for (uint32_t i = 0; i < seen.n; i++) {
			assert_int_equal(seen.steps[i], FINDER_GUEST);
			free(seen.paths[i]);
		}
	}
	finder_fini(&finder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dpkg_names_the_package_of_a_file),
		cmocka_unit_test(names_that_a_shell_would_run_are_not_printed),
		cmocka_unit_test(links_of_a_system_stay_in_it),
		cmocka_unit_test(apk_names_the_package_of_a_file),
		cmocka_unit_test(other_distributions_ask_rpm),
		cmocka_unit_test(roots_of_containers_are_listed),
		cmocka_unit_test(places_come_in_their_order),
		cmocka_unit_test(each_guest_has_files_of_its_own_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
