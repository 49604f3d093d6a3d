/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/doctor/doctor_checks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "base/reader.h"
#include "collect/sampler_support.h"
#include "counter/sources.h"
#include "base/error.h"
#include "base/plural.h"
#include "daemon/daemon_config.h"
#include "fleet/ship_status.h"
#include "guard/fence.h"
#include "guard/open.h"
#include "lang/jit_switch.h"
#include "open/client.h"
#include "open/lock.h"
#include "machine/image_look.h"

/* Do the first lines of kallsyms have addresses? Hidden ones read as zeros. */
static bool kallsyms_shows(const char *path, bool *is_there)
{
	char bytes[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, bytes, sizeof(bytes) - 1) : -1;
	bool shows = false;

	if (fd >= 0)
		close(fd);
	*is_there = n > 0;
	if (n <= 0)
		return false;
	bytes[n] = '\0';
	/* The first symbols of all may be per-CPU ones at 0; a hidden table is 0 everywhere. */
	for (char *line = bytes; line && *line && !shows; line = strchr(line, '\n')) {
		line += *line == '\n';
		shows = strtoull(line, NULL, 16) != 0;
	}
	return shows;
}

static void probe_kernel_symbols(const struct probe_machine *m, struct finding *f)
{
	char path[PATH_MAX], setting[96];
	bool is_there;

	snprintf(path, sizeof(path), "%s/kallsyms", sources_proc(m->sources));
	if (kallsyms_shows(path, &is_there)) {
		finding_set(f, PROBE_OK, "/proc/kallsyms shows addresses");
		return;
	}
	reason_put_setting(m->sources, "kptr_restrict", setting, sizeof(setting));
	finding_set(f, PROBE_LIMITED, "%s%s%s%s",
		    is_there ? "/proc/kallsyms hides its addresses"
			     : "/proc/kallsyms cannot be read",
		    is_there ? " (" : "", is_there ? setting : "", is_there ? ")" : "");
	finding_means(f, "Time in the kernel is shown as one block without functions. Your own "
			 "programs are not affected.");
	if (is_there)
		finding_remedy(f, m, reason_of_hidden_kernel(m->sources));
}

/* Walks ELF notes (elf(5), "Notes") to the build id: name "GNU", type 3. */
static bool find_build_id(const char *bytes, size_t size, struct build_id *id)
{
	struct reader r = reader_over(bytes, size);

	while (reader_left(&r) >= 12 && !r.bad) {
		uint32_t name_size = reader_u32(&r), desc_size = reader_u32(&r);
		uint32_t type = reader_u32(&r);
		const char *name = reader_bytes(&r, ((size_t)name_size + 3) & ~(size_t)3);
		const void *desc = reader_bytes(&r, ((size_t)desc_size + 3) & ~(size_t)3);

		if (!name || !desc || type != 3 || name_size != 4 || memcmp(name, "GNU", 4) ||
		    desc_size > BUILD_ID_MAX)
			continue;
		*id = (struct build_id){ .len = (uint8_t)desc_size };
		memcpy(id->bytes, desc, desc_size);
		return desc_size > 0;
	}
	return false;
}

static void probe_kernel_build_id(const struct probe_machine *m, struct finding *f)
{
	char path[PATH_MAX], hex[BUILD_ID_HEX_SIZE], *bytes = NULL;
	struct build_id id;
	size_t size = 0;

	snprintf(path, sizeof(path), "%s/kernel/notes", sources_sysfs(m->sources));
	if (file_read_all(path, 1 << 20, &bytes, &size) == 0 && find_build_id(bytes, size, &id)) {
		build_id_hex(&id, hex);
		finding_set(f, PROBE_OK, "%s", hex);
	} else {
		finding_set(f, PROBE_LIMITED, "/sys/kernel/notes has none");
		finding_means(f, "On another machine, or after an update, a report can't check "
				 "whether the kernel is the same.");
	}
	free(bytes);
}

