/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A daemon's directory that has no samples: what its daemon has to say of that. */
#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "open/client.h"
#include "open/input.h"
#include "open/lock.h"
#include "profile/profile.h"
#include "store/history/history.h"

/* Who reads does not want to wait for a daemon that is stuck. */
#define PATIENCE_S 2.0

static bool input_daemon_is_daemon_dir(const char *path)
{
	cleanup(free_at_exit) char *lock = xasprintf("%s/lock", path);
	cleanup(free_at_exit) char *samples = xasprintf("%s/samples", path);
	struct stat st;

	return stat(lock, &st) == 0 && S_ISREG(st.st_mode) && stat(samples, &st) == 0 &&
	       S_ISDIR(st.st_mode);
}

static uint64_t stored_samples(const struct session *s)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			n += s->segments[i]->blocks[b].samples;
	return n;
}

static bool holds_samples(const char *path)
{
	const struct history_request all = { TIME_WINDOW_ALL, UINT64_MAX };
	cleanup(session_close_at_exit) struct session *s = NULL;

	return history_open(path, &all, &s, NULL) >= 0 && stored_samples(s) > 0;
}

static void tell_state(const char *path, int code, int pid, const json_t *status, struct error *err)
{
	const char *since = json_string_value(json_object_get(status, "since"));
	const char *failure = json_string_value(json_object_get(status, "write_error"));

	if (failure && *failure)
		error_set(err, code, "%s has no samples: its daemon (process %d) cannot write: %s",
			  path, pid, failure);
	else if (!json_is_true(json_object_get(status, "counting")))
		error_set(err, code,
			  "%s has no samples: its daemon (process %d, since %s) is paused; "
			  "'assay ctl --session-dir %s start' continues it",
			  path, pid, since ? since : "?", path);
	else
		error_set(err, code,
			  "%s has no samples yet: its daemon (process %d) collects since %s, and "
			  "each second is stored when it is over",
			  path, pid, since ? since : "?");
}

int input_explain_daemon(const char *path, int code, struct error *err)
{
	json_t *request, *status = NULL;
	int pid;

	if (!input_daemon_is_daemon_dir(path) || holds_samples(path))
		return code;
	pid = (int)lock_holder(path);
	if (!pid)
		return error_set(err, code,
				 "%s has no samples, and no daemon runs there: 'assay daemon "
				 "--session-dir %s' collects some",
				 path, path);
	request = json_pack("{s:s}", "request", "status");
	if (client_ask(path, request, PATIENCE_S, &status, NULL) < 0)
		error_set(err, code,
			  "%s has no samples yet: its daemon (process %d) has stored nothing", path,
			  pid);
	else
		tell_state(path, code, pid, status, err);
	json_decref(status);
	json_decref(request);
	return code;
}

/* The warnings of a session may be the reason that there are none. They come first: lists are cut.
 */
static int explain_by_warnings(const struct session *s, int code, struct error *err)
{
	cleanup(buf_fini) struct buf all = { 0 };

	vec_foreach (&s->warnings, warning)
		buf_printf(&all, "%s%s", all.len ? "; " : "", *warning);
	if (!all.len)
		return code;
	return stored_samples(s)
		       ? error_wrap(err, code, "%s", buf_cstr(&all))
		       : error_set(err, code, "%s has no samples: %s", s->path, buf_cstr(&all));
}

static int explain_empty(const struct profile_request *request, struct error *err)
{
	int r = profile_explain_empty(request, err);

	r = explain_by_warnings(request->session, r, err);
	return stored_samples(request->session)
		       ? r
		       : input_explain_daemon(request->session->path, r, err);
}

int input_profile(const struct profile_request *request, bool is_damaged, struct profile **out,
		  struct error *err)
{
	uint32_t n_failures = reserve_failures();
	const struct session *s = request->session;
	cleanup(profile_free_at_exit) struct profile *profile = profile_load(request);

	if (reserve_failures() != n_failures)
		return reserve_error(err);
	if (!profile->n_selected && is_damaged && s->warnings.n)
		return error_set(err, -EBADMSG, "%s: no samples before the damage: %s", s->path,
				 s->warnings.data[0]);
	if (!profile->n_selected)
		return explain_empty(request, err);
	if (profile->lacks_latency)
		return error_set(
			err, -ENODATA,
			"%s: no sample has a latency for --weight latency. Record with "
			"'perf mem record' or 'perf record -W'. Import sessions of an older "
			"assay again",
			s->path);
	*out = take_ptr(profile);
	return 0;
}
