/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/older_system.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"

const char *strerrorname_np(int code)
{
	/* Codes that perf_event_open(2) and opening files may give. */
#define NAME(id)        \
	{               \
		id, #id \
	}
	static const struct {
		int code;
		const char *name;
	} names[] = {
		NAME(EPERM),     NAME(ENOENT),  NAME(ESRCH),     NAME(EINTR),   NAME(EIO),
		NAME(ENXIO),     NAME(E2BIG),   NAME(EBADF),     NAME(EAGAIN),  NAME(ENOMEM),
		NAME(EACCES),    NAME(EFAULT),  NAME(EBUSY),     NAME(EEXIST),  NAME(ENODEV),
		NAME(ENOTDIR),   NAME(EISDIR),  NAME(EINVAL),    NAME(ENFILE),  NAME(EMFILE),
		NAME(EFBIG),     NAME(ENOSPC),  NAME(EROFS),     NAME(EPIPE),   NAME(ERANGE),
		NAME(ENOSYS),    NAME(ENODATA), NAME(EOVERFLOW), NAME(EBADMSG), NAME(EOPNOTSUPP),
		NAME(ETIMEDOUT),
	};
#undef NAME

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].code == code)
			return names[i].name;
	return NULL;
}

const char *sigabbrev_np(int number)
{
#define NAME(id) [SIG##id] = #id
	static const char *const names[] = {
		NAME(HUP),  NAME(INT),    NAME(QUIT), NAME(ILL),    NAME(TRAP), NAME(ABRT),
		NAME(BUS),  NAME(FPE),    NAME(KILL), NAME(USR1),   NAME(SEGV), NAME(USR2),
		NAME(PIPE), NAME(ALRM),   NAME(TERM), NAME(STKFLT), NAME(CHLD), NAME(CONT),
		NAME(STOP), NAME(TSTP),   NAME(TTIN), NAME(TTOU),   NAME(URG),  NAME(XCPU),
		NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH),  NAME(POLL), NAME(PWR),
		NAME(SYS),
	};
#undef NAME

	return number > 0 && (size_t)number < ARRAY_SIZE(names) ? names[number] : NULL;
}

int close_range(unsigned int first, unsigned int last, int flags)
{
	struct rlimit files;

	if (flags) {
		errno = EINVAL;
		return -1;
	}
	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -1;
	for (unsigned int fd = first; fd <= last && fd < files.rlim_cur; fd++)
		close((int)fd);
	return 0;
}