/* The effect of each obstacle on profiling. The remedy belongs to the reason. */
static const struct {
	enum probe_state state;
	const char *meaning;
} bpf_obstacles[] = {
	[OBSTACLE_NONE] = { PROBE_OK, NULL },
	[OBSTACLE_BUILD] = { PROBE_MISSING,
			     "Profiling by perf events works without it. An assay that is built "
			     "with clang, bpftool and libbpf has it." },
	[OBSTACLE_PERMISSION] = { PROBE_MISSING, "Profiling by perf events works without." },
	[OBSTACLE_LOCKDOWN] = { PROBE_MISSING, "BPF programs may not read kernel memory. Boot with "
					       "lockdown=integrity to change it." },
	[OBSTACLE_FILTER] = { PROBE_MISSING, "Profiling by perf events works without." },
	[OBSTACLE_NO_PROC] = { PROBE_MISSING, "Profiling by perf events works without." },
	[OBSTACLE_NO_TYPES] = { PROBE_MISSING,
				"Without the kernel's types, the program can't adapt to its "
				"structures. A kernel that is built with CONFIG_DEBUG_INFO_BTF "
				"has them. Profiling by perf events works without it." },
	[OBSTACLE_OTHER_TYPES] = { PROBE_MISSING,
				   "Under another kernel's types, the program would read wrong "
				   "fields. Profiling by perf events works without it." },
	[OBSTACLE_OLD_KERNEL] = { PROBE_MISSING,
				  "'assay record -a' collects through rings, and time that threads "
				  "wait (--off-cpu) can't be measured." },
	[OBSTACLE_REFUSED] = { PROBE_MISSING,
			       "This is a fault of assay, of the compiler that built it, or of the "
			       "kernel: please report it. Until then 'assay record -a' collects "
			       "through rings, and time that threads wait (--off-cpu) can't be "
			       "measured." },
};

static void probe_bpf(const struct probe_machine *m, struct finding *f)
{
	struct sampler_support support;

	sampler_support_try(m->sources, &support);
	finding_set(f, bpf_obstacles[support.obstacle].state, "%s",
		    support.obstacle == OBSTACLE_REFUSED ? "assay's program does not load"
							 : support.why);
	if (support.obstacle == OBSTACLE_REFUSED)
		finding_means(f, "Because %s. %s", support.why,
			      bpf_obstacles[OBSTACLE_REFUSED].meaning);
	else if (support.obstacle != OBSTACLE_NONE)
		finding_means(f, "%s", bpf_obstacles[support.obstacle].meaning);
	if (support.reason != REASON_NONE)
		finding_remedy(f, m, support.reason);
	if (support.obstacle != OBSTACLE_NONE)
		return;
	if (support.can_unwind) {
		finding_set(f, PROBE_OK, "the kernel takes assay's programs");
		return;
	}
	finding_set(f, PROBE_LIMITED, "the kernel takes assay's programs; stacks by frame pointer");
	finding_means(f,
		      "%s. Until then, stacks that are walked in the kernel end at code without "
		      "frame pointers.",
		      support.why);
}

