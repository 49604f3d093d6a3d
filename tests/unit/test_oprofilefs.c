/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * oprofilefs, mounted. A process serves it as the recorder does, and the test uses it as any
 * program. Also the tap that feeds its buffer.
 *
 * One process must not serve and use it: if it were killed while it waits for its own answer, it
 * would wait for ever.
 */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "event/text.h"
#include "oprofile/fs/event_buffer.h"
#include "oprofile/fs/event_tap.h"
#include "oprofile/fs/mountpoint.h"
#include "oprofile/fs/oprofilefs.h"
#include "pipeline/pipeline.h"
#include "record/raw.h"

#define APP                                                                         \
	"0.6 cpu0 41/41 comm exec name=\"app\"\n"                                   \
	"0.6 cpu0 41/41 mmap start=0x1000 size=0x1000 off=0 path=\"/bin/a\\\\b\"\n" \
	"0.6 cpu0 41/41 mmap start=0x4000 size=0x1000 off=0 path=\"/lib/c.so\"\n"   \
	"0.6 cpu0 41/41 mmap start=0x8000 size=0x1000 off=0 path=\"//anon\"\n"

static struct {
	char root[64], mountpoint[96];
	struct machine *machine;
	struct pipeline *pipeline;
	struct oprofilefs *fs;
	struct counters counters;
	pid_t server; /* 0: none */
	int stop;     /* closed, it ends */
	bool is_enabled;
} fx;

static void given(const char *text)
{
	struct error err = { 0 };

	if (event_parse_text(text, pipeline_sink(fx.pipeline), &err) < 0)
		fail_msg("%s", err.text);
	/* Samples wait for the identity of their files. */
	while (pipeline_is_looking(fx.pipeline)) {
		usleep(1000);
		pipeline_take_looks(fx.pipeline);
	}
}

/* ---- the daemon's part ---- */

/* Two samples come when counting begins, and two with each dump. */
static void sample(void)
{
	/* One by one: the second waits for no file, and would pass a first one that waits. */
	given("0.7 cpu0 41/41 sample mode=user ip=0x1010 user=0x4020,0x1030\n");
	given("0.7 cpu1 41/41 sample mode=user ip=0x8010\n");
}

static int enable(void *context, bool on, struct error *err)
{
	(void)context, (void)err;
	fx.is_enabled = on;
	if (on)
		sample();
	return 0;
}

static bool is_enabled(void *context)
{
	(void)context;
	return fx.is_enabled;
}

static int dump(void *context, struct error *err)
{
	(void)context, (void)err;
	if (fx.is_enabled)
		sample();
	return 0;
}

static int set_events(void *context, const char *const *specs, size_t n, struct error *err)
{
	(void)context, (void)specs, (void)n;
	return error_set(err, -ENODEV, "no such thing");
}

static const struct counters *counters_now(void *context)
{
	(void)context;
	return &fx.counters;
}

static void stats(void *context, struct oprofile_stats *out)
{
	(void)context;
	out->sample_received = pipeline_counts(fx.pipeline).samples;
}

static void set_tap(void *context, const struct sample_tap *tap)
{
	(void)context;
	pipeline_set_tap(fx.pipeline, tap);
}

static int mount_here(struct error *err)
{
	struct oprofilefs_config c = {
		.mountpoint = fx.mountpoint,
		.host = { .enable = enable,
			  .is_enabled = is_enabled,
			  .dump = dump,
			  .set_events = set_events,
			  .counters = counters_now,
			  .stats = stats },
		.n_cpus = 2,
		.set_tap = set_tap,
	};

	return oprofilefs_mount(&c, &fx.fs, err);
}

/* Until the test closes its end of the pipe (0), or somebody unmounts it (1). */
static int serve(int stop)
{
	for (;;) {
		struct pollfd fds[] = { { oprofilefs_fd(fx.fs), POLLIN, 0 }, { stop, POLLIN, 0 } };

		if (poll(fds, 2, 100) < 0 || fds[1].revents)
			return 0;
		if (oprofilefs_serve(fx.fs) < 0)
			return 1;
	}
}

static void be_server(int stop, int ready)
{
	struct error err = { 0 };
	int r;

	if (mount_here(&err) < 0) {
		dprintf(ready, "%s", err.text);
		_exit(2);
	}
	oprofilefs_set_machine(fx.fs, fx.machine);
	close(ready);
	r = serve(stop);
	oprofilefs_unmount(fx.fs);
	_exit(r);
}

