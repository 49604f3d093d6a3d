/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to oprofilefs, in any order that the kernel could send. libfuse3 is a set of functions
 * here, so nothing is mounted. Each request must get exactly one answer, of at most the size that
 * it asked for.
 *
 * The input is a list of requests: a byte for its kind, then its arguments. Numbers are ULEB128,
 * and texts end with a NUL.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/reader.h"
#include "event/text.h"
#include "machine/machine.h"
#include "oprofile/fs/fuse_library.h"
#include "oprofile/fs/oprofilefs.h"
#include "pipeline/pipeline.h"
#include "record/raw.h"

#define MAX_REQUESTS 256
#define MAX_OPEN     8
#define MAX_ITEMS    512 /* requests, and events of the daemon between them */
#define ROOT_NODE    1

/* A request, as libfuse has it. */
struct fuse_req {
	size_t size; /* of the largest answer */
	bool is_answered;
	fuse_interrupt_func_t on_interrupt;
	void *interrupt_data;
};

struct open_file {
	bool is_open;
	uint64_t node;
	struct fuse_file_info info;
};

static char root[] = "/tmp/assay-fuzz-oprofilefs-XXXXXX";
static struct {
	const struct fuse_lowlevel_ops *ops;
	struct oprofilefs *fs;
	struct machine *machine;
	struct pipeline *pipeline;
	bool is_enabled, has_tap;
	struct fuse_req requests[MAX_REQUESTS];
	size_t n_requests;
	struct open_file files[MAX_OPEN];
	uint64_t found; /* the node that the last lookup found */
	bool found_is_folder, open_fails, has_error;
	int n_poll_handles;
} fx;

/* ---- libfuse3 ---- */

static void answer(struct fuse_req *req, size_t size)
{
	if (req->is_answered || size > req->size)
		abort();
	req->is_answered = true;
}

static struct fuse_session *fake_session_new(struct fuse_args *args,
					     const struct fuse_lowlevel_ops *ops, size_t ops_bytes,
					     void *userdata)
{
	(void)args, (void)ops_bytes;
	fx.ops = ops;
	return userdata;
}

static int fake_session_mount(struct fuse_session *session, const char *place)
{
	(void)session, (void)place;
	return 0;
}

static void fake_session_end(struct fuse_session *session)
{
	(void)session;
}

static int fake_session_fd(struct fuse_session *session)
{
	static int fd = -1;

	(void)session;
	if (fd < 0)
		fd = dup(STDOUT_FILENO);
	return fd;
}

static int fake_session_exited(struct fuse_session *session)
{
	(void)session;
	return 0;
}

static int fake_session_receive_buf(struct fuse_session *session, struct fuse_buf *buf)
{
	(void)session, (void)buf;
	return -EAGAIN;
}

static void fake_session_process_buf(struct fuse_session *session, const struct fuse_buf *buf)
{
	(void)session, (void)buf;
}

static void fake_set_log_func(fuse_log_func_t func)
{
	(void)func;
}

static void fake_opt_free_args(struct fuse_args *args)
{
	(void)args;
}

static void *fake_req_userdata(fuse_req_t req)
{
	(void)req;
	return fx.fs;
}

static void fake_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t func, void *data)
{
	req->on_interrupt = func;
	req->interrupt_data = data;
}

static int fake_reply_err(fuse_req_t req, int error)
{
	if (error < 0)
		abort();
	fx.has_error = error;
	answer(req, 0);
	return 0;
}

static void fake_reply_none(fuse_req_t req)
{
	answer(req, 0);
}

static int fake_reply_entry(fuse_req_t req, const struct fuse_entry_param *entry)
{
	fx.found = entry->ino;
	fx.found_is_folder = S_ISDIR(entry->attr.st_mode);
	answer(req, 0);
	return 0;
}

static int fake_reply_attr(fuse_req_t req, const struct stat *st, double timeout)
{
	(void)timeout;
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		abort();
	answer(req, 0);
	return 0;
}

