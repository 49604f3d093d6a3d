/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making and freeing a struct input, and its temporary directory. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/cut_guard.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "elf/elf_file.h"
#include "machine/container_names.h"
#include "open/input_state.h"
#include "symbol/debuginfod.h"

#define MEMORY_DIR "/dev/shm"
#define MEMORY_MIN ((uint64_t)256 << 20)

static int input_take_itrace(struct input *in, const char *text, const char *filter,
			     struct error *err)
{
	const char *usual = filter ? ITRACE_DEFAULT_FILTER : ITRACE_DEFAULT_REPORT;
	int r = itrace_parse(text ? text : usual, &in->itrace, err);

	if (r < 0)
		return error_wrap(err, r, "itrace");
	/* Profiles add up stacks: what 16 frames leave out is missing in every caller. */
	if (!in->itrace.has_chain_size)
		in->itrace.chain_size = ITRACE_MAX_CHAIN;
	if (filter && in->config.no_itrace)
		return error_set(err, -EINVAL, "filter: --no-itrace leaves no branches for it");
	return itrace_take_filter(&in->itrace, filter, &in->filter, err);
}

/* -EINVAL is of `itrace` alone. */
static int not_invalid(int r)
{
	return r == -EINVAL ? -EBADMSG : r;
}

static int input_check_vmlinux(struct input *in, struct error *err)
{
	const char *path = in->config.vmlinux;
	struct file_mapping file = { 0 };
	struct elf_file elf;
	int r = path ? file_map(path, &file, err) : 0;

	if (!path || r < 0)
		return r < 0 ? error_wrap(err, not_invalid(r), "vmlinux") : 0;
	r = elf_file_open(&elf, file.base, file.size, err);
	if (r >= 0)
		elf_build_id(&elf, &in->vmlinux_id);
	file_unmap(&file);
	return r < 0 ? error_wrap(err, not_invalid(r), "vmlinux: %s", path) : 0;
}

static int input_check_symfs(const struct input *in, struct error *err)
{
	const char *path = in->config.symfs;
	struct stat st;

	if (path && stat(path, &st) < 0)
		return error_errno(err, -errno, "symfs: %s", path);
	return !path || S_ISDIR(st.st_mode)
		       ? 0
		       : error_set(err, -ENOTDIR, "symfs: %s is not a directory", path);
}

static int input_read_containers(struct input *in, const char *file, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	unsigned int bad;
	int r;

	if (!file)
		return 0;
	r = file_read_all(file, CONTAINER_TEXT_MAX, &text, NULL);
	if (r < 0)
		return error_errno(err, r, "container-names: cannot read %s", file);
	in->containers = container_names_new();
	bad = container_names_parse(in->containers, text);
	return bad ? error_set(err, -EBADMSG,
			       "container-names: %s: line %u is not \"ID NAME\": the id of a "
			       "container or the uid of a pod, a space, and a name",
			       file, bad)
		   : 0;
}

static char *copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static void copy_image_dirs(struct input *in, const struct open_config *config)
{
	const char **dirs = xcalloc(config->n_image_dirs + 1, sizeof(*dirs));

	for (size_t i = 0; i < config->n_image_dirs; i++)
		dirs[i] = xstrdup(config->image_dirs[i]);
	in->config.image_dirs = dirs;
}

int input_new(const struct open_config *config, struct input **out, struct error *err)
{
	struct input *in;
	int r = reserve_begin();

	*out = NULL;
	if (r < 0)
		return reserve_error(err);
	in = xcalloc(1, sizeof(*in));
	in->config = *config;
	in->guest_kallsyms_fd = in->guest_modules_fd = -1;
	in->config.vmlinux = copy_text(config->vmlinux);
	in->config.symfs = copy_text(config->symfs);
	in->config.guest_kallsyms = copy_text(config->guest_kallsyms);
	in->config.guest_modules = copy_text(config->guest_modules);
	in->config.guest_mount = copy_text(config->guest_mount);
	in->config.guest_vmlinux = copy_text(config->guest_vmlinux);
	copy_image_dirs(in, config);
	if (config->report_fetching)
		in->debuginfod = debuginfod_new(&(struct debuginfod_config){
			.limit_s = (uint32_t)ceil(config->debuginfod_s),
			.asks_later = config->names_s > 0,
			.report = config->report_fetching,
			.progress = config->report_progress });
	in->config.itrace = in->config.filter = in->config.container_names = NULL;
	if (config->guards_cut_files)
		cut_guard_enable();
	r = input_take_itrace(in, config->itrace, config->filter, err);
	r = r < 0 ? r : input_check_vmlinux(in, err);
	r = r < 0 ? r : input_check_symfs(in, err);
	r = r < 0 ? r : input_take_guests(in, err);
	r = r < 0 ? r : input_read_containers(in, config->container_names, err);
	if (r < 0)
		input_free(in);
	*out = r < 0 ? NULL : in;
	return r < 0 ? r : 0;
}

void input_free(struct input *in)
{
	if (!in)
		return;
	if (in->scratch && getpid() == in->owner)
		file_remove_tree(in->scratch, NULL);
	container_names_free(in->containers);
	branch_filter_fini(&in->filter);
	free((char *)in->config.vmlinux);
	free((char *)in->config.symfs);
	close_at_exit(&in->guest_kallsyms_fd);
	close_at_exit(&in->guest_modules_fd);
	free((char *)in->config.guest_kallsyms);
	free((char *)in->config.guest_modules);
	free((char *)in->config.guest_mount);
	free((char *)in->config.guest_vmlinux);
	for (size_t i = 0; i < in->config.n_image_dirs; i++)
		free((char *)in->config.image_dirs[i]);
	free((char **)in->config.image_dirs);
	debuginfod_free(in->debuginfod);
	free(in->scratch);
	free(in->packed);
	free(in->unpacked);
	free(in);
	reserve_end();
}

void input_want_sums_alone(struct input *in, bool sums_alone)
{
	in->sums_alone = sums_alone;
}

const struct itrace *input_itrace(const struct input *in)
{
	return in->config.no_itrace ? NULL : &in->itrace;
}

const struct container_names *input_containers(const struct input *in)
{
	return in->containers;
}

const char *input_refused_vmlinux(const struct input *in, const struct build_id *recorded)
{
	return in->config.vmlinux && recorded->len && !build_id_equal(recorded, &in->vmlinux_id)
		       ? in->config.vmlinux
		       : NULL;
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

int input_scratch(struct input *in, const char **dir, struct error *err)
{
	if (!in->scratch) {
		cleanup(free_at_exit) char *made = xasprintf("%s/assay.XXXXXX", scratch_parent());

		if (!mkdtemp(made))
			return error_errno(err, -errno, "a temporary session: %s", made);
		in->scratch = take_ptr(made);
		in->owner = getpid();
		if (in->config.on_scratch)
			in->config.on_scratch(in->scratch);
	}
	*dir = in->scratch;
	return 0;
}

int input_new_folder(struct input *in, char **dir, struct error *err)
{
	const char *scratch;
	int r = input_scratch(in, &scratch, err);

	if (r >= 0)
		*dir = xasprintf("%s/session.%u", scratch, in->n_folders++);
	return r;
}