/* What serve() said; -1: it ended otherwise. */
static int stop_serving(void)
{
	int status;

	if (!fx.server)
		return -1;
	close(fx.stop);
	assert_int_equal(waitpid(fx.server, &status, 0), fx.server);
	fx.server = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int setup(void **state)
{
	static const struct session_info info = { .start_ns = 500000000, .arch = "x86_64" };
	struct pipeline_config c = { .ops = &no_store, .info = &info, .dir = "" };
	struct machine_config m;
	char proc[80];

	(void)state;
	memset(&fx, 0, sizeof(fx));
	strcpy(fx.root, "oprofilefs-XXXXXX");
	if (!mkdtemp(fx.root))
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", fx.root);
	snprintf(fx.mountpoint, sizeof(fx.mountpoint), "%s/mount here", fx.root);
	m = (struct machine_config){ proc, fx.root };
	fx.machine = machine_new(&m);
	c.machine = fx.machine;
	c.proc = proc;
	fx.pipeline = pipeline_open(&c, NULL);
	given(APP);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	stop_serving();
	umount2(fx.mountpoint, MNT_DETACH); /* of a test that failed */
	pipeline_close(fx.pipeline, NULL, NULL, NULL);
	machine_free(fx.machine);
	return file_remove_tree(fx.root, NULL);
}

/* Skips where nothing can be mounted. */
static void mounted(void)
{
	char why[512] = "";
	int stop[2], ready[2];
	ssize_t n;

	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	fx.server = fork();
	if (!fx.server) {
		close(stop[1]);
		close(ready[0]);
		be_server(stop[0], ready[1]);
	}
	close(stop[0]);
	close(ready[1]);
	fx.stop = stop[1];
	n = read(ready[0], why, sizeof(why) - 1);
	close(ready[0]);
	if (n > 0)
		skip_because("%s", why);
}

/* ---- a user's part ---- */

static int open_file(const char *name, int flags)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", fx.mountpoint, name);
	return open(path, flags | O_CLOEXEC, 0644);
}

static const char *read_file(const char *name)
{
	static char text[4096];
	int fd = open_file(name, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	if (n < 0)
		fail_msg("%s: %s", name, strerror(errno));
	text[n] = '\0';
	return text;
}

/* As the shell's `echo TEXT > NAME`. */
static int write_file(const char *name, const char *text)
{
	int fd = open_file(name, O_WRONLY | O_CREAT | O_TRUNC);
	int r = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -errno;

	close(fd);
	return r;
}

static void files_are_read_and_written(void **state)
{
	char path[160];
	struct stat st;

	(void)state;
	mounted();
	assert_string_equal(read_file("pointer_size"), "8\n");
	assert_string_equal(read_file("enable"), "0\n");
	assert_int_equal(write_file("buffer_size", "4096\n"), 0);
	assert_string_equal(read_file("buffer_size"), "4096\n");
	assert_int_equal(write_file("buffer_size", "nonsense\n"), -EINVAL);
	assert_non_null(strstr(read_file("last_error"), "'nonsense' is not a number"));
	assert_int_equal(write_file("enable", "1\n"), 0);
	assert_string_equal(read_file("enable"), "1\n");
	assert_string_equal(read_file("stats/sample_received"), "2\n");
	assert_string_equal(read_file("stats/cpu1/sample_received"), "0\n");
	assert_int_equal(open_file("none", O_RDONLY), -1);
	snprintf(path, sizeof(path), "%s/dump", fx.mountpoint);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0666);
	assert_int_equal(chmod(path, 0777), -1);
}

static void directories_are_listed(void **state)
{
	char command[512];

	(void)state;
	mounted();
	snprintf(command, sizeof(command),
		 "cd '%s' && test \"$(echo $(ls stats/cpu1))\" = 'backtrace_aborted "
		 "sample_invalid_eip sample_lost_overflow sample_received' && "
		 "test \"$(find . -type f | grep -cE '^./0/(count|event|kernel|user)$')\" = 4 && "
		 "find . -type f ! -name buffer -exec cat {} + >/dev/null",
		 fx.mountpoint);
	assert_int_equal(system(command), 0);
}

