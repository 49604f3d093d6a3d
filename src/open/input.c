/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "open/input.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "config.h"
#include "elf/elf_file.h"
#include "import/import.h"
#include "import/importer.h"
#include "machine/container_names.h"
#include "open/lock.h"
#include "profile/profile.h"
#include "replay/archive.h"
#include "replay/replay.h"
#include "store/history/history.h"
#include "store/store.h"
#include "trace/itrace.h"

#define MEMORY_DIR "/dev/shm"
#define MEMORY_MIN ((uint64_t)256 << 20)

/*
 * Where this process keeps imported sessions: "" until there is one. Process-wide, as
 * what removes it is the process's end, by exit() or by a signal.
 */
static char scratch_dir[512];
static pid_t scratch_owner;
static unsigned int n_imported;

/* How traces are decoded: as scratch_dir, of the whole process. */
static struct itrace decoding;
static enum { DECODING_DEFAULT, DECODING_CHOSEN, DECODING_NONE } decoding_state;

int input_use_itrace(const char *command, const char *text, bool none)
{
	struct error err = { 0 };

	if (none) {
		decoding_state = DECODING_NONE;
	} else if (itrace_parse(text ? text : ITRACE_DEFAULT_REPORT, &decoding, &err) < 0) {
		log_error("%s: --itrace: %s", command, err.text);
		return EXIT_USAGE;
	} else {
		decoding_state = DECODING_CHOSEN;
		/* Profiles add up stacks: what 16 frames leave out is missing in every caller. */
		if (!decoding.has_chain_size)
			decoding.chain_size = ITRACE_MAX_CHAIN;
	}
	return -1;
}

const struct itrace *input_itrace(void)
{
	if (decoding_state == DECODING_DEFAULT)
		input_use_itrace("", NULL, false);
	return decoding_state == DECODING_NONE ? NULL : &decoding;
}

/* Where code is: as scratch_dir, of the whole process. */
static struct code_args code_in_use;

static struct build_id vmlinux_id; /* of the file that was named */

