/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's statistics in their three forms, and the metrics over HTTP. */
#include "scratch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "config.h"
#include "daemon/metrics_http.h"
#include "daemon/statistics.h"

static const uint64_t cpu_samples[] = { 60, 40 };
static const char *const events[] = { "cycles", "we\"ird\\\n\xff" };

static struct statistics sample(void)
{
	struct statistics s = {
		.status = { .version = "1.2",
			    .session_dir = "/s",
			    .part = "p\xff",
			    .collector = "bpf",
			    .stacks = "in-kernel unwinding",
			    .note = NULL,
			    .write_error = "disk full",
			    .pid = 7,
			    .is_counting = true,
			    .start_wall_ns = 1795294800123000000,
			    .uptime_ns = 2500000000,
			    .wanted_hz = 49,
			    .rate_hz = 24,
			    .events = events,
			    .n_events = ARRAY_SIZE(events),
			    .samples = 100,
			    .lost = 5,
			    .unattributed = 3,
			    .cpu_samples = cpu_samples,
			    .n_cpus = ARRAY_SIZE(cpu_samples),
			    .own_cpu_ns = 1500000000,
			    .own_bytes = 23000000,
			    .cpu_percent = 0.25,
			    .max_cpu_percent = 1,
			    .max_bytes = 50000000,
			    .written_bytes = 4096,
			    .n_processes = 11,
			    .n_parts = 2,
			    .n_rate_changes = 1,
			    .user = 54321,
			    .user_name = "assay",
			    .is_filtered = true,
			    .fence_version = 4,
			    .helpers = { .keeper = { 8, 100000000, 1000000 },
					 .opener = { 9, 200000000, 2145728 },
					 .starter = { 11, 0, 3000 },
					 .n_openers_died = 1,
					 .parsers = { .n_running = 1,
						      .n_started = 3,
						      .n_died = 2,
						      .n_questions = 7,
						      .cpu_ns = 200000000,
						      .peak_bytes = 5000,
						      .bytes = 4000 },
					 .upkeep = 10,
					 .cpu_ns = 500000000,
					 .bytes = 3145728 } },
		.disk_bytes = 5000,
	};

	s.status.losses[LOSS_RING_FULL] = 5;
	s.status.losses[LOSS_UNMAPPED] = 3;
	s.status.losses[LOSS_THROTTLED] = 2;
	return s;
}

static void metrics_have_help_type_and_values(void **state)
{
	static const char *const lines[] = {
		"# HELP assay_samples_total Samples counted.\n"
		"# TYPE assay_samples_total counter\n"
		"assay_samples_total 100\n",
		"assay_build_info{version=\"1.2\"} 1\n",
		"assay_event_info{counter=\"0\",event=\"cycles\"} 1\n",
		"assay_event_info{counter=\"1\",event=\"we\\\"ird\\\\\\n\xef\xbf\xbd\"} 1\n",
		"assay_counting 1\n",
		"assay_daemon_helpers_cpu_seconds_total 0.500\n",
		"assay_daemon_helpers_memory_bytes 3145728\n",
		"assay_start_time_seconds 1795294800.123\n",
		"assay_lost_samples_total 5\n",
		"assay_lost_samples_by_reason_total{reason=\"ring-full\"} 5\n",
		"assay_lost_samples_by_reason_total{reason=\"pmu-buffer\"} 0\n",
		"assay_unattributed_samples_by_reason_total{reason=\"unmapped\"} 3\n",
		"assay_notes_total{reason=\"throttled\"} 2\n",
		"assay_daemon_cpu_seconds_total 1.500\n",
		"assay_daemon_cpu_ratio 0.0025\n",
		"assay_daemon_memory_bytes 23000000\n",
		"assay_cpu_samples_total{cpu=\"1\"} 40\n",
		"assay_write_failing 1\n",
		"assay_disk_bytes 5000\n",
	};
	struct statistics s = sample();
	struct buf out = { 0 };
	const char *text;

	(void)state;
	statistics_metrics(&s, &out);
	text = buf_cstr(&out);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("not there: %s", lines[i]);
	buf_fini(&out);
}

/* Debian's, which has Debian's modules. */
#define PYTHON "/usr/bin/python3"