static void the_stream_has_one_reader(void **state)
{
	int fd, other;

	(void)state;
	mounted();
	fd = open_file("buffer", O_RDONLY);
	assert_true(fd >= 0);
	other = open_file("buffer", O_RDONLY);
	assert_true(other < 0 && errno == EBUSY);
	close(fd);
	/* release() of a closed file comes soon, not at once. */
	wait_until((fd = open_file("buffer", O_RDONLY)) >= 0);
	close(fd);
}

/* All of a stream up to its end: what it says of its samples. */
static void samples_of(const uint64_t *words, size_t size, struct buf *out)
{
	struct estream_reader r = estream_reader_over(words, size, 8);
	struct estream_context c = { 0 };
	struct estream_entry e;
	struct estream_item item;

	while (estream_next(&r, &item))
		if (estream_follow(&c, &item, &e))
			buf_printf(out, "%s%u/%d/%lu %lu+%lx\n", e.is_caller ? "\t" : "", c.cpu,
				   c.tgid, c.app, e.place.cookie, e.place.offset);
	assert_true(r.at == r.end);
}

static void a_reader_gets_samples_and_then_the_end(void **state)
{
	uint64_t words[4096];
	struct buf text = { 0 };
	char expected[512];
	uint64_t a = 0, c_so = 0;
	size_t size = 0;
	ssize_t n;
	int fd;

	(void)state;
	mounted();
	assert_int_equal(write_file("backtrace_depth", "1"), 0);
	fd = open_file("buffer", O_RDONLY);
	assert_int_equal(write_file("enable", "1"), 0);
	assert_int_equal(write_file("dump", "1"), 0);
	n = read(fd, words, sizeof(words));
	assert_true(n > 0 && n % 8 == 0);
	size += (size_t)n;
	assert_int_equal(sscanf(read_file("cookies"), "%lu /bin/a\\134b\n%lu /lib/c.so\n", &a,
				&c_so),
			 2);
	assert_int_equal(write_file("enable", "0"), 0);
	n = read(fd, (char *)words + size, sizeof(words) - size);
	assert_int_equal(n, 0);
	close(fd);
	samples_of(words, size, &text);
	snprintf(expected, sizeof(expected),
		 "0/41/%lu %lu+10\n\t0/41/%lu %lu+20\n1/41/%lu 0+8010\n", a, a, a, c_so, a);
	assert_memory_equal(buf_cstr(&text), expected, strlen(expected));
	assert_string_equal(buf_cstr(&text) + strlen(expected), expected);
	buf_fini(&text);
}

static void *write_dump(void *context)
{
	(void)context;
	poll(NULL, 0, 100);
	write_file("dump", "1");
	return NULL;
}

static void a_dump_wakes_a_reader_that_waits(void **state)
{
	struct pollfd p = { .events = POLLIN };
	uint64_t words[512];
	pthread_t writer;

	(void)state;
	mounted();
	assert_int_equal(write_file("enable", "1"), 0);
	p.fd = open_file("buffer", O_RDONLY | O_NONBLOCK);
	assert_true(read(p.fd, words, sizeof(words)) < 0 && errno == EAGAIN);
	assert_int_equal(poll(&p, 1, 0), 0);
	pthread_create(&writer, NULL, write_dump, NULL);
	assert_int_equal(poll(&p, 1, (int)test_deadline_s() * 1000), 1);
	pthread_join(writer, NULL);
	assert_true(read(p.fd, words, sizeof(words)) > 0);
	fcntl(p.fd, F_SETFL, 0);
	pthread_create(&writer, NULL, write_dump, NULL);
	assert_true(read(p.fd, words, sizeof(words)) > 0);
	assert_true(read(p.fd, words, 4) < 0 && errno == EINVAL);
	pthread_join(writer, NULL);
	close(p.fd);
}

/* A child that has `buffer` open, and reads it until it ends: 0, or the errno of the last read. */
static pid_t start_reader(void)
{
	uint64_t words[512];
	int ready[2], fd;
	pid_t pid;
	ssize_t n;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid) {
		close(ready[1]);
		assert_int_equal(read(ready[0], words, 1), 1);
		close(ready[0]);
		return pid;
	}
	close(fx.stop);
	fd = open_file("buffer", O_RDONLY);
	if (fd < 0 || write(ready[1], "", 1) != 1)
		_exit(99);
	do
		n = read(fd, words, sizeof(words));
	while (n > 0);
	_exit(n < 0 ? errno : 0);
}

