/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/oprofilefs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "oprofile/fs/event_buffer.h"
#include "oprofile/fs/event_tap.h"
#include "oprofile/fs/fuse_library.h"
#include "oprofile/fs/mountpoint.h"

#define MAX_READ     ((size_t)1 << 20) /* of `buffer`, at once */
#define PAGE         4096
#define TURN_MAX     64  /* requests that one call of oprofilefs_serve() takes */
#define ATTR_TIMEOUT 1.0 /* seconds that the kernel remembers a name */

/* A read of `buffer` that waits. */
struct parked {
	fuse_req_t request;
	size_t size;
	bool is_interrupted;
};

struct oprofilefs {
	struct oprofilefs_config config;
	struct oprofile_host host; /* what the tree is given */
	struct oprofile_tree *tree;
	struct fuse_session *session;
	struct fuse_buf request;
	char *mountpoint;
	bool is_mounted, is_ending;
	uint64_t mount_s; /* wall clock: the time of all files */
	struct machine *machine;

	/* While somebody has `buffer` open. */
	struct event_buffer *buffer;
	struct event_tap *tap;
	VEC(struct parked *) parked;
	struct fuse_pollhandle *poll;
	uint64_t lost_overflow; /* of readers before */
};

/* An open file other than `buffer`: its text as of the last read from its start. */
struct handle {
	struct buf text;
};

static uint32_t node_of(fuse_ino_t ino)
{
	return (uint32_t)ino - 1; /* FUSE_ROOT_ID is 1 */
}

static struct oprofilefs *fs_of(fuse_req_t req)
{
	return fuse.fuse_req_userdata(req);
}

/* ---- actions of the tree ---- */

static int host_enable(void *context, bool on, struct error *err)
{
	struct oprofilefs *fs = context;
	int r = fs->config.host.enable(fs->config.host.context, on, err);

	if (!r && !on && fs->buffer)
		event_buffer_end(fs->buffer);
	return r;
}

static bool host_is_enabled(void *context)
{
	struct oprofilefs *fs = context;

	return fs->config.host.is_enabled(fs->config.host.context);
}

static int host_dump(void *context, struct error *err)
{
	struct oprofilefs *fs = context;
	int r = fs->config.host.dump(fs->config.host.context, err);

	if (fs->buffer)
		event_buffer_flush(fs->buffer);
	return r;
}

static int host_set_events(void *context, const char *const *specs, size_t n, struct error *err)
{
	struct oprofilefs *fs = context;

	return fs->config.host.set_events(fs->config.host.context, specs, n, err);
}

static const struct counters *host_counters(void *context)
{
	struct oprofilefs *fs = context;

	return fs->config.host.counters(fs->config.host.context);
}

static void host_stats(void *context, struct oprofile_stats *out)
{
	struct oprofilefs *fs = context;

	fs->config.host.stats(fs->config.host.context, out);
	out->event_lost_overflow = fs->lost_overflow;
	if (fs->tap)
		out->event_lost_overflow += event_tap_counts(fs->tap).lost_overflow;
}

static void host_cookies(void *context, struct buf *out)
{
	struct oprofilefs *fs = context;

	if (fs->tap)
		event_tap_cookies(fs->tap, out);
}

/* ---- the event stream ---- */

/*
 * The kernel cuts a large read into several, and asks for the next piece while the last one was
 * whole: it would wait then, with data in hand. So an answer to a large one is never whole.
 */
static size_t answer_size(size_t size)
{
	return MIN(size > PAGE ? size - sizeof(uint64_t) : size, MAX_READ);
}

/* False: the reader has to wait. */
static bool answer_read(struct oprofilefs *fs, fuse_req_t req, size_t size)
{
	cleanup(free_at_exit) uint8_t *bytes = NULL;
	long n;

	if (!event_buffer_is_ready(fs->buffer))
		return false;
	size = answer_size(size);
	bytes = xmalloc(size);
	n = event_buffer_read(fs->buffer, bytes, size);
	fuse.fuse_reply_buf(req, (const char *)bytes, (size_t)MAX(n, 0));
	return true;
}

static void interrupted(fuse_req_t req, void *data)
{
	struct parked *p = data;

	(void)req;
	p->is_interrupted = true;
}

static void park(struct oprofilefs *fs, fuse_req_t req, size_t size)
{
	struct parked *p = xcalloc(1, sizeof(*p));

	p->request = req;
	p->size = size;
	vec_push(&fs->parked, p);
	fuse.fuse_req_interrupt_func(req, interrupted, p);
}