/* As Prometheus itself reads it; counters end in _total. */
static void another_reader_takes_the_metrics(void **state)
{
	struct statistics s = sample();
	struct buf out = { 0 };

	(void)state;
	need_command(PYTHON " -c 'import prometheus_client.parser'");
	statistics_metrics(&s, &out);
	write_file("metrics", buf_cstr(&out));
	write_file("check.py",
		   "from prometheus_client.parser import text_string_to_metric_families as read\n"
		   "seen = {}\n"
		   "for f in read(open('metrics', encoding='utf-8').read()):\n"
		   "    assert f.documentation and f.type in ('counter', 'gauge'), f\n"
		   "    assert f.name not in seen, f.name\n"
		   "    seen[f.name] = f\n"
		   "    for s in f.samples:\n"
		   "        assert s.name.endswith('_total') == (f.type == 'counter'), s\n"
		   "labels = [s.labels for s in seen['assay_event_info'].samples]\n"
		   "assert labels[1]['event'] == 'we\"ird\\\\\\n\\ufffd', labels\n"
		   "assert seen['assay_samples'].samples[0].value == 100\n"
		   "assert len(seen) > 20\n");
	run_command(PYTHON " check.py");
	buf_fini(&out);
}

static void json_has_the_known_fields(void **state)
{
	struct statistics s = sample();
	json_t *o = json_object();
	cleanup(free_at_exit) char *text = NULL;
	static const char *const members[] = {
		"\"pid\":7,",
		"\"part\":\"p\xef\xbf\xbd\"",
		"\"note\":\"\"",
		"\"write_error\":\"disk full\"",
		"\"counting\":true",
		"\"since\":\"2026-11-21T21:00:00Z\"",
		"\"oldest\":null",
		"\"uptime_s\":2.5",
		"\"samples\":100",
		"\"lost_by_reason\":{\"ring-full\":5}",
		"\"unattributed_by_reason\":{\"unmapped\":3}",
		"\"notes\":{\"throttled\":2}",
		"\"cpu_percent\":0.25",
		"\"cpu_samples\":[60,40]",
		"\"helpers_cpu_s\":0.5,",
		"\"helpers_memory_bytes\":3145728,",
		"\"rights\":{\"uid\":54321,\"seccomp\":true,\"landlock\":4,\"user\":\"assay\"}",
		"\"helpers\":{\"keeper\":{\"pid\":8,\"cpu_s\":0.1,\"memory_bytes\":1000000},"
		"\"opener\":{\"pid\":9,\"cpu_s\":0.2,\"memory_bytes\":2145728},"
		"\"starter\":{\"pid\":11,\"cpu_s\":0.0,\"memory_bytes\":3000},\"openers_died\":1,"
		"\"parsers\":{\"running\":1,\"started\":3,\"died\":2,\"questions\":7,\"cpu_s\":0.2,"
		"\"memory_bytes\":4000,\"peak_memory_bytes\":5000},\"upkeep_pid\":10}",
	};

	(void)state;
	statistics_json(&s, o);
	text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		if (!strstr(text, members[i]))
			fail_msg("not there: %s in %s", members[i], text);
	json_decref(o);
}

static struct buf told;

static void tell(const char *text)
{
	buf_printf(&told, "%s\n", text);
}

static void the_log_has_a_line_for_each_reason_and_cpu(void **state)
{
	struct statistics s = sample();

	(void)state;
	statistics_lines(&s, tell);
	assert_string_equal(
		buf_cstr(&told),
		"statistics: 2 s: 100 samples, 5 lost, 3 not attributed; 4096 bytes written\n"
		"statistics: own use: 1.5 s of CPU time (0.25 % of a CPU), 21.9 MiB; "
		"its helpers: 0.5 s, 3.0 MiB\n"
		"statistics: ring-full: 5 the ring was full (PERF_RECORD_LOST)\n"
		"statistics: unmapped: 3 no mapping covers the address\n"
		"statistics: throttled: 2 the kernel throttled a counter\n"
		"statistics: cpu 0: 60 samples\n"
		"statistics: cpu 1: 40 samples\n");
	buf_fini(&told);
}

/* ---- HTTP ---- */

static void print_page(void *context, struct buf *out)
{
	buf_str(out, context);
}

