/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* The same on all architectures. */
#define CALL_CREATE_RULESET 444
#define CALL_ADD_RULE       445
#define CALL_RESTRICT_SELF  446

/* linux/landlock.h */
#define RULESET_VERSION   1u
#define RULE_PATH_BENEATH 1

enum { /* LANDLOCK_ACCESS_FS_… are 1 << these */
       FENCE_EXECUTE,
       FENCE_WRITE_FILE,
       FENCE_READ_FILE,
       FENCE_READ_DIR,
       FENCE_REMOVE_DIR,
       FENCE_REMOVE_FILE,
       FENCE_MAKE_CHAR,
       FENCE_MAKE_DIR,
       FENCE_MAKE_REG,
       FENCE_MAKE_SOCK,
       FENCE_MAKE_FIFO,
       FENCE_MAKE_BLOCK,
       FENCE_MAKE_SYM,
       FENCE_REFER,    /* version 2 */
       FENCE_TRUNCATE, /* version 3 */
};

#define BIT(n) ((uint64_t)1 << (n))

/* Rights on files; the others are on folders. */
#define RIGHTS_OF_FILES \
	(BIT(FENCE_WRITE_FILE) | BIT(FENCE_READ_FILE) | BIT(FENCE_TRUNCATE) | BIT(FENCE_EXECUTE))
#define RIGHTS_TO_READ (BIT(FENCE_READ_FILE) | BIT(FENCE_READ_DIR))
#define RIGHTS_TO_WRITE                                                                            \
	(RIGHTS_TO_READ | BIT(FENCE_WRITE_FILE) | BIT(FENCE_REMOVE_DIR) | BIT(FENCE_REMOVE_FILE) | \
	 BIT(FENCE_MAKE_DIR) | BIT(FENCE_MAKE_REG) | BIT(FENCE_REFER) | BIT(FENCE_TRUNCATE))

struct ruleset {
	uint64_t files, net, scopes;
};

struct path_beneath {
	uint64_t rights;
	int32_t parent;
} __attribute__((packed));

#define NET_BIND_AND_CONNECT  3u
#define SCOPE_ABSTRACT_SOCKET 1u
#define SCOPE_SIGNAL          2u

/* Of some versions on. */
#define VERSION_REFER    2
#define VERSION_TRUNCATE 3
#define VERSION_NET      4
#define VERSION_SCOPES   6

int fence_version(void)
{
	long version = syscall(CALL_CREATE_RULESET, NULL, 0, RULESET_VERSION);

	return version < VERSION_REFER ? 0 : (int)version;
}

/* What the fence decides on; the rest stays as it is. */
static struct ruleset ruleset_of(const struct fence *fence, int version)
{
	struct ruleset r = { .files = BIT(FENCE_REFER + 1) - 1 };

	if (version >= VERSION_TRUNCATE)
		r.files |= BIT(FENCE_TRUNCATE);
	if (version >= VERSION_NET)
		r.net = NET_BIND_AND_CONNECT;
	if (version >= VERSION_SCOPES)
		r.scopes = SCOPE_SIGNAL |
			   (fence->may_use_abstract_sockets ? 0 : SCOPE_ABSTRACT_SOCKET);
	return r;
}

static int fence_permit(int ruleset, const char *place, uint64_t rights)
{
	cleanup(close_at_exit) int fd = open(place, O_PATH | O_CLOEXEC);
	struct path_beneath rule = { rights, fd };
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.rights &= RIGHTS_OF_FILES;
	return syscall(CALL_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

static int fence_permit_all(int ruleset, const struct fence *fence, uint64_t decided)
{
	bool is_wide = fence->may_run_and_link;
	uint64_t reads = RIGHTS_TO_READ | (is_wide ? BIT(FENCE_EXECUTE) : 0);
	uint64_t writes = RIGHTS_TO_WRITE | (is_wide ? BIT(FENCE_MAKE_SYM) : 0);
	int r = 0;

	for (size_t i = 0; i < fence->n_readable && r == 0; i++)
		r = fence_permit(ruleset, fence->readable[i], reads & decided);
	for (size_t i = 0; i < fence->n_writable && r == 0; i++)
		r = fence_permit(ruleset, fence->writable[i], writes & decided);
	return r;
}

int fence_enter(const struct fence *fence, struct error *err)
{
	const int version = fence_version();
	const struct ruleset wanted = ruleset_of(fence, version);
	cleanup(close_at_exit) int ruleset = -1;
	int r;

	if (!version)
		return 0;
	ruleset = (int)syscall(CALL_CREATE_RULESET, &wanted, sizeof(wanted), 0);
	if (ruleset < 0)
		return error_errno(err, -errno, "cannot make a fence of Landlock");
	r = fence_permit_all(ruleset, fence, wanted.files);
	if (r == 0 && syscall(CALL_RESTRICT_SELF, ruleset, 0) < 0)
		r = -errno;
	return r < 0 ? error_errno(err, r, "cannot set up the fence of Landlock") : version;
}