static int fake_reply_open(fuse_req_t req, const struct fuse_file_info *info)
{
	(void)info;
	answer(req, 0);
	return fx.open_fails ? -ENOENT : 0;
}

static int fake_reply_buf(fuse_req_t req, const char *bytes, size_t size)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += (uint8_t)bytes[i]; /* each byte can be read */
	answer(req, size + (sum == UINT64_MAX));
	return 0;
}

static int fake_reply_write(fuse_req_t req, size_t size)
{
	answer(req, size);
	return 0;
}

static int fake_reply_poll(fuse_req_t req, unsigned int events)
{
	(void)events;
	answer(req, 0);
	return 0;
}

static int fake_notify_poll(struct fuse_pollhandle *handle)
{
	(void)handle;
	return 0;
}

static void fake_pollhandle_destroy(struct fuse_pollhandle *handle)
{
	free(handle);
	fx.n_poll_handles--;
}

static size_t fake_add_direntry(fuse_req_t req, char *at, size_t size, const char *name,
				const struct stat *st, off_t off)
{
	size_t need = 24 + ((strlen(name) + 7) & ~(size_t)7);

	(void)req, (void)st, (void)off;
	if (need <= size)
		memset(at, 1, need);
	return need;
}

static void fill_library(void)
{
	fuse = (struct fuse_library){
		.fuse_session_new = fake_session_new,
		.fuse_session_mount = fake_session_mount,
		.fuse_session_unmount = fake_session_end,
		.fuse_session_destroy = fake_session_end,
		.fuse_session_fd = fake_session_fd,
		.fuse_session_exited = fake_session_exited,
		.fuse_session_receive_buf = fake_session_receive_buf,
		.fuse_session_process_buf = fake_session_process_buf,
		.fuse_set_log_func = fake_set_log_func,
		.fuse_opt_free_args = fake_opt_free_args,
		.fuse_req_userdata = fake_req_userdata,
		.fuse_req_interrupt_func = fake_req_interrupt_func,
		.fuse_reply_err = fake_reply_err,
		.fuse_reply_none = fake_reply_none,
		.fuse_reply_entry = fake_reply_entry,
		.fuse_reply_attr = fake_reply_attr,
		.fuse_reply_open = fake_reply_open,
		.fuse_reply_buf = fake_reply_buf,
		.fuse_reply_write = fake_reply_write,
		.fuse_reply_poll = fake_reply_poll,
		.fuse_lowlevel_notify_poll = fake_notify_poll,
		.fuse_pollhandle_destroy = fake_pollhandle_destroy,
		.fuse_add_direntry = fake_add_direntry,
	};
}

/* ---- the daemon's part ---- */

static void push_events(const char *text)
{
	if (event_parse_text(text, pipeline_sink(fx.pipeline), NULL) < 0)
		abort();
}

static void push_sample(void)
{
	push_events("0.7 cpu0 41/41 sample mode=user ip=0x1010 user=0x4020,0x1030\n"
		    "0.7 cpu1 41/41 sample mode=user ip=0x8010\n");
}

static int fuzz_enable(void *context, bool on, struct error *err)
{
	(void)context, (void)err;
	fx.is_enabled = on;
	return 0;
}

static bool fuzz_is_enabled(void *context)
{
	(void)context;
	return fx.is_enabled;
}

static int fuzz_dump(void *context, struct error *err)
{
	(void)context, (void)err;
	if (fx.is_enabled)
		push_sample();
	return 0;
}

static int fuzz_set_events(void *context, const char *const *specs, size_t n, struct error *err)
{
	(void)context;
	for (size_t i = 0; i < n; i++)
		if (strlen(specs[i]) % 2)
			return error_set(err, -ENODEV, "no '%s'", specs[i]);
	return 0;
}

static const struct counters *fuzz_counters(void *context)
{
	static const struct counters none;

	(void)context;
	return &none;
}

static void fuzz_stats(void *context, struct oprofile_stats *out)
{
	(void)context, (void)out;
}