static int join(const struct metrics_http *h)
{
	const char *port = strrchr(metrics_http_address(h), ':') + 1;
	struct sockaddr_in name = { .sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* Serves until the answer has ended, which `Connection: close` makes it do. */
static void fetch(struct metrics_http *h, const char *method, const char *path, struct buf *out)
{
	double end_s = test_clock_s() + test_deadline_s();
	int fd = join(h);
	ssize_t n = -1;

	out->len = 0;
	dprintf(fd, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", method, path);
	while (n && test_clock_s() < end_s) {
		struct pollfd p = { .fd = metrics_http_fd(h), .events = POLLIN };

		if (poll(&p, 1, 10) > 0)
			metrics_http_serve(h);
		buf_reserve(out, 65536);
		n = recv(fd, out->data + out->len, 65536, MSG_DONTWAIT);
		out->len += n > 0 ? (size_t)n : 0;
	}
	buf_cstr(out);
	close(fd);
}

/* A build that has the header may run where the library is not. */
static void need_library(void)
{
	struct metrics_http *h = NULL;
	int r;

	if (!WITH_MICROHTTPD)
		skip_because("built without libmicrohttpd");
	r = metrics_http_open("0", print_page, NULL, &h, NULL);
	metrics_http_close(h);
	if (r == -ENOENT)
		skip_because("libmicrohttpd is not installed");
}

static void metrics_are_served_over_http(void **state)
{
	struct metrics_http *h = NULL;
	struct error err = { 0 };
	struct buf answer = { 0 };
	char page[] = "page 1\n";
	int idle[400];

	(void)state;
	need_library();
	assert_int_equal(metrics_http_open("0", print_page, page, &h, &err), 0);
	assert_memory_equal(metrics_http_address(h), "127.0.0.1:", 10);
	fetch(h, "GET", "/metrics", &answer);
	assert_memory_equal(answer.data, "HTTP/1.1 200 ", 13);
	assert_non_null(strstr((char *)answer.data, "text/plain; version=0.0.4"));
	assert_non_null(strstr((char *)answer.data, "\r\n\r\npage 1\n"));
	page[5] = '2';
	fetch(h, "GET", "/metrics", &answer);
	assert_non_null(strstr((char *)answer.data, "page 2\n"));
	fetch(h, "GET", "/", &answer);
	assert_memory_equal(answer.data, "HTTP/1.1 404 ", 13);
	fetch(h, "POST", "/metrics", &answer);
	assert_memory_equal(answer.data, "HTTP/1.1 405 ", 13);
	fetch(h, "\x01\x02 garbage", "/metrics", &answer);
	assert_non_null(answer.data);
	/* Connections that say nothing keep nobody out. */
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		idle[i] = join(h);
	fetch(h, "GET", "/metrics", &answer);
	assert_non_null(strstr((char *)answer.data, "page 2\n"));
	fetch(h, "GET", "/metrics", &answer);
	assert_non_null(strstr((char *)answer.data, "page 2\n"));
	metrics_http_close(h);
	for (size_t i = 0; i < ARRAY_SIZE(idle); i++)
		close(idle[i]);
	buf_fini(&answer);
}

static void an_address_is_numbers(void **state)
{
	static const char *const bad[] = { "",
					   ":",
					   "x",
					   "localhost:80",
					   "127.0.0.1",
					   "1.2.3.4:x",
					   "127.0.0.1:65536",
					   "::1:80",
					   "[::1]",
					   "127.0.0.1:-1" };
	struct metrics_http *h = NULL;

	(void)state;
	need_library();
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };

		assert_int_equal(metrics_http_open(bad[i], print_page, NULL, &h, &err), -22);
		assert_non_null(strstr(err.text, "is not a"));
	}
	log_set_level(LOG_QUIET);
	assert_int_equal(metrics_http_open("0.0.0.0:0", print_page, NULL, &h, NULL), 0);
	assert_memory_equal(metrics_http_address(h), "0.0.0.0:", 8);
	metrics_http_close(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_have_help_type_and_values),
		cmocka_unit_test(another_reader_takes_the_metrics),
		cmocka_unit_test(json_has_the_known_fields),
		cmocka_unit_test(the_log_has_a_line_for_each_reason_and_cpu),
		cmocka_unit_test(metrics_are_served_over_http),
		cmocka_unit_test(an_address_is_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