/* Counts the entries of a directory up to `limit`; -1 if it can't be read. */
static int count_entries(const char *path, int limit)
{
	DIR *dir = opendir(path);
	const struct dirent *d;
	int n = 0;

	if (!dir)
		return -1;
	while (n < limit && (d = readdir(dir)))
		n += d->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void probe_debug_files(const struct probe_machine *m, struct finding *f)
{
	const char *dir = m->debug_dir ? m->debug_dir : "/usr/lib/debug";
	char path[PATH_MAX];
	int n;

	/* One directory for each first byte of a build id, 256 at most. */
	snprintf(path, sizeof(path), "%s/.build-id", dir);
	n = count_entries(path, 256);
	if (n > 0) {
		finding_set(f, PROBE_OK, "%.80s/.build-id is filled", dir);
		return;
	}
	finding_set(f, PROBE_LIMITED, "none below %.80s", dir);
	finding_means(f,
		      "Stripped programs and libraries show exported functions only. Packages of "
		      "debug symbols (NAME-dbgsym, NAME-dbg, NAME-debuginfo) bring the rest.");
}

static void probe_debuginfod(const struct probe_machine *m, struct finding *f)
{
	size_t n = 0;

	for (const char *at = m->debuginfod_urls; at && *(at += strspn(at, " "));
	     at += strcspn(at, " "))
		n++;
	if (n) {
		finding_set(f, PROBE_OK, "DEBUGINFOD_URLS names %zu server%s", n, plural_s(n));
		return;
	}
	finding_set(f, PROBE_LIMITED, "DEBUGINFOD_URLS is not set");
	finding_means(f, "Debug files that are not installed can't be fetched.");
	finding_command(f, m, false, "export DEBUGINFOD_URLS=https://debuginfod.elfutils.org/");
}

static bool probe_cache_dir(const struct probe_machine *m, char path[static PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (m->cache_dir)
		snprintf(path, PATH_MAX, "%s", m->cache_dir);
	else if (cache && *cache)
		snprintf(path, PATH_MAX, "%s/assay/symbols", cache);
	else if (home && *home)
		snprintf(path, PATH_MAX, "%s/.cache/assay/symbols", home);
	else
		return false;
	return true;
}

/* Can the directory be written, or, where it is not there yet, be made? */
static bool can_write(const char *path)
{
	cleanup(free_at_exit) char *parent = xstrdup(path);

	for (;;) {
		char *slash;

		if (access(parent, W_OK | X_OK) == 0)
			return true;
		slash = strrchr(parent, '/');
		if (errno != ENOENT || !slash || slash == parent)
			return false;
		*slash = '\0';
	}
}

static void probe_cache(const struct probe_machine *m, struct finding *f)
{
	char path[PATH_MAX];

	if (!probe_cache_dir(m, path)) {
		finding_set(f, PROBE_LIMITED, "neither XDG_CACHE_HOME nor HOME is set");
		finding_means(f,
			      "Symbols are read anew for every report, which then takes longer.");
		finding_command(f, m, false, "export XDG_CACHE_HOME=\"$(mktemp -d)\"");
		return;
	}
	if (can_write(path)) {
		finding_set(f, PROBE_OK, "%.120s", path);
		return;
	}
	finding_set(f, PROBE_LIMITED, "%.100s can't be written", path);
	finding_means(f, "Symbols are read anew for every report, which then takes longer.");
	finding_command(f, m, false, "export XDG_CACHE_HOME=\"$(mktemp -d)\"");
}

/* Lets the parser look at assay's own file, as if a stranger had made it. */
static void probe_parser(const struct probe_machine *m, struct finding *f)
{
	struct file_mapping file = { 0 };
	struct image_look look = { 0 };
	struct error err = { 0 };
	int r = 0;

	(void)m;
	if (!parser_uses_children()) {
		finding_set(f, PROBE_OK, "files are read by assay itself, with your rights");
		finding_means(f,
			      "If root runs assay, a process without rights reads symbol tables, "
			      "debug information and unwind tables.");
		return;
	}
	if (guard_map_place(&(struct guard_place){ .root = "", .process = "/proc/self" },
			    "/proc/self/exe", &guard_image_rules, &file, &err) == 0)
		r = image_look(&file, &(struct image_look_wish){ IMAGE_HIDDEN }, &look, &err);
	if (r == 0 && look.head.build_id.len) {
		finding_set(f, PROBE_OK, "a process without rights reads files (assay-parser)");
	} else {
		finding_set(f, PROBE_LIMITED, "the parser process fails: %.80s", err.text);
		finding_means(f,
			      "Functions of programs have no names, and their stacks end early.");
	}
	image_look_fini(&look);
	file_unmap(&file);
}

/* The program of a process; false: it has none, or it may not be seen. */
static bool program_of(const char *proc, const char *pid, char out[static PATH_MAX])
{
	cleanup(free_at_exit) char *link = xasprintf("%s/%s/exe", proc, pid);
	ssize_t n = readlink(link, out, PATH_MAX - 1);

	out[n > 0 ? n : 0] = '\0';
	return out[0] == '/';
}

/* Whether a process is of another container, whose /tmp and numbers of processes are others. */
static bool is_elsewhere(const char *proc, const char *pid)
{
	static const char *const kinds[] = { "mnt", "pid" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		cleanup(free_at_exit) char *its = xasprintf("%s/%s/ns/%s", proc, pid, kinds[i]);
		cleanup(free_at_exit) char *own = xasprintf("%s/self/ns/%s", proc, kinds[i]);
		struct stat a, b;

		if (stat(its, &a) == 0 && stat(own, &b) == 0 && a.st_ino != b.st_ino)
			return true;
	}
	return false;
}

/* Whether a process has made code: executable memory that is of no file. */
static bool has_made_code(const char *proc, const char *pid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/maps", proc, pid);
	FILE *maps = fopen(path, "re");
	char line[PATH_MAX + 128], rights[8];
	bool has = false;

	while (maps && !has && fgets(line, sizeof(line), maps)) {
		unsigned long inode = 1;
		int end = 0;

		if (sscanf(line, "%*x-%*x %7s %*x %*x:%*x %lu %n", rights, &inode, &end) == 2)
			has = rights[2] == 'x' &&
			      (inode ? !strncmp(line + end, "/memfd:", 7) /* .NET */
				     : strncmp(line + end, "[v", 2) != 0);
	}
	if (maps)
		fclose(maps);
	return has;
}

/* A running program whose functions have no names yet: assay does not read them, and no map has. */
static const char *find_nameless(const struct probe_machine *m, const char *maps, char *name,
				 size_t size)
{
	const char *proc = sources_proc(m->sources), *text = NULL;
	DIR *dir = opendir(proc);
	struct dirent *entry;
	char path[PATH_MAX];

	while (dir && !text && (entry = readdir(dir))) {
		cleanup(free_at_exit) char *map = xasprintf("%s/perf-%s.map", maps, entry->d_name);

		if (atoi(entry->d_name) <= 0 || !program_of(proc, entry->d_name, path) ||
		    jit_language_of(path) || !jit_switch_of(path) || !access(map, F_OK) ||
		    is_elsewhere(proc, entry->d_name) || !has_made_code(proc, entry->d_name))
			continue;
		text = jit_switch_of(path);
		snprintf(name, size, "%.64s (process %d)", strrchr(path, '/') + 1,
			 atoi(entry->d_name));
	}
	if (dir)
		closedir(dir);
	return text;
}

static void probe_perf_maps(const struct probe_machine *m, struct finding *f)
{
	char name[96];
	const char *text;
	const char *dir = m->map_dir ? m->map_dir : "/tmp";
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int n = 0, pid, end = 0;

	if (!d) {
		finding_set(f, PROBE_LIMITED, "%.80s can't be read: %s", dir, strerror(errno));
		finding_means(f, "Functions of a JIT compiler have no names.");
		return;
	}
	while ((entry = readdir(d)))
		n += sscanf(entry->d_name, "perf-%d.map%n", &pid, &end) == 1 && !entry->d_name[end];
	closedir(d);
	text = find_nameless(m, dir, name, sizeof(name));
	if (text) {
		finding_set(f, PROBE_LIMITED, "%.80s/perf-PID.map, %d there now, none of %s", dir,
			    n, name);
		finding_means(f, "%s. A program that writes a jitdump needs no map.", text);
		return;
	}
	finding_set(f, PROBE_OK, "%.80s/perf-PID.map, %d there now", dir, n);
	finding_means(f, "Run times with a JIT compiler name their functions there with an "
			 "option: node --perf-basic-prof, jcmd PID Compiler.perfmap (Java 17 and "
			 "newer), python -X perf (3.12 and newer).");
}

/* ---- the daemon ---- */

#define DAEMON_PATIENCE_S 2.0

/* {"rights": …, "helpers": …} of the daemon that runs; NULL: none answers. */
static json_t *ask_daemon_status(const char *dir, struct error *err)
{
	json_t *request = json_pack("{s:s}", "request", "status"), *status = NULL;

	client_ask(dir, request, DAEMON_PATIENCE_S, &status, err);
	json_decref(request);
	return status;
}

static void describe_rights(const json_t *status, struct finding *f)
{
	const json_t *rights = json_object_get(status, "rights"),
		     *helpers = json_object_get(status, "helpers");
	const char *user = "";
	int uid = 0, seccomp = 0, landlock = 0, keeper = 0, opener = 0, died = 0, parsers = 0;
	double cpu_s = 0;

	json_unpack((json_t *)rights, "{s:s, s:i, s:b, s:i}", "user", &user, "uid", &uid, "seccomp",
		    &seccomp, "landlock", &landlock);
	json_unpack((json_t *)helpers, "{s:{s:i}, s:{s:i}, s:i, s:{s:i}}", "keeper", "pid", &keeper,
		    "opener", "pid", &opener, "openers_died", &died, "parsers", "running",
		    &parsers);
	cpu_s = json_number_value(json_object_get(status, "helpers_cpu_s"));
	finding_set(f, uid && seccomp && (landlock || !keeper) ? PROBE_OK : PROBE_LIMITED,
		    "process %d, user %.32s (%d), %s, Landlock %d; keeper %d, opener %d (%d died), "
		    "parsers %d; helpers used %.1f s of CPU time",
		    (int)json_integer_value(json_object_get(status, "pid")), user, uid,
		    seccomp ? "calls filtered" : "no filter of calls", landlock, keeper, opener,
		    died, parsers, cpu_s);
}

/* How much somebody has who takes the daemon over. */
static void probe_daemon(const struct probe_machine *m, struct finding *f)
{
	const char *dir = m->daemon_dir ? m->daemon_dir : DAEMON_DIR;
	bool has_user = getpwnam("assay") != NULL;
	bool is_running = lock_holder(dir) > 0;
	struct error err = { 0 };
	json_t *status = is_running ? ask_daemon_status(dir, &err) : NULL;

	if (status)
		describe_rights(status, f);
	else if (err.code)
		finding_set(f, PROBE_LIMITED, "%.200s", err.text);
	else
		finding_set(f, has_user || !m->is_root ? PROBE_OK : PROBE_LIMITED,
			    "none runs in %.80s; root's would %s, with Landlock %d", dir,
			    has_user ? "be of the user assay" : "stay root", fence_version());
	json_decref(status);
	if (is_running || has_user)
		return;
	finding_means(f,
		      "A daemon of root stays root if there is no user 'assay'. The package makes "
		      "this user, and so does systemd-sysusers.");
	finding_command(f, m, true, "systemd-sysusers");
}

/* ---- the fleet ---- */

/* Three rounds of an hour would be long for any interval but a very long one. */
#define SHIP_LATE_NS (3 * 3600 * NS_PER_SECOND)

static void probe_ship(const struct probe_machine *m, struct finding *f)
{
	struct ship_status s;
	uint64_t now = clock_wall_ns();
	bool is_late;

	(void)m;
	if (!ship_status_read(&s)) {
		finding_set(f, PROBE_OK, "no assay ship runs as a service");
		return;
	}
	is_late = now > s.success_ns && now - s.success_ns > SHIP_LATE_NS;
	finding_set(f, is_late || s.refused || s.expired ? PROBE_LIMITED : PROBE_OK,
		    "%" PRIu64 " %s, %" PRIu64 " refused; %" PRIu64 " sample%s expired; %" PRIu64
		    " failed round%s since the last success",
		    s.backlog, plural(s.backlog, "block waits", "blocks wait"), s.refused,
		    s.expired, plural_s(s.expired), s.failures, plural_s(s.failures));
	if (is_late)
		finding_means(f, "No round went without a failure for three hours. The log has the "
				 "reason: journalctl -u assay-ship.");
}

const struct check checks[] = {
	{ "hardware counters", probe_hardware },
	{ "timer sampling", probe_clock },
	{ "precise sampling", probe_precise },
	{ "Intel PT", probe_intel_pt },
	{ "permission", probe_permission },
	{ "seccomp", probe_seccomp },
	{ "pid namespace", probe_pid_namespace },
	{ "system files", probe_system_files },
	{ "sample rate", probe_rate },
	{ "ring memory", probe_ring },
	{ "open files", probe_files },
	{ "tracepoints", probe_tracepoints },
	{ "BPF", probe_bpf },
	{ "kernel symbols", probe_kernel_symbols },
	{ "kernel build id", probe_kernel_build_id },
	{ "debug files", probe_debug_files },
	{ "debuginfod", probe_debuginfod },
	{ "symbol cache", probe_cache },
	{ "parser", probe_parser },
	{ "perf maps", probe_perf_maps },
	{ "daemon", probe_daemon },
	{ "ship", probe_ship },
	{ NULL, NULL },
};