static void a_reader_that_is_killed_leaves_the_stream_free(void **state)
{
	pid_t pid;
	int fd = -1, status;

	(void)state;
	mounted();
	pid = start_reader();
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	wait_until((fd = open_file("buffer", O_RDONLY)) >= 0);
	close(fd);
}

static void unmounting_while_it_is_read_ends_the_file(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	mounted();
	pid = start_reader();
	assert_int_equal(stop_serving(), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* A read that came in the very last moment is refused. */
	assert_true(WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == ENOTCONN ||
					  WEXITSTATUS(status) == ECONNABORTED));
	assert_null(mountpoint_type(fx.mountpoint));
}

static void unmounting_by_others_is_noticed(void **state)
{
	int status;

	(void)state;
	mounted();
	assert_int_equal(umount2(fx.mountpoint, 0), 0);
	assert_int_equal(waitpid(fx.server, &status, 0), fx.server);
	fx.server = 0;
	close(fx.stop);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

/* A process that mounts and is killed. */
static void mount_and_die(void)
{
	struct error err = { 0 };
	pid_t pid = fork();
	int status;

	if (pid) {
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status))
			skip_because("nothing can be mounted here");
		return;
	}
	if (mount_here(&err) < 0)
		_exit(1);
	kill(getpid(), SIGKILL);
}

static void what_a_killed_daemon_left_is_unmounted_at_the_next_start(void **state)
{
	struct stat st;

	(void)state;
	mount_and_die();
	assert_true(stat(fx.mountpoint, &st) < 0 && errno == ENOTCONN);
	mounted();
	assert_string_equal(read_file("pointer_size"), "8\n");
	assert_int_equal(stop_serving(), 0);
	assert_null(mountpoint_type(fx.mountpoint));
}

static void two_daemons_do_not_share_a_place(void **state)
{
	struct error err = { 0 };

	(void)state;
	mounted();
	assert_int_equal(mount_here(&err), -EBUSY);
	assert_non_null(strstr(err.text, "another daemon's oprofilefs"));
	assert_null(fx.fs);
}

static void impossible_places_are_reported(void **state)
{
	struct error err = { 0 };
	int r;

	(void)state;
	if (access("/dev/fuse", W_OK) < 0)
		skip_because("/dev/fuse can't be opened");
	strcpy(fx.mountpoint, "/proc/none/here");
	r = mount_here(&err);
	if (r == -ENOTSUP)
		skip_because("built without libfuse3");
	assert_int_equal(r, -ENOENT);
	strcpy(fx.mountpoint, "/dev/null");
	assert_int_equal(mount_here(&err), -ENOTDIR);
	strcpy(fx.mountpoint, "/proc");
	assert_int_equal(mount_here(&err), -EBUSY);
	assert_string_equal(err.text, "oprofilefs at /proc: /proc: a file system of type proc is "
				      "mounted there");
	assert_null(fx.fs);
	strcpy(fx.mountpoint, "/tmp/assay-oprofilefs-none");
}

/* ---- the tap ---- */

static void what_is_nowhere_is_lost_and_a_full_buffer_too(void **state)
{
	struct event_buffer *buffer = event_buffer_new(1024, 0);
	struct event_tap *tap = event_tap_new(buffer, 0);
	struct pipeline_sample many = { .pid = 41, .tid = 41, .samples = 5000, .leaf_loss = -1 };
	struct code_addr frame;
	struct thread_view thread = machine_thread(fx.machine, 41, 41);

	(void)state;
	pipeline_set_tap(fx.pipeline, event_tap_samples(tap));
	sample(); /* no machine yet */
	assert_false(event_buffer_is_ready(buffer));
	event_tap_set_machine(tap, fx.machine);
	given("0.7 cpu0 41/41 sample mode=user ip=0xdead\n"
	      "0.7 cpu0 41/41 sample mode=kernel ip=0xffffffff81000000\n");
	assert_int_equal(event_tap_counts(tap).lost_no_mapping, 2);
	sample();
	assert_int_equal(event_tap_counts(tap).lost_overflow, 0);
	assert_int_equal(machine_resolve(fx.machine, &thread, MODE_USER, 0x1010, 1, &frame), -1);
	many.app = thread.app;
	many.frames = &frame;
	many.n_frames = 1;
	pipeline_add(fx.pipeline, &many);
	/* 13 words for the state changes, and 2 for each sample. */
	assert_in_range(event_tap_counts(tap).lost_overflow, 5000 - 512, 5000 - 480);
	pipeline_set_tap(fx.pipeline, NULL);
	event_tap_free(tap);
	event_buffer_free(buffer);
}

