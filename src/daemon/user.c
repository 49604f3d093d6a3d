/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/user.h"

#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "open/lock.h"
#include "store/sharing.h"

static bool has_rights_to_change(void)
{
	static const unsigned int needed[] = { CAP_CHOWN, CAP_SETGID, CAP_SETUID };

	if (capng_get_caps_process() < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (!capng_have_capability(CAPNG_EFFECTIVE, needed[i]))
			return false;
	return true;
}

struct daemon_user daemon_user_find(void)
{
	struct daemon_user u = { .user = geteuid(), .group = getegid() };
	const struct passwd *p = getpwuid(u.user);
	struct sharing sharing;

	snprintf(u.name, sizeof(u.name), "%s", p ? p->pw_name : "");
	if (u.user != 0)
		return u;
	p = getpwnam(DAEMON_USER);
	if (!p || !p->pw_uid) {
		u.why_not = "there is no user '" DAEMON_USER "' (systemd-sysusers makes it)";
		return u;
	}
	if (!has_rights_to_change()) {
		u.why_not = "it has not all of CAP_SETUID, CAP_SETGID and CAP_CHOWN";
		return u;
	}
	sharing = sharing_with_group();
	u.user = p->pw_uid;
	u.group = sharing.is_shared ? sharing.group : p->pw_gid;
	u.is_other = true;
	snprintf(u.name, sizeof(u.name), DAEMON_USER);
	return u;
}

int user_step_down(const struct daemon_user *u, struct error *err)
{
	if (!u->is_other)
		return 0;
	if (setegid(u->group) < 0 || seteuid(u->user) < 0)
		return error_errno(err, -errno, "cannot become the user '%s'", DAEMON_USER);
	if (capng_get_caps_process() < 0)
		return error_set(err, -EIO, "cannot read the capabilities of this process");
	if (!capng_have_capability(CAPNG_PERMITTED, CAP_NET_BIND_SERVICE))
		return 0;
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_NET_BIND_SERVICE);
	return capng_apply(CAPNG_SELECT_CAPS) < 0
		       ? error_set(err, -EPERM, "cannot keep the right to listen at low ports")
		       : 0;
}

int user_step_up(const struct daemon_user *u, struct error *err)
{
	if (u->is_other && (seteuid(0) < 0 || setegid(0) < 0))
		return error_errno(err, -errno, "cannot become root again");
	return 0;
}

int user_become(const struct daemon_user *u, struct error *err)
{
	if (!u->is_other)
		return 0;
	/* The groups of root could open files, too. */
	if (prctl(PR_SET_KEEPCAPS, 1) < 0 || setgroups(0, NULL) < 0 ||
	    setresgid(u->group, u->group, u->group) < 0 || setresuid(u->user, u->user, u->user) < 0)
		return error_errno(err, -errno, "cannot become the user '%s'", DAEMON_USER);
	return 0;
}
