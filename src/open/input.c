/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open/input.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "config.h"
#include "guard/unpack.h"
#include "fleet/fleet_open.h"
#include "fleet/fleet_store.h"
#include "import/import.h"
#include "import/importer.h"
#include "open/input_state.h"
#include "open/lock.h"
#include "profile/profile.h"
#include "replay/archive.h"
#include "replay/replay.h"
#include "replay/replay_script.h"
#include "store/history/history.h"
#include "store/native.h"
#include "store/store.h"
#include "symbol/debuginfod.h"
#include "symbol/image_places.h"

/* The kernel's names are not those of a file of another build. */
static void check_kernel_of(const struct input *in, struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t k = 0; k < s->segments[i]->n_images; k++) {
			const struct image *image = &s->segments[i]->images[k];
			const char *path = input_refused_vmlinux(in, &image->build_id);
			char *text;
			bool is_told = false;

			if (image->kind != IMAGE_KERNEL || !path)
				continue;
			text = xasprintf("%s" REFUSED_VMLINUX, path);
			/* The decoder of a trace may have said so, of its code. */
			vec_foreach (&s->warnings, w)
				is_told |= !strncmp(*w, text, strlen(path) + 20);
			if (is_told)
				free(text);
			else
				vec_push(&s->warnings, text);
		}
}

static void keep_warnings(struct session *s, const struct import_result *r)
{
	if (r->damage.code)
		vec_push(&s->warnings, xstrdup(r->damage.text));
	vec_foreach (&r->notes, note)
		vec_push(&s->warnings, xstrdup(*note));
}

static int open_imported(struct input *in, const char *path, const struct history_request *request,
			 struct session **out, bool *is_damaged, struct error *err)
{
	cleanup(free_at_exit) char *dir = NULL;
	struct import_config config = {
		.path = path,
		.version = ASSAY_VERSION,
		.ops = &native_store,
		.itrace = input_itrace(in),
		.keeps_paths = true, /* input_symbolizer() knows of archives */
		.sums_alone = in->sums_alone,
	};
	struct import_result result = { 0 };
	struct symbolizer_config code = { 0 };
	struct archive_places places;
	int r = input_new_folder(in, &dir, err);

	if (r < 0)
		return r;
	input_places(in, path, &places, &code);
	config.places = &code;
	config.dir = dir;
	r = import_file(&config, &result, err);
	archive_places_fini(&places);
	if (r >= 0)
		r = history_open(dir, request, out, err);
	if (r >= 0) {
		keep_warnings(*out, &result);
		*is_damaged = result.damage.code != 0;
		free((*out)->path);
		(*out)->path = xstrdup(path);
	}
	import_result_fini(&result);
	return r;
}

/* ---- archives in one file ---- */

static bool is_packed(const char *path)
{
	const char *slash = strrchr(path, '/'), *tar = strstr(slash ? slash : path, ".tar");

	return tar && (!tar[4] || tar[4] == '.') && access(path, R_OK) == 0;
}

/* The one folder that an archive unpacks to. */
static char *only_folder(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char *found = NULL;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR && !found)
			found = xasprintf("%s/%s", dir, entry->d_name);
	if (d)
		closedir(d);
	return found;
}

/* A link may lead to a file of the same archive. Devices and FIFOs are in no archive of assay. */
static bool is_in_archive(const FTSENT *entry, const char *dir)
{
	cleanup(free_at_exit) char *target = NULL;
	size_t n = strlen(dir);

	switch (entry->fts_info) {
	case FTS_D:
	case FTS_DP:
	case FTS_F:
		return true;
	case FTS_SL:
	case FTS_SLNONE:
		target = realpath(entry->fts_accpath, NULL);
		return target && !strncmp(target, dir, n) && target[n] == '/';
	default:
		return false;
	}
}

/* The finder keeps links below files/ inside that folder. Other readers follow links. */
static void remove_strange_files(const char *folder)
{
	cleanup(free_at_exit) char *dir = realpath(folder, NULL);
	char *roots[] = { dir, NULL };
	FTS *walk = dir ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	FTSENT *entry;

	while (walk && (entry = fts_read(walk)))
		if (!is_in_archive(entry, dir))
			unlink(entry->fts_accpath);
	if (walk)
		fts_close(walk);
}