static void read_buffer(struct oprofilefs *fs, fuse_req_t req, size_t size, int flags)
{
	if (size < sizeof(uint64_t))
		fuse.fuse_reply_err(req, EINVAL);
	else if (fs->is_ending)
		fuse.fuse_reply_buf(req, NULL, 0);
	else if (answer_read(fs, req, size))
		return;
	else if (flags & O_NONBLOCK)
		fuse.fuse_reply_err(req, EAGAIN);
	else
		park(fs, req, size);
}

/* Keeps those of the parked that go on waiting, in their order. */
static void answer_parked(struct oprofilefs *fs)
{
	size_t kept = 0;

	for (size_t i = 0; i < fs->parked.n; i++) {
		struct parked *p = fs->parked.data[i];

		if (p->is_interrupted)
			fuse.fuse_reply_err(p->request, EINTR);
		else if (!answer_read(fs, p->request, p->size)) {
			fs->parked.data[kept++] = p;
			continue;
		}
		free(p);
	}
	fs->parked.n = kept;
	if (fs->poll && event_buffer_is_ready(fs->buffer)) {
		fuse.fuse_lowlevel_notify_poll(fs->poll);
		fuse.fuse_pollhandle_destroy(take_ptr(fs->poll));
	}
}

/* Answers all waiting readers with the end of the file. */
static void end_parked(struct oprofilefs *fs)
{
	vec_foreach (&fs->parked, p) {
		fuse.fuse_reply_buf((*p)->request, NULL, 0);
		free(*p);
	}
	fs->parked.n = 0;
	if (fs->poll)
		fuse.fuse_pollhandle_destroy(take_ptr(fs->poll));
}

static int open_buffer(struct oprofilefs *fs)
{
	struct oprofile_sizes sizes;
	int r = oprofile_tree_check_sizes(fs->tree, &sizes);

	if (r < 0)
		return r;
	fs->buffer = event_buffer_new(sizes.buffer_size, sizes.buffer_watershed);
	fs->tap = event_tap_new(fs->buffer, (uint32_t)sizes.backtrace_depth);
	event_tap_set_machine(fs->tap, fs->machine);
	fs->config.set_tap(fs->config.host.context, event_tap_samples(fs->tap));
	return 0;
}

static void close_buffer(struct oprofilefs *fs)
{
	if (!fs->buffer)
		return;
	end_parked(fs);
	fs->config.set_tap(fs->config.host.context, NULL);
	fs->lost_overflow += event_tap_counts(fs->tap).lost_overflow;
	event_tap_free(take_ptr(fs->tap));
	event_buffer_free(take_ptr(fs->buffer));
}

/* ---- requests ---- */

static bool stat_node(struct oprofilefs *fs, uint32_t node, struct stat *out)
{
	struct oprofile_node n;

	if (!oprofile_tree_get(fs->tree, node, &n))
		return false;
	*out = (struct stat){
		.st_ino = node + 1,
		.st_mode = n.mode,
		.st_nlink = S_ISDIR(n.mode) ? 2 : 1,
		.st_uid = geteuid(),
		.st_gid = getegid(),
		.st_atime = (time_t)fs->mount_s,
		.st_mtime = (time_t)fs->mount_s,
		.st_ctime = (time_t)fs->mount_s,
	};
	return true;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct oprofilefs *fs = fs_of(req);
	struct fuse_entry_param entry = { .attr_timeout = ATTR_TIMEOUT,
					  .entry_timeout = ATTR_TIMEOUT };
	uint32_t node;

	if (!oprofile_tree_find(fs->tree, node_of(parent), name, &node) ||
	    !stat_node(fs, node, &entry.attr)) {
		fuse.fuse_reply_err(req, ENOENT);
		return;
	}
	entry.ino = entry.attr.st_ino;
	fuse.fuse_reply_entry(req, &entry);
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	if (stat_node(fs_of(req), node_of(ino), &st))
		fuse.fuse_reply_attr(req, &st, ATTR_TIMEOUT);
	else
		fuse.fuse_reply_err(req, ENOENT);
}

