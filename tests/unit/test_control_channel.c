/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages that steer a recording: how they are cut, who sends them, and their acknowledgements. */
#include "record/control_channel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/error.h"
#include "scratch.h"

static char told[512];

static void tell(void *context, const char *sentence)
{
	(void)context;
	snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s\n", sentence);
}

/* All messages that are there now, as "enable stop ". */
static const char *read_messages(struct control_channel *c)
{
	static char all[256];
	enum control_message m;
	const char *argument;

	*all = *told = '\0';
	while (control_channel_next(c, &m, &argument, tell, NULL) > 0) {
		strcat(strcat(all, control_message_words[m]), " ");
		if (*argument)
			strcat(strcat(strcat(all, "("), argument), ") ");
		control_channel_ack(c);
	}
	return all;
}

static bool has_something(struct control_channel *c)
{
	struct pollfd p = { .fd = control_channel_fd(c), .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static struct control_channel *open_fifos(void)
{
	struct control_channel *c;
	struct error err = { 0 };

	unlink("ctl");
	unlink("ack");
	assert_int_equal(mkfifo("ctl", 0600), 0);
	assert_int_equal(mkfifo("ack", 0600), 0);
	if (control_channel_open("fifo:ctl,ack", &c, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void messages_are_put_together_wherever_they_are_cut(void **state)
{
	static const char text[] = "enable\n  stop \n\nping\0disable\r\n";
	size_t n = sizeof(text) - 1;

	(void)state;
	for (size_t step = 1; step <= n; step++) {
		struct control_text t = { 0 };
		char all[64] = "";

		for (size_t at = 0; at < n;) {
			size_t used, size = n - at < step ? n - at : step;

			if (control_text_feed(&t, text + at, size, &used))
				strcat(strcat(all, t.text), ".");
			assert_true(used <= size && used > 0);
			at += used;
		}
		assert_string_equal(all, "enable.stop.ping.disable.");
		assert_false(control_text_end(&t));
	}
}

static void long_lines_are_one_unknown_message(void **state)
{
	struct control_text t = { 0 };
	char line[1000];
	const char *argument;
	size_t used;

	(void)state;
	memset(line, 'x', sizeof(line));
	assert_false(control_text_feed(&t, line, sizeof(line), &used));
	assert_int_equal(used, sizeof(line));
	assert_true(control_text_feed(&t, "\nstop\n", 6, &used));
	assert_int_equal(control_text_message(&t, &argument), -1);
	assert_true(control_text_feed(&t, "stop\n", 5, &used));
	assert_int_equal(control_text_message(&t, &argument), CONTROL_STOP);
}

static void several_messages_of_one_write_are_all_acknowledged(void **state)
{
	struct control_channel *c = open_fifos();
	int fd = open("ctl", O_WRONLY | O_NONBLOCK), ack = open("ack", O_RDONLY | O_NONBLOCK);
	char bytes[64] = "";

	(void)state;
	assert_true(fd >= 0 && ack >= 0);
	assert_false(has_something(c));
	say(fd, "enable\nnonsense\ndisable\nsto");
	assert_true(has_something(c));
	assert_string_equal(read_messages(c), "enable disable ");
	assert_string_equal(told,
			    "--control: 'nonsense' is none of enable, disable, snapshot, stop, "
			    "ping, evlist\n");
	assert_int_equal(read(ack, bytes, sizeof(bytes)), 8);
	assert_string_equal(bytes, "ack\nack\n");
	assert_false(has_something(c));
	say(fd, "p\nping\n");
	assert_string_equal(read_messages(c), "stop ping ");
	assert_string_equal(told, "");
	/* Arguments, where there may be some. */
	say(fd, "enable  cpu-clock\nevlist -v\ndisable sched:sched_switch \nenabled\n");
	assert_string_equal(read_messages(c),
			    "enable (cpu-clock) evlist (-v) disable (sched:sched_switch) ");
	assert_non_null(strstr(told, "'enabled' is none of"));
	say(fd, "stop now\nping\n");
	assert_string_equal(read_messages(c), "ping ");
	assert_non_null(strstr(told, "'stop now' is none of"));
	close(fd);
	close(ack);
	control_channel_close(c);
}

static void writers_come_and_go(void **state)
{
	struct control_channel *c = open_fifos();

	(void)state;
	for (int i = 0; i < 3; i++) {
		int fd = open("ctl", O_WRONLY | O_NONBLOCK);

		assert_true(fd >= 0);
		/*
		 * The last command before the end needs no newline. An incomplete command is
		 * reported.
		 */
		say(fd, i == 1 ? "disable\nena" : "ping\nsnapshot");
		close(fd);
		assert_true(has_something(c));
		assert_string_equal(read_messages(c), i == 1 ? "disable " : "ping snapshot ");
		assert_true((i == 1) == (strstr(told, "'ena' is none of") != NULL));
		assert_false(has_something(c));
	}
	control_channel_close(c);
}

static void acknowledgements_wait_for_a_slow_reader(void **state)
{
	struct control_channel *c = open_fifos();
	int fd = open("ctl", O_WRONLY | O_NONBLOCK), ack = open("ack", O_RDONLY | O_NONBLOCK);
	size_t n_messages = 40000, n_acks = 0;
	enum control_message m;
	const char *argument;
	char bytes[4096];
	ssize_t n;

	(void)state;
	for (size_t i = 0; i < n_messages; i++) {
		say(fd, "ping\n");
		assert_int_equal(control_channel_next(c, &m, &argument, tell, NULL), 1);
		control_channel_ack(c);
	}
	do {
		while ((n = read(ack, bytes, sizeof(bytes))) > 0)
			n_acks += (size_t)n;
		/* There is room, so it comes without a message. */
		assert_true(n_acks == n_messages * 4 || has_something(c));
		control_channel_next(c, &m, &argument, tell, NULL);
	} while (n_acks < n_messages * 4);
	assert_int_equal(read(ack, bytes, sizeof(bytes)), -1);
	assert_false(has_something(c));
	close(fd);
	close(ack);
	control_channel_close(c);
}

static void descriptors_serve_as_well(void **state)
{
	struct control_channel *c;
	int ctl[2], ack[2];
	char spec[64];

	(void)state;
	assert_int_equal(pipe(ctl), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ack), 0);
	snprintf(spec, sizeof(spec), "fd:%d,%d", ctl[0], ack[0]);
	assert_int_equal(control_channel_open(spec, &c, NULL), 0);
	say(ctl[1], "stop\n");
	close(ack[1]); /* nobody reads: no SIGPIPE, and no end of the recording */
	assert_string_equal(read_messages(c), "stop ");
	close(ctl[1]);
	assert_true(has_something(c));
	assert_string_equal(read_messages(c), "");
	assert_false(has_something(c));
	control_channel_close(c);
	/* They are the caller's. */
	assert_true(fcntl(ctl[0], F_GETFD) >= 0);
	close(ctl[0]);
	close(ack[0]);
}

static void assert_refused(const char *spec, int code, const char *why)
{
	struct control_channel *c;
	struct error err = { 0 };
	int r = control_channel_open(spec, &c, &err);

	if (r != code || !strstr(err.text, why))
		fail_msg("'%s': %d '%s', expected %d '%s'", spec, r, err.text, code, why);
}

static void what_can_not_serve_is_refused_by_name(void **state)
{
	int pipe_fds[2];
	char spec[64];

	(void)state;
	write_file("plain", "");
	assert_int_equal(mkfifo("good", 0600), 0);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_refused("", -EINVAL, "give fifo:CTL[,ACK]");
	assert_refused("pipe:x", -EINVAL, "'pipe:x'");
	assert_refused("fifo:", -EINVAL, "fifo:CTL");
	assert_refused("fifo:good,", -EINVAL, "fifo:CTL");
	assert_refused("fd:x", -EINVAL, "fd:N");
	assert_refused("fd:1,", -EINVAL, "fd:N");
	assert_refused("fd:1,2,3", -EINVAL, "fd:N");
	assert_refused("fifo:absent", -ENOENT,
		       "absent: No such file or directory; make it with mkfifo");
	assert_refused("fifo:plain", -ENODEV, "plain is no FIFO; make one with mkfifo");
	assert_refused("fifo:good,plain", -ENODEV, "plain is no FIFO");
	assert_refused("fd:999", -EBADF, "descriptor 999");
	snprintf(spec, sizeof(spec), "fd:%d", pipe_fds[1]);
	assert_refused(spec, -EBADF, "is not open for reading");
	snprintf(spec, sizeof(spec), "fd:%d,%d", pipe_fds[0], pipe_fds[0]);
	assert_refused(spec, -EBADF, "is not open for writing");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_put_together_wherever_they_are_cut),
		cmocka_unit_test(long_lines_are_one_unknown_message),
		cmocka_unit_test(several_messages_of_one_write_are_all_acknowledged),
		cmocka_unit_test(writers_come_and_go),
		cmocka_unit_test(acknowledgements_wait_for_a_slow_reader),
		cmocka_unit_test(descriptors_serve_as_well),
		cmocka_unit_test(what_can_not_serve_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
