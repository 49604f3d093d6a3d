/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oprofilefs in the daemon (daemon/file_system.h): its files are translated to daemon/actions.h. */
#include "oprofile/oprofile.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "collect/rings.h"
#include "daemon/actions.h"
#include "daemon/daemon_state.h"
#include "daemon/file_system.h"
#include "oprofile/fs/oprofilefs.h"

struct fs_service {
	struct daemon *daemon;
	struct oprofilefs *fs; /* NULL: somebody has unmounted it */
	char *mountpoint;
};

/* ---- from files to actions ---- */

/* A slow disk does not matter for readers of the stream, which comes from memory. */
static int stream_result(int r)
{
	return r == -EAGAIN ? 0 : r;
}

static int do_enable(void *context, bool on, struct error *err)
{
	struct fs_service *s = context;

	return on ? daemon_start(s->daemon, err) : stream_result(daemon_stop(s->daemon, err));
}

static bool is_enabled(void *context)
{
	struct fs_service *s = context;

	return !s->daemon->is_paused;
}

static int do_dump(void *context, struct error *err)
{
	struct fs_service *s = context;

	return stream_result(daemon_dump(s->daemon, err));
}

static int do_set_events(void *context, const char *const *specs, size_t n, struct error *err)
{
	struct fs_service *s = context;

	return daemon_set_events(s->daemon, specs, n, err);
}

static const struct counters *counters_now(void *context)
{
	struct fs_service *s = context;

	return &s->daemon->counters;
}

static void fs_service_tell_stats(void *context, struct oprofile_stats *out)
{
	struct fs_service *s = context;
	struct daemon_status status;

	daemon_status(s->daemon, &status);
	*out = (struct oprofile_stats){
		.sample_received = status.samples,
		.sample_lost_no_mm = status.losses[LOSS_NO_PROCESS],
		.sample_lost_no_mapping =
			status.losses[LOSS_UNMAPPED] + status.losses[LOSS_NO_KERNEL],
		.sample_lost_overflow =
			status.losses[LOSS_RING_FULL] + status.losses[LOSS_PMU_BUFFER],
		.bt_lost_no_mapping = status.losses[LOSS_FRAME_UNMAPPED],
		.cpu_samples = status.cpu_samples,
		.cpu_losses = status.cpu_losses,
		.n_cpus = status.n_cpus,
	};
}

static void set_tap(void *context, const struct sample_tap *tap)
{
	struct fs_service *s = context;

	if (s->daemon->recorder)
		recorder_set_tap(s->daemon->recorder, tap);
}

/* ---- life ---- */

static void fs_service_unmount(struct fs_service *s)
{
	if (!s->fs)
		return;
	daemon_drop_source(s->daemon, oprofilefs_fd(s->fs));
	oprofilefs_unmount(take_ptr(s->fs));
}

static int fs_service_serve(void *context, struct error *err)
{
	struct fs_service *s = context;

	(void)err;
	if (oprofilefs_serve(s->fs) >= 0)
		return 0;
	log_warning("oprofilefs at %s was unmounted by somebody else", s->mountpoint);
	fs_service_unmount(s);
	return 0;
}

static int mount_there(struct fs_service *s, struct error *err)
{
	struct oprofilefs_config config = {
		.mountpoint = s->mountpoint,
		.host = { .context = s,
			  .enable = do_enable,
			  .is_enabled = is_enabled,
			  .dump = do_dump,
			  .set_events = do_set_events,
			  .counters = counters_now,
			  .stats = fs_service_tell_stats },
		.set_tap = set_tap,
	};
	struct cpu_list cpus = { 0 };
	int r;

	if (cpu_list_present(NULL, &cpus, NULL) >= 0)
		vec_foreach (&cpus, cpu)
			config.n_cpus = MAX(config.n_cpus, (size_t)*cpu + 1);
	vec_fini(&cpus);
	r = oprofilefs_mount(&config, &s->fs, err);
	if (!r)
		r = daemon_add_source(s->daemon, oprofilefs_fd(s->fs), fs_service_serve, s, err);
	return r;
}

static void fs_service_close(void *mounted)
{
	struct fs_service *s = mounted;

	if (!s)
		return;
	/* What was asked already, above all reads. Then the keeper unmounts. */
	if (s->fs)
		oprofilefs_serve(s->fs);
	daemon_end_keeper(s->daemon);
	fs_service_unmount(s);
	free(s->mountpoint);
	free(s);
}

static void *fs_service_open(struct daemon *d, const char *mountpoint)
{
	struct fs_service *s = xcalloc(1, sizeof(*s));
	struct error err = { 0 };

	s->daemon = d;
	s->mountpoint = xstrdup(mountpoint);
	if (mount_there(s, &err) >= 0) {
		log_info("oprofilefs at %s", mountpoint);
		return s;
	}
	log_warning("%s: going on without it", err.text);
	fs_service_close(s);
	return NULL;
}

static void fs_service_set_machine(void *mounted, struct machine *machine)
{
	struct fs_service *s = mounted;

	if (s && s->fs)
		oprofilefs_set_machine(s->fs, machine);
}

static void fs_service_turn(void *mounted)
{
	struct fs_service *s = mounted;

	if (s && s->fs)
		oprofilefs_turn(s->fs);
}

const struct daemon_file_system oprofile_file_system = {
	fs_service_open,
	fs_service_close,
	fs_service_set_machine,
	fs_service_turn,
};