static int check_vmlinux(const char *path, struct error *err)
{
	struct file_mapping file = { 0 };
	struct elf_file elf;
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;
	r = elf_file_open(&elf, file.base, file.size, err);
	if (r >= 0)
		elf_build_id(&elf, &vmlinux_id);
	file_unmap(&file);
	return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

const char *input_refused_vmlinux(const struct build_id *recorded)
{
	return code_in_use.vmlinux && recorded->len && !build_id_equal(recorded, &vmlinux_id)
		       ? code_in_use.vmlinux
		       : NULL;
}

/* The kernel's names are not those of a file of another build. */
static void check_kernel_of(struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t k = 0; k < s->segments[i]->n_images; k++) {
			const struct image *image = &s->segments[i]->images[k];
			const char *path = input_refused_vmlinux(&image->build_id);
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

static int check_symfs(const char *path, struct error *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_errno(err, -errno, "%s", path);
	return S_ISDIR(st.st_mode) ? 0 : error_set(err, -ENOTDIR, "%s is not a directory", path);
}

int input_use_code(const char *command, const struct code_args *args)
{
	struct error err = { 0 };

	code_in_use = *args;
	if (args->vmlinux && check_vmlinux(args->vmlinux, &err) < 0)
		log_error("%s: --vmlinux: %s", command, err.text);
	else if (args->symfs && check_symfs(args->symfs, &err) < 0)
		log_error("%s: --symfs: %s", command, err.text);
	else
		return -1;
	return EXIT_FAILED;
}

static bool names_stay_mangled;

void input_use_names(bool no_demangle)
{
	names_stay_mangled = no_demangle;
}

static struct container_names *containers_in_use;

static int read_containers(const char *file, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	int r = file_read_all(file, CONTAINER_TEXT_MAX, &text, NULL);
	unsigned int bad;

	if (r < 0)
		return error_errno(err, r, "cannot read %s", file);
	bad = container_names_parse(containers_in_use, text);
	return bad ? error_set(err, -EINVAL,
			       "%s: line %u is not \"ID NAME\": the id of a container or the uid "
			       "of a pod, a space, and a name",
			       file, bad)
		   : 0;
}

static void free_containers(void)
{
	container_names_free(containers_in_use);
}

int input_use_containers(const char *command, const char *file)
{
	struct error err = { 0 };

	if (!file)
		return -1;
	containers_in_use = container_names_new();
	atexit(free_containers);
	if (read_containers(file, &err) == 0)
		return -1;
	log_error("%s: --container-names: %s", command, err.text);
	return EXIT_FAILED;
}

const struct container_names *input_containers(void)
{
	return containers_in_use;
}

static void remove_scratch(void)
{
	if (scratch_dir[0] && getpid() == scratch_owner)
		file_remove_tree(scratch_dir, NULL);
}

/* Only what is safe in a signal handler: another process removes the tree. */
static void remove_and_end(int signal_number)
{
	pid_t pid = getpid() == scratch_owner ? fork() : -1;

	if (!pid) {
		execl("/bin/rm", "rm", "-rf", "--", scratch_dir, (char *)NULL);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* What ends a process by default is caught; what the caller ignores stays ignored. */
static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };
	struct sigaction now;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			signal(ends[i], remove_and_end);
}

/* $TMPDIR; else in memory, where there is room enough for the session of any file. */
static const char *scratch_parent(void)
{
	const char *tmp = getenv("TMPDIR");
	struct statvfs fs;

	if (tmp && *tmp)
		return tmp;
	if (access(MEMORY_DIR, W_OK) == 0 && statvfs(MEMORY_DIR, &fs) == 0 &&
	    (uint64_t)fs.f_bavail * fs.f_bsize > MEMORY_MIN)
		return MEMORY_DIR;
	return "/tmp";
}

static int make_scratch(struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/assay.XXXXXX", scratch_parent());

	if (scratch_dir[0])
		return 0;
	if (strlen(dir) >= sizeof(scratch_dir) || !mkdtemp(dir))
		return error_errno(err, -errno, "a temporary session: %s", dir);
	scratch_owner = getpid();
	memcpy(scratch_dir, dir, strlen(dir) + 1);
	atexit(remove_scratch);
	catch_signals();
	return 0;
}

int input_scratch(const char **dir, struct error *err)
{
	int r = make_scratch(err);

	*dir = scratch_dir;
	return r;
}

void input_scratch_remove(void)
{
	remove_scratch();
}

static void keep_warnings(struct session *s, const struct import_result *r)
{
	if (r->damage.code)
		vec_push(&s->warnings, xstrdup(r->damage.text));
	vec_foreach (&r->notes, note)
		vec_push(&s->warnings, xstrdup(*note));
}

static int open_imported(const char *path, const struct history_request *request,
			 struct session **out, bool *is_damaged, struct error *err)
{
	cleanup(free_at_exit) char *dir = NULL;
	struct import_config config = {
		.path = path,
		.version = ASSAY_VERSION,
		.ops = &native_store,
		.itrace = input_itrace(),
		.keeps_paths = true, /* input_symbolizer() knows of archives */
	};
	struct import_result result = { 0 };
	struct symbolizer_config code = { 0 };
	struct archive_places places;
	int r = make_scratch(err);

	if (r < 0)
		return r;
	input_places(path, &places, &code);
	config.places = &code;
	dir = xasprintf("%s/session.%u", scratch_dir, n_imported++);
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

/* tar(1) refuses names that lead out of the folder. */
static int run_tar(const char *path, const char *dir)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		execlp("tar", "tar", "-xf", path, "-C", dir, "--no-same-owner", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* The one folder that an archive unpacks to. */
static char *only_folder(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	char *found = NULL;

	while (d && (entry = readdir(d)))
		if (entry->d_name[0] != '.' && !found)
			found = xasprintf("%s/%s", dir, entry->d_name);
	if (d)
		closedir(d);
	return found;
}

/* Unpacked once: session and symbols are read of the same. */
static int unpack(const char *path, const char **out, struct error *err)
{
	static char *packed, *unpacked;
	cleanup(free_at_exit) char *dir = NULL;
	int r;

	if (packed && !strcmp(packed, path)) {
		*out = unpacked;
		return 0;
	}
	r = make_scratch(err);
	if (r < 0)
		return r;
	dir = xasprintf("%s/session.%u", scratch_dir, n_imported++);
	if (mkdir(dir, 0700) < 0)
		return error_errno(err, -errno, "cannot make %s", dir);
	r = run_tar(path, dir);
	if (r)
		return error_set(err, r < 0 ? r : -EBADMSG, "cannot unpack %s: %s", path,
				 r == 127 ? "tar is not installed" : "tar could not read it");
	free(packed);
	free(unpacked);
	packed = xstrdup(path);
	unpacked = only_folder(dir);
	if (!unpacked)
		return error_set(err, -EBADMSG, "%s has no session in it", path);
	*out = unpacked;
	return 0;
}

static void say_fetching(const char *sentence)
{
	log_info("%s", sentence);
}

static void say_unread(const char *sentence)
{
	log_warning("%s", sentence);
}

void input_places(const char *given, struct archive_places *places,
		  struct symbolizer_config *config)
{
	const char *dir = given ? given : DEFAULT_SESSION;

	if (is_packed(dir))
		unpack(dir, &dir, NULL); /* should it fail, input_open() says so */
	archive_places_init(places, dir, importer_find_root(dir), config);
	if (code_in_use.vmlinux)
		config->vmlinux = code_in_use.vmlinux;
	if (code_in_use.symfs)
		config->root = code_in_use.symfs;
}

int input_decode(struct replay *replay, const struct itrace *itrace, const char *given,
		 struct error *err)
{
	struct symbolizer_config config = { 0 };
	struct archive_places places;
	int r;

	input_places(given, &places, &config);
	r = replay_decode(replay, itrace, &config, err);
	archive_places_fini(&places);
	return r;
}

struct symbolizer *input_symbolizer(const char *given, const char *cache_dir)
{
	struct symbolizer_config config = { .cache_dir = cache_dir };

	return input_symbolizer_with(given, &config);
}

struct symbolizer *input_symbolizer_with(const char *given, const struct symbolizer_config *wanted)
{
	struct symbolizer_config config = *wanted;
	struct archive_places places;
	struct symbolizer *symbols;

	config.say_fetching = say_fetching;
	config.say_unread = say_unread;
	config.no_demangle = wanted->no_demangle || names_stay_mangled;
	input_places(given, &places, &config);
	symbols = symbolizer_new(&config);
	archive_places_fini(&places);
	return symbols;
}

int input_unpacked(const char *path, const char **out, struct error *err)
{
	*out = path;
	return is_packed(path) ? unpack(path, out, err) : 0;
}

static int open_packed(const char *path, const struct history_request *request,
		       struct session **out, bool *is_damaged, struct error *err)
{
	const char *dir;
	int r = unpack(path, &dir, err);

	if (r >= 0 && import_is_recording(dir))
		r = open_imported(dir, request, out, is_damaged, err);
	else if (r >= 0)
		r = history_open(dir, request, out, err);
	if (r >= 0) {
		free((*out)->path);
		(*out)->path = xstrdup(path);
	}
	return r;
}

static int open_any(const char *path, const struct query *q, struct session **out, bool *is_damaged,
		    struct error *err)
{
	const struct history_request request = {
		.window = q && q->has_window ? q->window : TIME_WINDOW_ALL,
		.with_seconds = !q || !q->whole_only || query_has(q, FILTER_TIME),
	};

	int r;

	*is_damaged = false;
	if (is_packed(path))
		return open_packed(path, &request, out, is_damaged, err);
	if (import_is_recording(path))
		return open_imported(path, &request, out, is_damaged, err);
	r = history_open(path, &request, out, err);
	if (r >= 0)
		(*out)->is_live = lock_holder(path) > 0;
	return r == -EINVAL || r == -ENODATA ? input_explain_daemon(path, r, err) : r;
}

int input_open_window(const char *path, const struct query *q, struct session **out,
		      bool *is_damaged, struct error *err)
{
	int r = open_any(path, q, out, is_damaged, err);

	if (r >= 0 && code_in_use.vmlinux)
		check_kernel_of(*out);
	return r;
}

int input_open(const char *path, struct session **out, bool *is_damaged, struct error *err)
{
	return input_open_window(path, NULL, out, is_damaged, err);
}

int input_open_given_window(const char *given, const struct query *q, struct session **out,
			    bool *is_damaged, struct error *err)
{
	if (!given && access(DEFAULT_SESSION, F_OK) < 0)
		return error_set(err, -ENOENT,
				 "no session at " DEFAULT_SESSION "; record one with 'assay record "
				 "-- COMMAND', or name one with -i");
	return input_open_window(given ? given : DEFAULT_SESSION, q, out, is_damaged, err);
}

int input_open_given(const char *given, struct session **out, bool *is_damaged, struct error *err)
{
	return input_open_given_window(given, NULL, out, is_damaged, err);
}

int input_query(const struct option_list *operands, bool with_idle, struct query *q,
		struct error *err)
{
	int r = 0;

	q->with_idle = with_idle;
	q->containers = input_containers();
	for (size_t i = 0; i < operands->n && r >= 0; i++)
		r = query_add(q, operands->data[i], err);
	return r < 0 ? r : query_check(q, err);
}

#define X(id, tag, match, value, help) "*" tag ":*_" value "_\n\t" help "\n\n"
const char input_filters_help[] =
	"Operands choose samples. Values are separated by commas (\"\\\\,\" is a literal one) and "
	"are alternatives; different filters must all hold. Words are globs, numbers may be ranges "
	"(0-3). An operand without a tag names a program or an image.\n\n" FILTERS(X);
#undef X

bool input_by_period(const char *weight, const struct profile *profile, const struct profile *other)
{
	if (strcmp(weight, "auto") != 0)
		return !strcmp(weight, "events");
	return profile_weighs_by_period(profile) || (other && profile_weighs_by_period(other));
}