/* Unpacked once: session and symbols are read of the same. */
static int input_unpack(struct input *in, const char *path, const char **out, struct error *err)
{
	cleanup(free_at_exit) char *dir = NULL;
	int r;

	if (in->packed && !strcmp(in->packed, path)) {
		*out = in->unpacked;
		return 0;
	}
	r = input_new_folder(in, &dir, err);
	if (r < 0)
		return r;
	if (mkdir(dir, 0700) < 0)
		return error_errno(err, -errno, "cannot make %s", dir);
	r = unpack_archive(path, dir, err);
	if (r < 0)
		return r;
	free(in->packed);
	free(in->unpacked);
	in->packed = NULL;
	remove_strange_files(dir);
	in->unpacked = only_folder(dir);
	if (!in->unpacked)
		return error_set(err, -EBADMSG, "%s has no session in it", path);
	in->packed = xstrdup(path);
	*out = in->unpacked;
	return 0;
}

void input_places(struct input *in, const char *given, struct archive_places *places,
		  struct symbolizer_config *config)
{
	const char *dir = given ? given : DEFAULT_SESSION;

	if (is_packed(dir))
		input_unpack(in, dir, &dir, NULL); /* should it fail, input_open() says so */
	archive_places_init(places, dir, importer_find_root(dir), config);
	if (in->config.vmlinux)
		config->vmlinux = in->config.vmlinux;
	config->guest_kallsyms = in->config.guest_kallsyms;
	config->guest_modules = in->config.guest_modules;
	config->guest_mount = in->config.guest_mount;
	config->guest_vmlinux = in->config.guest_vmlinux;
	config->guest_code = in->config.guest_code;
	if (in->config.symfs)
		config->root = in->config.symfs;
	if (in->config.n_image_dirs) {
		config->image_dirs = in->config.image_dirs;
		config->n_image_dirs = in->config.n_image_dirs;
	}
	config->debuginfod = in->debuginfod;
	config->names_ms = (uint32_t)(in->config.names_s * 1000);
}

uint32_t input_n_late(const struct input *in, const struct symbolizer *symbols)
{
	return symbolizer_n_late(symbols) + debuginfod_n_unasked(in->debuginfod);
}

/* Before a long reading: a folder that was mistyped finds nothing. */
static int check_image_dirs(struct input *in, const char *given, struct error *err)
{
	struct symbolizer_config config = { 0 };
	struct archive_places texts;
	struct image_places folders;
	int r = 0;

	if (!in->config.n_image_dirs)
		return 0;
	input_places(in, given, &texts, &config);
	image_places_init(&folders, config.root ? config.root : "", config.image_dirs,
			  config.n_image_dirs);
	if (folders.missing.n)
		r = error_set(err, -ENOENT, "--image-path: %s is not a directory",
			      folders.missing.data[0]);
	image_places_fini(&folders);
	archive_places_fini(&texts);
	return r;
}

int input_replay(struct input *in, const char *given, const char *path, struct replay **out,
		 struct error *err)
{
	struct symbolizer_config config = { 0 };
	struct archive_places texts;
	int r = check_image_dirs(in, given, err);

	if (r >= 0)
		r = replay_is_perfdata(path) ? replay_open(path, out, err)
					     : replay_open_script(path, out, err);
	if (r < 0)
		return r;
	input_places(in, given, &texts, &config);
	replay_set_places(*out, &config);
	archive_places_fini(&texts);
	return r;
}

int input_decode(struct input *in, struct replay *replay, const struct itrace *itrace,
		 const char *given, struct error *err)
{
	struct symbolizer_config config = { 0 };
	struct archive_places places;
	int r;

	input_places(in, given, &places, &config);
	r = replay_decode(replay, itrace, &config, err);
	archive_places_fini(&places);
	return r;
}

struct symbolizer *input_symbolizer(struct input *in, const char *given, const char *cache_dir)
{
	struct symbolizer_config config = { .cache_dir = cache_dir };

	return input_symbolizer_with(in, given, &config);
}

struct symbolizer *input_symbolizer_with(struct input *in, const char *given,
					 const struct symbolizer_config *wanted)
{
	struct symbolizer_config config = *wanted;
	cleanup(free_at_exit) char *kept = history_names_dir(given ? given : DEFAULT_SESSION);
	struct archive_places places;
	struct symbolizer *symbols;

	config.report_unread = in->config.report_unread;
	config.no_demangle = wanted->no_demangle || in->config.no_demangle;
	config.kept_dir = kept;
	input_places(in, given, &places, &config);
	symbols = symbolizer_new(&config);
	archive_places_fini(&places);
	return symbols;
}

int input_unpacked(struct input *in, const char *path, const char **out, struct error *err)
{
	*out = path;
	return is_packed(path) ? input_unpack(in, path, out, err) : 0;
}