/* `echo 1 > enable` cuts the file before it writes. Nothing else can be set. */
static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
		       struct fuse_file_info *fi)
{
	(void)attr;
	if (to_set & (FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
		fuse.fuse_reply_err(req, EPERM);
	else
		do_getattr(req, ino, fi);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	struct oprofilefs *fs = fs_of(req);
	cleanup(free_at_exit) char *bytes = xmalloc(MIN(size, MAX_READ));
	uint32_t n = oprofile_tree_count(fs->tree);
	size_t used = 0;

	(void)fi;
	/* An entry's offset is 1 + its node. */
	for (uint32_t i = (uint32_t)MIN(off, (off_t)n); i < n; i++) {
		struct oprofile_node node;
		struct stat st;
		size_t len;

		if (!i || !oprofile_tree_get(fs->tree, i, &node) || node.parent != node_of(ino) ||
		    !stat_node(fs, i, &st))
			continue;
		len = fuse.fuse_add_direntry(req, bytes + used, MIN(size, MAX_READ) - used,
					     node.name, &st, (off_t)i + 1);
		if (len > MIN(size, MAX_READ) - used)
			break;
		used += len;
	}
	fuse.fuse_reply_buf(req, bytes, used);
}

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct oprofilefs *fs = fs_of(req);
	int r;

	fi->direct_io = 1;
	if (!oprofile_tree_is_buffer(fs->tree, node_of(ino))) {
		fi->fh = (uintptr_t)xcalloc(1, sizeof(struct handle));
	} else if (fs->buffer) {
		fuse.fuse_reply_err(req, EBUSY);
		return;
	} else {
		fi->nonseekable = 1;
		r = open_buffer(fs);
		if (r < 0) {
			fuse.fuse_reply_err(req, -r);
			return;
		}
	}
	/* ENOENT: the open was interrupted, and no release will follow. */
	if (fuse.fuse_reply_open(req, fi) != -ENOENT)
		return;
	if (fi->fh)
		free((struct handle *)(uintptr_t)fi->fh);
	else
		close_buffer(fs);
}

static void do_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct oprofilefs *fs = fs_of(req);
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;

	(void)ino;
	if (h) {
		buf_fini(&h->text);
		free(h);
	} else {
		close_buffer(fs);
	}
	fuse.fuse_reply_err(req, 0);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct oprofilefs *fs = fs_of(req);
	struct handle *h = (struct handle *)(uintptr_t)fi->fh;
	size_t at;

	if (!h) {
		read_buffer(fs, req, size, fi->flags);
		return;
	}
	if (!off) {
		h->text.len = 0;
		oprofile_tree_read(fs->tree, node_of(ino), &h->text);
	}
	at = MIN((size_t)off, h->text.len);
	fuse.fuse_reply_buf(req, (const char *)h->text.data + at, MIN(size, h->text.len - at));
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	int r;

	(void)fi;
	if (off) {
		fuse.fuse_reply_err(req, EINVAL);
		return;
	}
	r = oprofile_tree_write(fs_of(req)->tree, node_of(ino), bytes, size);
	if (r < 0)
		fuse.fuse_reply_err(req, -r);
	else
		fuse.fuse_reply_write(req, size);
}

static void do_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
		    struct fuse_pollhandle *handle)
{
	struct oprofilefs *fs = fs_of(req);
	bool is_buffer = oprofile_tree_is_buffer(fs->tree, node_of(ino));

	(void)fi;
	if (fs->poll)
		fuse.fuse_pollhandle_destroy(take_ptr(fs->poll));
	if (!is_buffer || event_buffer_is_ready(fs->buffer)) {
		if (handle)
			fuse.fuse_pollhandle_destroy(handle);
		fuse.fuse_reply_poll(req, is_buffer ? POLLIN : POLLIN | POLLOUT);
		return;
	}
	fs->poll = handle;
	fuse.fuse_reply_poll(req, 0);
}

/* Nothing is made, removed or renamed by hand, as in OProfile's (libfuse would say ENOSYS). */

static void oprofilefs_refuse_name(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	(void)parent, (void)name;
	fuse.fuse_reply_err(req, EPERM);
}

static void refuse_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	(void)mode;
	oprofilefs_refuse_name(req, parent, name);
}

static void refuse_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
			 dev_t device)
{
	(void)mode, (void)device;
	oprofilefs_refuse_name(req, parent, name);
}

static void refuse_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	(void)target;
	oprofilefs_refuse_name(req, parent, name);
}

static void refuse_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t to,
			  const char *new_name, unsigned int flags)
{
	(void)to, (void)new_name, (void)flags;
	oprofilefs_refuse_name(req, parent, name);
}

static const struct fuse_lowlevel_ops operations = {
	.unlink = oprofilefs_refuse_name,
	.rmdir = oprofilefs_refuse_name,
	.mkdir = refuse_mkdir,
	.mknod = refuse_mknod,
	.symlink = refuse_symlink,
	.rename = refuse_rename,
	.lookup = do_lookup,
	.getattr = do_getattr,
	.setattr = do_setattr,
	.readdir = do_readdir,
	.open = do_open,
	.release = do_release,
	.read = do_read,
	.write = do_write,
	.poll = do_poll,
};

