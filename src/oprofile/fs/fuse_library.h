/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfuse3, loaded when it is used (base/lazy_library.h). Inside daemon/ only. */
#pragma once

#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>

#include "base/lazy_library.h"

/* From 3.17 on, the header has a macro of this name; the library still has the function. */
#undef fuse_session_new
struct fuse_session *fuse_session_new(struct fuse_args *args, const struct fuse_lowlevel_ops *ops,
				      size_t ops_bytes, void *userdata);

#define FUSE_FUNCTIONS(X)            \
	X(fuse_session_new)          \
	X(fuse_session_mount)        \
	X(fuse_session_unmount)      \
	X(fuse_session_destroy)      \
	X(fuse_session_fd)           \
	X(fuse_session_exited)       \
	X(fuse_session_receive_buf)  \
	X(fuse_session_process_buf)  \
	X(fuse_set_log_func)         \
	X(fuse_opt_free_args)        \
	X(fuse_req_userdata)         \
	X(fuse_req_interrupt_func)   \
	X(fuse_reply_err)            \
	X(fuse_reply_none)           \
	X(fuse_reply_entry)          \
	X(fuse_reply_attr)           \
	X(fuse_reply_open)           \
	X(fuse_reply_buf)            \
	X(fuse_reply_write)          \
	X(fuse_reply_poll)           \
	X(fuse_lowlevel_notify_poll) \
	X(fuse_pollhandle_destroy)   \
	X(fuse_add_direntry)

struct fuse_library {
	FUSE_FUNCTIONS(LAZY_POINTER)
};
extern struct fuse_library fuse;

/* Loads the library, and keeps its messages for fuse_library_said(). */
int fuse_library_load(struct error *err);

/* The last thing that it said since the call before, in one line; "" for nothing. */
const char *fuse_library_said(void);