static void fuzz_set_tap(void *context, const struct sample_tap *tap)
{
	(void)context;
	fx.has_tap = tap;
	pipeline_set_tap(fx.pipeline, tap);
}

static void remove_root(void)
{
	oprofilefs_unmount(fx.fs);
	pipeline_close(fx.pipeline, NULL, NULL, NULL);
	machine_free(fx.machine);
	file_remove_tree(root, NULL);
}

static void open_pipeline(void)
{
	static const struct session_info info = { .start_ns = 500000000, .arch = "x86_64" };
	static const struct machine_config m = { root, root };
	struct pipeline_config c = { .ops = &no_store, .info = &info, .dir = "", .proc = root };

	fx.machine = c.machine = machine_new(&m);
	fx.pipeline = pipeline_open(&c, NULL);
	push_events("0.6 cpu0 41/41 comm exec name=\"app\"\n"
		    "0.6 cpu0 41/41 mmap start=0x1000 size=0x1000 off=0 path=\"/bin/a\\\\b\"\n"
		    "0.6 cpu0 41/41 mmap start=0x4000 size=0x1000 off=0 path=\"/lib/c.so\"\n"
		    "0.6 cpu0 41/41 mmap start=0x8000 size=0x1000 off=0 path=\"//anon\"\n");
}