static void put(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/proc", fx.root);
	assert_int_equal(file_mkdirs(path, 0755, NULL), 0);
	snprintf(path, sizeof(path), "%s/proc/%s", fx.root, name);
	assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static void kernel_samples_have_addresses_and_modules_come_once(void **state)
{
	struct event_buffer *buffer = event_buffer_new(1024, 1024);
	struct event_tap *tap = event_tap_new(buffer, 0);
	struct estream_context c = { 0 };
	struct estream_entry e = { 0 };
	struct estream_reader r;
	struct estream_item item;
	struct buf text = { 0 };
	uint64_t words[256];

	(void)state;
	put("kallsyms", "ffffffff81000000 T _text\n");
	put("modules", "ext4 4096 1 - Live 0xffffffffc0100000\n");
	event_tap_set_machine(tap, fx.machine);
	pipeline_set_tap(fx.pipeline, event_tap_samples(tap));
	given("0.7 cpu0 41/41 sample mode=kernel ip=0xffffffff81000040\n"
	      "0.7 cpu0 41/41 sample mode=kernel ip=0xffffffffc0100010\n"
	      "0.7 cpu0 41/41 sample mode=kernel ip=0xffffffffc0100020\n");
	r = estream_reader_over(words, (size_t)event_buffer_read(buffer, words, sizeof(words)), 8);
	while (estream_next(&r, &item))
		if (item.kind == ESTREAM_MODULE_LOADED)
			buf_str(&text, "modules ");
		else if (estream_follow(&c, &item, &e))
			buf_printf(&text, "%d:%lx ", e.place.is_kernel, e.place.offset);
	assert_string_equal(buf_cstr(&text), "1:ffffffff81000040 modules 1:ffffffffc0100010 "
					     "1:ffffffffc0100020 ");
	pipeline_set_tap(fx.pipeline, NULL);
	event_tap_free(tap);
	event_buffer_free(buffer);
	buf_fini(&text);
}

static void cookies_stay_when_another_recording_begins(void **state)
{
	struct event_buffer *buffer = event_buffer_new(1024, 0);
	struct event_tap *tap = event_tap_new(buffer, 0);
	struct machine *next = machine_new(&(struct machine_config){ .is_offline = true });
	struct image image = { .kind = IMAGE_FILE, .path = "/bin/next" };
	struct buf before = { 0 }, after = { 0 };

	(void)state;
	event_tap_set_machine(tap, fx.machine);
	event_tap_cookies(tap, &before);
	assert_true(before.len > 0);
	event_tap_set_machine(tap, NULL);
	event_tap_set_machine(tap, next);
	image_intern(machine_images(next), &image);
	event_tap_cookies(tap, &after);
	assert_memory_equal(after.data, before.data, before.len);
	assert_string_equal(strchr(buf_cstr(&after) + before.len, ' '), " /bin/next\n");
	assert_true(strtoul(buf_cstr(&after) + before.len, NULL, 10) >
		    image_count(machine_images(fx.machine)));
	event_tap_free(tap);
	event_buffer_free(buffer);
	machine_free(next);
	buf_fini(&before);
	buf_fini(&after);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_read_and_written),
		TEST(directories_are_listed),
		TEST(the_stream_has_one_reader),
		TEST(a_reader_gets_samples_and_then_the_end),
		TEST(a_dump_wakes_a_reader_that_waits),
		TEST(a_reader_that_is_killed_leaves_the_stream_free),
		TEST(unmounting_while_it_is_read_ends_the_file),
		TEST(unmounting_by_others_is_noticed),
		TEST(what_a_killed_daemon_left_is_unmounted_at_the_next_start),
		TEST(two_daemons_do_not_share_a_place),
		TEST(impossible_places_are_reported),
		TEST(what_is_nowhere_is_lost_and_a_full_buffer_too),
		TEST(kernel_samples_have_addresses_and_modules_come_once),
		TEST(cookies_stay_when_another_recording_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