/* ---- beginning and end ---- */

static int check_device(struct error *err)
{
	if (access("/dev/fuse", R_OK | W_OK) == 0)
		return 0;
	return error_errno(err, -errno, "/dev/fuse can't be opened%s",
			   errno == ENOENT ? " ('modprobe fuse' may help)" : "");
}

static int oprofilefs_open_session(struct oprofilefs *fs, struct error *err)
{
	/* Other users see what the modes permit; a user's own mount is his. */
	char root[] = "default_permissions,noexec,fsname=assay,subtype=assay,allow_other";
	char user[] = "default_permissions,noexec,fsname=assay,subtype=assay";
	char name[] = "assay", option[] = "-o";
	char *argv[] = { name, option, geteuid() == 0 ? root : user, NULL };
	struct fuse_args args = { .argc = 3, .argv = argv };
	int fd, flags;

	fs->session = fuse.fuse_session_new(&args, &operations, sizeof(operations), fs);
	fuse.fuse_opt_free_args(&args); /* what it has made of them */
	if (!fs->session)
		return error_set(err, -EINVAL, "libfuse3 refuses: %s", fuse_library_said());
	if (fuse.fuse_session_mount(fs->session, fs->mountpoint) != 0) {
		int code = errno ? -errno : -EPERM, r = check_device(err);

		return r < 0 ? r
			     : error_set(err, code, "it can't be mounted: %s", fuse_library_said());
	}
	fs->is_mounted = true;
	fd = fuse.fuse_session_fd(fs->session);
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_errno(err, -errno, "/dev/fuse");
	return 0;
}

static void wrap_host(struct oprofilefs *fs)
{
	fs->host = (struct oprofile_host){
		.context = fs,
		.enable = host_enable,
		.is_enabled = host_is_enabled,
		.dump = host_dump,
		.set_events = host_set_events,
		.counters = host_counters,
		.stats = host_stats,
		.cookies = host_cookies,
		.sources = fs->config.host.sources,
	};
}

int oprofilefs_mount(const struct oprofilefs_config *config, struct oprofilefs **out,
		     struct error *err)
{
	cleanup(oprofilefs_unmount_at_exit) struct oprofilefs *fs = xcalloc(1, sizeof(*fs));
	int r;

	fs->config = *config;
	wrap_host(fs);
	r = fuse_library_load(err);
	if (!r)
		r = mountpoint_prepare(config->mountpoint, &fs->mountpoint, err);
	if (!r) {
		fs->mount_s = (uint64_t)time(NULL);
		fs->tree = oprofile_tree_new(&fs->host, config->n_cpus);
		r = oprofilefs_open_session(fs, err);
	}
	if (r < 0)
		return error_wrap(err, r, "oprofilefs at %s", config->mountpoint);
	*out = take_ptr(fs);
	return 0;
}

void oprofilefs_unmount(struct oprofilefs *fs)
{
	if (!fs)
		return;
	fs->is_ending = true;
	if (fs->buffer)
		end_parked(fs);
	if (fs->is_mounted) {
		oprofilefs_serve(fs); /* what was asked already, above all reads */
		fuse.fuse_session_unmount(fs->session);
	}
	close_buffer(fs);
	if (fs->session)
		fuse.fuse_session_destroy(fs->session);
	vec_fini(&fs->parked);
	oprofile_tree_free(fs->tree);
	free(fs->request.mem);
	free(fs->mountpoint);
	free(fs);
}

int oprofilefs_fd(const struct oprofilefs *fs)
{
	return fuse.fuse_session_fd(fs->session);
}

void oprofilefs_turn(struct oprofilefs *fs)
{
	if (fs->buffer)
		answer_parked(fs);
}

int oprofilefs_serve(struct oprofilefs *fs)
{
	for (int i = 0; i < TURN_MAX; i++) {
		int n = fuse.fuse_session_receive_buf(fs->session, &fs->request);

		if (n == -EINTR)
			continue;
		if (n == -EAGAIN)
			break;
		/* 0 and ENODEV: unmounted. */
		if (n <= 0 || fuse.fuse_session_exited(fs->session))
			return -ENODEV;
		fuse.fuse_session_process_buf(fs->session, &fs->request);
	}
	oprofilefs_turn(fs);
	return 0;
}

void oprofilefs_set_machine(struct oprofilefs *fs, struct machine *machine)
{
	fs->machine = machine;
	if (!fs->tap)
		return;
	event_tap_set_machine(fs->tap, machine);
	if (machine)
		fs->config.set_tap(fs->config.host.context, event_tap_samples(fs->tap));
}