static int open_packed(struct input *in, const char *path, const struct history_request *request,
		       struct session **out, bool *is_damaged, struct error *err)
{
	const char *dir;
	int r = input_unpack(in, path, &dir, err);

	if (r >= 0 && import_is_recording(dir))
		r = open_imported(in, dir, request, out, is_damaged, err);
	else if (r >= 0 && (r = itrace_refuse_filter(&in->itrace, err)) >= 0)
		r = history_open(dir, request, out, err);
	if (r >= 0) {
		free((*out)->path);
		(*out)->path = xstrdup(path);
	}
	return r;
}

static int open_any(struct input *in, const char *path, const struct query *q, struct session **out,
		    bool *is_damaged, struct error *err)
{
	/* Overviews have no times. */
	bool needs_times = !q || query_has(q, FILTER_TIME) || query_has(q, FILTER_PARALLELISM);
	const struct history_request request = {
		.window = q && q->has_window ? q->window : TIME_WINDOW_ALL,
		.overview_ns = needs_times ? 0 : q->overview_ns,
	};

	int r;

	*is_damaged = false;
	r = is_packed(path) || import_is_recording(path) ? 0
							 : itrace_refuse_filter(&in->itrace, err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	if (input_is_clickhouse(path))
		return input_open_clickhouse(in, path, q, out, is_damaged, err);
	if (is_packed(path))
		return open_packed(in, path, &request, out, is_damaged, err);
	if (import_is_recording(path))
		return open_imported(in, path, &request, out, is_damaged, err);
	if (fleet_is_at(path))
		return fleet_open(path, q, &request,
				  in->has_fleet_wish && !in->fleet_wish.hosts_apart, out, err);
	r = history_open(path, &request, out, err);
	if (r >= 0)
		(*out)->is_live = lock_holder(path) > 0;
	return r == -EINVAL || r == -ENODATA ? input_explain_daemon(path, r, err) : r;
}

int input_open_window(struct input *in, const char *path, const struct query *q,
		      struct session **out, bool *is_damaged, struct error *err)
{
	int r = check_image_dirs(in, path, err);

	r = r < 0 ? r : open_any(in, path, q, out, is_damaged, err);
	if (r >= 0 && in->config.vmlinux)
		check_kernel_of(in, *out);
	return r;
}

int input_open(struct input *in, const char *path, struct session **out, bool *is_damaged,
	       struct error *err)
{
	return input_open_window(in, path, NULL, out, is_damaged, err);
}

int input_open_given_window(struct input *in, const char *given, const struct query *q,
			    struct session **out, bool *is_damaged, struct error *err)
{
	if (!given && access(DEFAULT_SESSION, F_OK) < 0)
		return error_set(err, -ENOENT,
				 "no session at " DEFAULT_SESSION "; record one with 'assay record "
				 "-- COMMAND', or name one with -i");
	return input_open_window(in, given ? given : DEFAULT_SESSION, q, out, is_damaged, err);
}

int input_open_given(struct input *in, const char *given, struct session **out, bool *is_damaged,
		     struct error *err)
{
	return input_open_given_window(in, given, NULL, out, is_damaged, err);
}

int input_query(const struct input *in, const struct option_list *operands, bool with_idle,
		struct query *q, struct error *err)
{
	int r = 0;

	q->with_idle = with_idle;
	q->containers = input_containers(in);
	for (size_t i = 0; i < operands->n && r >= 0; i++)
		r = query_add(q, operands->data[i], err);
	return r < 0 ? r : query_check(q, err);
}

#define X(id, tag, match, value, help) "*" tag ":*_" value "_\n\t" help "\n\n"
const char input_filters_help[] =
	"Operands choose samples. Values are separated by commas (\"\\\\,\" is a literal one) and "
	"are alternatives; different filters must all hold. Words are globs, numbers may be ranges "
	"(0-3). An operand without a tag names a program or an image.\n\nAn operand can also be a "
	"list of matchers, as Prometheus has them: *comm=\"cc1\", cgroup=~\".\\*web.\\*\"*, with = "
	"!= =~ and !~. A matcher compares the whole value, as *report --by* shows it. Regular "
	"expressions have the syntax of RE2, without captures.\n\n" FILTERS(X);
#undef X

bool input_by_period(const char *weight, const struct profile *profile, const struct profile *other)
{
	if (strcmp(weight, "auto") != 0)
		return strcmp(weight, "samples") != 0; /* "events", "wall" or "latency" */
	return profile_weighs_by_period(profile) || (other && profile_weighs_by_period(other));
}