static void mount_once(void)
{
	static const struct counter_sources sources = { .sysfs = root,
							.proc = root,
							.events = root };
	struct oprofilefs_config c = {
		.host = { .enable = fuzz_enable,
			  .is_enabled = fuzz_is_enabled,
			  .dump = fuzz_dump,
			  .set_events = fuzz_set_events,
			  .counters = fuzz_counters,
			  .stats = fuzz_stats,
			  .sources = &sources },
		.mountpoint = root,
		.n_cpus = 2,
		.set_tap = fuzz_set_tap,
	};
	struct error err = { 0 };

	if (fx.fs)
		return;
	if (!mkdtemp(root))
		abort();
	fill_library();
	open_pipeline();
	if (oprofilefs_mount(&c, &fx.fs, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	oprofilefs_set_machine(fx.fs, fx.machine);
	atexit(remove_root);
}

/* ---- requests ---- */

static struct fuse_req *new_request(size_t size)
{
	struct fuse_req *req = &fx.requests[fx.n_requests++];

	*req = (struct fuse_req){ .size = size };
	return req;
}

static const char *read_text(struct reader *r)
{
	const char *text = (const char *)r->at;
	const char *end = memchr(text, 0, reader_left(r));

	reader_bytes(r, end ? (size_t)(end - text) + 1 : reader_left(r));
	return end ? text : "";
}

/* Only a found node is in later requests: the kernel knows no others. */
static void request_lookup(struct reader *r)
{
	const char *name = read_text(r);

	fx.ops->lookup(new_request(0), fx.found, name);
}

static void request_back(struct reader *r)
{
	(void)r;
	fx.found = ROOT_NODE;
	fx.found_is_folder = true;
}

static void request_getattr(struct reader *r)
{
	(void)r;
	fx.ops->getattr(new_request(0), fx.found, NULL);
}

static void request_setattr(struct reader *r)
{
	struct stat st = { 0 };

	fx.ops->setattr(new_request(0), fx.found, &st, (int)reader_uleb(r), NULL);
}

static void request_readdir(struct reader *r)
{
	size_t size = (uint32_t)reader_uleb(r);
	off_t at = (off_t)(reader_uleb(r) & INT64_MAX);

	fx.ops->readdir(new_request(size), fx.found, size, at, NULL);
}

static struct open_file *file_of(struct reader *r)
{
	return &fx.files[reader_u8(r) % MAX_OPEN];
}

/* A directory is opened by another request, which libfuse answers. */
static void request_open(struct reader *r)
{
	struct open_file *file = file_of(r);

	fx.open_fails = reader_u8(r) & 1;
	if (file->is_open || fx.found_is_folder)
		return;
	*file = (struct open_file){ .node = fx.found };
	file->info.flags = fx.n_requests % 2 ? O_NONBLOCK : 0;
	fx.has_error = false;
	fx.ops->open(new_request(0), file->node, &file->info);
	file->is_open = !fx.has_error && !fx.open_fails;
}

static void close_file(struct open_file *file)
{
	if (file->is_open)
		fx.ops->release(new_request(0), file->node, &file->info);
	file->is_open = false;
}

static void request_release(struct reader *r)
{
	close_file(file_of(r));
}

static void request_read(struct reader *r)
{
	struct open_file *file = file_of(r);
	size_t size = (uint32_t)reader_uleb(r);
	off_t at = (off_t)(reader_uleb(r) & INT64_MAX);

	if (file->is_open)
		fx.ops->read(new_request(size), file->node, size, at, &file->info);
}

static void request_write(struct reader *r)
{
	struct open_file *file = file_of(r);
	off_t at = reader_u8(r) & 1;
	uint64_t asked = reader_uleb(r);
	size_t size = MIN(asked, reader_left(r));
	const char *bytes = reader_bytes(r, size);

	if (file->is_open)
		fx.ops->write(new_request(size), file->node, bytes, size, at, &file->info);
}

static void request_poll(struct reader *r)
{
	struct open_file *file = file_of(r);
	bool has_handle = reader_u8(r) & 1;

	if (!file->is_open)
		return;
	fx.n_poll_handles += has_handle;
	fx.ops->poll(new_request(0), file->node, &file->info,
		     has_handle ? malloc(sizeof(char)) : NULL);
}

static void request_interrupt(struct reader *r)
{
	struct fuse_req *req = &fx.requests[reader_uleb(r) % MAX_REQUESTS];

	if (req->on_interrupt && !req->is_answered)
		req->on_interrupt(req, req->interrupt_data);
}

static void request_change(struct reader *r)
{
	uint8_t kind = reader_u8(r) % 4;
	const char *name = read_text(r);

	if (kind == 0)
		fx.ops->unlink(new_request(0), fx.found, name);
	else if (kind == 1)
		fx.ops->mkdir(new_request(0), fx.found, name, 0755);
	else if (kind == 2)
		fx.ops->symlink(new_request(0), name, fx.found, name);
	else
		fx.ops->rename(new_request(0), fx.found, name, ROOT_NODE, name, 0);
}

/* No requests, but events of the daemon between them. */

static void event_samples(struct reader *r)
{
	(void)r;
	push_sample();
}

static void event_turn(struct reader *r)
{
	(void)r;
	oprofilefs_serve(fx.fs);
}

static void event_machine(struct reader *r)
{
	oprofilefs_set_machine(fx.fs, reader_u8(r) & 1 ? fx.machine : NULL);
}

static void (*const kinds[])(struct reader *r) = {
	request_lookup,    request_back,    request_getattr, request_setattr, request_readdir,
	request_open,      request_release, request_read,    request_write,   request_poll,
	request_interrupt, request_change,  event_samples,   event_turn,      event_machine,
};

static void end_input(void)
{
	for (size_t i = 0; i < MAX_OPEN; i++)
		close_file(&fx.files[i]);
	oprofilefs_serve(fx.fs);
	oprofilefs_set_machine(fx.fs, fx.machine);
	for (size_t i = 0; i < fx.n_requests; i++)
		if (!fx.requests[i].is_answered)
			abort();
	if (fx.has_tap)
		abort();
}

/* A read of 1 MiB. */
const struct fuzz_limits fuzz_limits = { .floor_kib = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_over(data, size);

	mount_once();
	memset(fx.requests, 0, sizeof(fx.requests));
	fx.n_requests = 0;
	request_back(&r);
	/* The last requests close the files. */
	for (int i = 0; i < MAX_ITEMS && reader_left(&r) && fx.n_requests < MAX_REQUESTS - MAX_OPEN;
	     i++)
		kinds[reader_u8(&r) % ARRAY_SIZE(kinds)](&r);
	end_input();
	return 0;
}
