/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups: what their paths say, and how a number becomes a path. */
#include "cgroup_paths.h"

#include "base/files/file.h"
#include "machine/cgroup_name.h"
#include "machine/cgroups.h"
#include "machine/machine.h"
#include "profile/profile.h"
#include "profile/rows.h"
#include "store/history/merge.h"

#include <sys/stat.h>

#include "store/native.h"

#define UID_IN_UNIT "1b0c9d8e_7f6a_4b4c_9d2e_1f0a9b8c7d6e"

struct expected {
	const char *path, *unit, *runtime, *container, *pod, *qos;
};

static const struct expected of_systemd[] = {
	{ "", "", "", "", "", "" },
	{ "/", "", "", "", "", "" },
	{ "/init.scope", "init.scope", "", "", "", "" },
	{ "/system.slice", "system.slice", "", "", "", "" },
	{ "/system.slice/ssh.service", "ssh.service", "", "", "", "" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "", "", "",
	  "" },
	{ "/system.slice/system-postgresql.slice/postgresql@15-main.service",
	  "postgresql@15-main.service", "", "", "", "" },
	{ "/system.slice/docker.service", "docker.service", "", "", "", "" },
	{ "/system.slice/docker.socket", "docker.socket", "", "", "", "" },
	{ "/system.slice/systemd-udevd.service/udev", "systemd-udevd.service", "", "", "", "" },
	{ "/system.slice/dev-hugepages.mount", "dev-hugepages.mount", "", "", "", "" },
	{ "/user.slice/user-1000.slice", "user-1000.slice", "", "", "", "" },
	{ "/user.slice/user-1000.slice/session-2.scope", "session-2.scope", "", "", "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice", "user@1000.service", "", "",
	  "", "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-gnome-firefox-4242.scope",
	  "app-gnome-firefox-4242.scope", "", "", "", "" },
	{ "/system.slice/_memory.service", "memory.service", "", "", "", "" },
	{ "/system.slice/run-r9f8.scope", "run-r9f8.scope", "", "", "", "" },
	{ "/batch/.service", "", "", "", "", "" },
	{ "/process_api/f93ecd622eb48307a04391daa2866ab7", "", "", "", "", "" },
	{ "//system.slice//cron.service/", "cron.service", "", "", "", "" },
	{ "/../../system.slice/cron.service", "cron.service", "", "", "", "" },
};

static const struct expected of_containers[] = {
	/* docker: the systemd driver, cgroupfs, one in another, systemd inside */
	{ "/system.slice/docker-" ID ".scope", "docker-" ID ".scope", "docker", ID, "", "" },
	{ "/docker/" ID, "", "docker", ID, "", "" },
	{ "/docker/" ID "/docker/" ID2, "", "docker", ID2, "", "" },
	{ "/docker/" ID "/system.slice/nginx.service", "nginx.service", "docker", ID, "", "" },
	{ "/docker/buildx", "", "", "", "", "" },
	{ "/system.slice/docker-" ID ".scope/init.scope", "init.scope", "docker", ID, "", "" },
	{ "/actions_job/" ID, "", "oci", ID, "", "" },
	/* podman: of root, without it, below libpod_parent; its monitor is none */
	{ "/machine.slice/libpod-" ID ".scope", "libpod-" ID ".scope", "podman", ID, "", "" },
	{ "/machine.slice/libpod-" ID ".scope/container", "libpod-" ID ".scope", "podman", ID, "",
	  "" },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope/container",
	  "libpod-" ID ".scope", "podman", ID, "", "" },
	{ "/libpod_parent/libpod-" ID, "", "podman", ID, "", "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", "libpod-conmon-" ID ".scope", "", "", "",
	  "" },
	{ "/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID2 ".scope",
	  "libpod-" ID2 ".scope", "podman", ID2, ID, "" },
	/* containerd without Kubernetes */
	{ "/system.slice/nerdctl-" ID ".scope", "nerdctl-" ID ".scope", "containerd", ID, "", "" },
	{ "/default/" ID, "", "oci", ID, "", "" },
	/* lxc: of all versions; Proxmox; its monitor is none */
	{ "/lxc/web", "", "lxc", "web", "", "" },
	{ "/lxc/101/ns/system.slice/cron.service", "cron.service", "lxc", "101", "", "" },
	{ "/lxc.payload/web", "", "lxc", "web", "", "" },
	{ "/lxc.payload.web/system.slice/apache2.service", "apache2.service", "lxc", "web", "",
	  "" },
	{ "/lxc.monitor.web", "", "", "", "", "" },
	/* machined: nspawn and libvirt */
	{ "/machine.slice/systemd-nspawn@debian.service/payload", "systemd-nspawn@debian.service",
	  "nspawn", "debian", "", "" },
	{ "/machine.slice/machine-my\\x2dbox.scope", "machine-my\\x2dbox.scope", "nspawn", "my-box",
	  "", "" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator",
	  "machine-qemu\\x2d1\\x2dvm.scope", "qemu", "1-vm", "", "" },
	/* Amazon: of instances, and Fargate */
	{ "/ecs/0123456789abcdef0123456789abcdef/" ID, "", "ecs", ID, "", "" },
	{ "/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-265927825", "",
	  "ecs", "0123456789abcdef0123456789abcdef-265927825", "", "" },
	/* what only looks like one */
	{ "/system.slice/docker-short.scope", "docker-short.scope", "", "", "", "" },
	{ "/docker/" ID "0", "", "", "", "", "" },
};

#define PODS "/kubepods.slice/kubepods-"

static const struct expected of_pods[] = {
	/* the systemd driver */
	{ PODS "burstable.slice/kubepods-burstable-pod" UID_IN_UNIT ".slice/cri-containerd-" ID
	       ".scope",
	  "cri-containerd-" ID ".scope", "containerd", ID, UID, "burstable" },
	{ PODS "besteffort.slice/kubepods-besteffort-pod" UID_IN_UNIT ".slice/crio-" ID ".scope",
	  "crio-" ID ".scope", "crio", ID, UID, "besteffort" },
	{ PODS "pod" UID_IN_UNIT ".slice/docker-" ID ".scope", "docker-" ID ".scope", "docker", ID,
	  UID, "guaranteed" },
	{ PODS "pod" UID_IN_UNIT ".slice", "kubepods-pod" UID_IN_UNIT ".slice", "", "", UID,
	  "guaranteed" },
	{ PODS "besteffort.slice/kubepods-besteffort-pod" UID_IN_UNIT ".slice/crio-conmon-" ID
	       ".scope",
	  "crio-conmon-" ID ".scope", "", "", UID, "besteffort" },
	{ PODS "besteffort.slice", "kubepods-besteffort.slice", "", "", "", "" },
	/* a static pod, by the hash of its manifest */
	{ PODS "burstable.slice/kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice/"
	       "cri-containerd-" ID ".scope",
	  "cri-containerd-" ID ".scope", "containerd", ID, "0123456789abcdef0123456789abcdef",
	  "burstable" },
	/* kind: a node is a container, and has slices */
	{ "/docker/" ID2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
	  "kubelet-kubepods-burstable-pod" UID_IN_UNIT ".slice/cri-containerd-" ID ".scope",
	  "cri-containerd-" ID ".scope", "containerd", ID, UID, "burstable" },
	/* cgroupfs: the path does not tell the runtime, but for CRI-O */
	{ "/kubepods/burstable/pod" UID "/" ID, "", "cri", ID, UID, "burstable" },
	{ "/kubepods/besteffort/pod" UID "/" ID, "", "cri", ID, UID, "besteffort" },
	{ "/kubepods/pod" UID "/" ID, "", "cri", ID, UID, "guaranteed" },
	{ "/kubepods/besteffort/pod" UID "/crio-" ID, "", "crio", ID, UID, "besteffort" },
	{ "/docker/" ID2 "/kubelet/kubepods/besteffort/pod" UID "/" ID, "", "cri", ID, UID,
	  "besteffort" },
	/* cgroup v1 with systemd's form and the cgroupfs driver */
	{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_IN_UNIT
	  ".slice:cri-containerd:" ID,
	  "containerd.service", "containerd", ID, UID, "burstable" },
	{ "/kubepods-pod" UID_IN_UNIT ".slice:crio:" ID, "", "crio", ID, UID, "guaranteed" },
	/* systemd in a pod's container */
	{ "/kubepods/burstable/pod" UID "/" ID "/system.slice/nginx.service", "nginx.service",
	  "cri", ID, UID, "burstable" },
	/* no pods */
	{ "/system.slice/pod" UID, "system.slice", "", "", "", "" },
	{ "/kubepods/burstable/podling", "", "", "", "", "" },
	{ "/kubepods/burstable/pod1b0c9d8e-7f6a", "", "", "", "", "" },
};

static void check_all(const struct expected *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct expected *e = &list[i];
		struct cgroup_names names;

		print_message("%s\n", e->path);
		cgroup_names_of(e->path, &names);
		assert_string_equal(names.unit, e->unit);
		assert_string_equal(names.runtime, e->runtime);
		assert_string_equal(names.container, e->container);
		assert_string_equal(names.pod, e->pod);
		assert_string_equal(names.qos, e->qos);
	}
}

static void a_path_tells_the_unit(void **state)
{
	(void)state;
	check_all(of_systemd, ARRAY_SIZE(of_systemd));
}

static void a_path_tells_the_container(void **state)
{
	(void)state;
	check_all(of_containers, ARRAY_SIZE(of_containers));
}

static void a_path_tells_the_pod(void **state)
{
	(void)state;
	check_all(of_pods, ARRAY_SIZE(of_pods));
}

static void ids_are_short_for_people(void **state)
{
	char text[CGROUP_TEXT_SIZE];
	struct cgroup_names names;

	(void)state;
	cgroup_names_of("/kubepods/burstable/pod" UID "/crio-" ID, &names);
	assert_string_equal(cgroup_container_text(&names, text), "crio:3f0c4f1e2d9b");
	assert_string_equal(cgroup_pod_text(&names, text), UID " (burstable)");
	cgroup_names_of("/lxc/deadbeef", &names);
	assert_string_equal(cgroup_container_text(&names, text), "lxc:deadbeef");
	assert_string_equal(cgroup_pod_text(&names, text), "");
	cgroup_names_of("/", &names);
	assert_string_equal(cgroup_container_text(&names, text), "");
}

static void names_stand_with_ids(void **state)
{
	char text[CGROUP_TEXT_SIZE];
	struct cgroup_names names;

	(void)state;
	cgroup_names_of("/kubepods/burstable/pod" UID "/crio-" ID, &names);
	names.container_name = "app";
	names.pod_name = "default/web-5d8f";
	assert_string_equal(cgroup_container_text(&names, text), "crio:app (3f0c4f1e2d9b)");
	assert_string_equal(cgroup_pod_text(&names, text), "default/web-5d8f (" UID " burstable)");
}

/* A name as long as a file's may be, and any bytes. */
static void odd_paths_do_no_harm(void **state)
{
	static const char pieces[] = "/:-.xkubepods-pod0123456789abcdef_\\x2d.slice.scope";
	struct cgroup_names names;
	char path[4096];

	(void)state;
	memset(path, 'a', sizeof(path));
	memcpy(path, "/lxc/", 5);
	path[sizeof(path) - 1] = '\0';
	cgroup_names_of(path, &names);
	assert_int_equal(strlen(names.container), sizeof(names.container) - 1);
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		size_t n = (size_t)random() % 200;

		for (size_t k = 0; k < n; k++)
			path[k] = pieces[(size_t)random() % (sizeof(pieces) - 1)];
		path[n] = '\0';
		cgroup_names_of(path, &names);
	}
}

/* ---- numbers and processes ---- */

static const char *text_of(const struct strings *strings, string_id id)
{
	return strings_get(strings, id);
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

/* Not the kernel's file system, so there are no handles: it is walked through. */
static void a_number_is_looked_up_in_the_file_system(void **state)
{
	struct strings strings;
	struct cgroups *c;

	(void)state;
	run_command("mkdir -p sys/fs/cgroup/system.slice/cron.service sys/fs/cgroup/init.scope && "
		    "touch sys/fs/cgroup/cgroup.controllers sys/fs/cgroup/init.scope/cgroup.procs");
	strings_init(&strings);
	c = cgroups_new("proc", "sys", &strings);
	assert_string_equal(
		text_of(&strings,
			cgroups_find(c, inode_of("sys/fs/cgroup/system.slice/cron.service"))),
		"/system.slice/cron.service");
	assert_string_equal(text_of(&strings,
				    cgroups_find(c, inode_of("sys/fs/cgroup/init.scope"))),
			    "/init.scope");
	assert_int_equal(cgroups_find(c, 1ULL << 60).n, 0);
	assert_int_equal(cgroups_find(c, 0).n, 0);
	cgroups_add(c, 1ULL << 60, "/made/later");
	assert_string_equal(text_of(&strings, cgroups_find(c, 1ULL << 60)), "/made/later");
	cgroups_add(c, 1, "");
	assert_true(cgroups_is_root(c, cgroups_find(c, 1)));
	cgroups_free(c);
	strings_fini(&strings);
}

/* Each hierarchy counts its own groups; perf events are of v1's where that has the controller. */
static void numbers_of_v1_are_those_of_their_hierarchy(void **state)
{
	struct strings strings;
	struct cgroups *c;
	uint64_t number;

	(void)state;
	run_command("mkdir -p v1/fs/cgroup/pids/docker/a v1/fs/cgroup/unified/b v1p && "
		    "touch v1/fs/cgroup/pids/tasks v1/fs/cgroup/unified/cgroup.controllers && "
		    "printf 'pids\\t8\\t3\\t1\\nperf_event\\t11\\t1\\t1\\n' >v1p/cgroups");
	strings_init(&strings);
	c = cgroups_new("v1p", "v1", &strings);
	number = inode_of("v1/fs/cgroup/pids/docker/a");
	assert_string_equal(text_of(&strings,
				    cgroups_find(c, CGROUP_NUMBER(CGROUP_V1_pids, number))),
			    "/docker/a");
	assert_int_equal(cgroups_find(c, CGROUP_NUMBER(CGROUP_V2, number)).n, 0);
	number = inode_of("v1/fs/cgroup/unified/b");
	assert_string_equal(text_of(&strings, cgroups_find(c, CGROUP_NUMBER(CGROUP_V2, number))),
			    "/b");
	/* What the kernel's records tell is of perf_event's. */
	cgroups_add(c, 7, "/told");
	assert_string_equal(text_of(&strings, cgroups_find(c, 7)), "/told");
	assert_string_equal(text_of(&strings,
				    cgroups_find(c, CGROUP_NUMBER(CGROUP_V1_perf_event, 7))),
			    "/told");
	assert_int_equal(cgroups_find(c, CGROUP_NUMBER(CGROUP_V2, 7)).n, 0);
	cgroups_free(c);
	strings_fini(&strings);
}

static void offline_events_alone_tell(void **state)
{
	struct strings strings;
	struct cgroups *c;

	(void)state;
	strings_init(&strings);
	c = cgroups_new(NULL, NULL, &strings);
	assert_int_equal(cgroups_find(c, 1).n, 0);
	cgroups_add(c, 1, "/a");
	assert_string_equal(text_of(&strings, cgroups_find(c, 1)), "/a");
	assert_int_equal(cgroups_of_process(c, 1).n, 0);
	cgroups_free(c);
	strings_fini(&strings);
}

static void a_process_has_the_path_that_tells_most(void **state)
{
	static const struct {
		const char *file, *path;
	} of[] = {
		{ "0::/system.slice/cron.service\n", "/system.slice/cron.service" },
		{ "0::/\n", "/" },
		{ "12:memory:/docker/x\n1:name=systemd:/system.slice/a.service\n0::/b\n", "/b" },
		{ "12:memory:/docker/x\n1:name=systemd:/docker/y\n0::/\n", "/docker/y" },
		{ "12:pids:/\n4:memory:/process_api/f9\n3:cpuset:/\n1:name=systemd:/\n0::/\n",
		  "/process_api/f9" },
		{ "5:cpu,cpuacct:/with:colons\n", "/with:colons" },
		{ "0::/gone.scope (deleted)\n", "/gone.scope" },
		{ "0::/no-end", "/no-end" },
		{ "", "" },
		{ "nonsense\n::\n0\n0::\n:\n\n", "" },
	};
	struct strings strings;
	struct cgroups *c;

	(void)state;
	run_command("mkdir -p proc/7");
	strings_init(&strings);
	c = cgroups_new("proc", "nowhere", &strings);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		write_file("proc/7/cgroup", of[i].file);
		assert_string_equal(text_of(&strings, cgroups_of_process(c, 7)), of[i].path);
	}
	assert_int_equal(cgroups_of_process(c, 8).n, 0);
	assert_int_equal(cgroups_of_process(c, 0).n, 0);
	assert_int_equal(cgroups_of_process(c, -1).n, 0);
	cgroups_free(c);
	strings_fini(&strings);
}

/* ---- the machine ---- */

static void tell_fork(struct machine *m, int32_t pid, int32_t ppid)
{
	struct event e = { .type = EVENT_FORK, .pid = pid, .tid = pid };

	e.fork.ppid = e.fork.ptid = ppid;
	machine_event(m, &e);
}

static const char *cgroup_of(struct machine *m, int32_t pid, uint64_t id)
{
	struct thread_view thread = machine_thread(m, pid, pid);

	return text_of(machine_strings(m), machine_cgroup(m, &thread, id));
}

static void a_sample_has_the_cgroup_that_it_says_else_its_processs(void **state)
{
	static const struct machine_config config = { .proc = "proc", .sys = "nowhere" };
	struct event told = { .type = EVENT_CGROUP, .cgroup = { 5, "/a.scope" } };
	struct event root = { .type = EVENT_CGROUP, .cgroup = { 1, "/" } };
	struct machine *m;

	(void)state;
	run_command("rm -rf proc && mkdir -p proc/7 proc/9");
	write_file("proc/7/cgroup", "0::/b.scope\n");
	write_file("proc/9/cgroup", "0::/\n");
	m = machine_new(&config);
	machine_event(m, &told);
	machine_event(m, &root);
	assert_string_equal(cgroup_of(m, 7, 5), "/a.scope");
	assert_string_equal(cgroup_of(m, 7, 0), "/b.scope");
	assert_string_equal(cgroup_of(m, 7, 1), "/b.scope");
	assert_string_equal(cgroup_of(m, 7, 6), "/b.scope");
	assert_string_equal(cgroup_of(m, 9, 1), "/");
	/* One that has ended already was where its parent is. */
	write_file("proc/9/cgroup", "0::/c.scope\n");
	tell_fork(m, 10, 9);
	tell_fork(m, 11, 10);
	assert_string_equal(cgroup_of(m, 11, 0), "/");
	tell_fork(m, 21, 20);
	run_command("mkdir proc/20");
	write_file("proc/20/cgroup", "0::/d.scope\n");
	tell_fork(m, 22, 21);
	assert_string_equal(cgroup_of(m, 22, 0), "/d.scope");
	tell_fork(m, 8, 7);
	assert_string_equal(cgroup_of(m, 8, 0), "/b.scope");
	assert_string_equal(cgroup_of(m, 8, 5), "/a.scope");
	assert_string_equal(cgroup_of(m, 0, 0), "");
	assert_string_equal(cgroup_of(m, 0, 1), "/");
	machine_free(m);
}

/* ---- sessions ---- */

static void add_of(struct world *w, const char *cgroup, uint64_t n)
{
	const struct code_addr frame = { w->bin, 0x1000 };
	struct sample sample = {
		.class = { .app = w->bin,
			   .pid = 7,
			   .tid = 7,
			   .comm = w->comm,
			   .cgroup = strings_add(&w->strings, cgroup) },
		.time_ns = 100 * SECOND,
		.frames = &frame,
		.n_frames = 1,
		.samples = n,
		.period = n,
	};

	assert_int_equal(native_store.add(w->store, &sample, &w->err), 0);
}

static struct session *close_and_open(struct world *w)
{
	struct session *s;
	uint64_t n;

	assert_int_equal(native_store.close(w->store, NULL, &n, &w->err), 0);
	assert_int_equal(session_open(w->path, &s, &w->err), 0);
	return s;
}

/* Samples of one value of a key, under filters; -1: there is no such row. */
static int64_t samples_of(const struct session *s, const char *key, const char *text,
			  const char *filter)
{
	struct query q = { 0 };
	struct profile_request request = { .session = s, .query = &q };
	struct rows rows = { 0 };
	char scratch[KEY_TEXT_SIZE];
	struct profile *p;
	int64_t n = -1;

	assert_int_equal(key_list_parse(&request.keys, key, NULL), 0);
	if (filter)
		assert_int_equal(query_add(&q, filter, NULL), 0);
	p = profile_load(&request);
	profile_collate(p, &request.keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++)
		if (!strcmp(profile_key_text(p, request.keys.key[0],
					     rows.list.data[i].value[request.keys.key[0]], scratch),
			    text))
			n = (int64_t)rows_cells(&rows, i)->self.samples;
	rows_fini(&rows);
	profile_free(p);
	query_fini(&q);
	return n;
}

#define OF_DOCKER "/system.slice/docker-" ID ".scope"

static void a_session_tells_samples_apart_by_cgroup(void **state)
{
	static const struct {
		const char *key, *text, *filter;
		int64_t n;
	} of[] = {
		{ "cgroup", "/system.slice/cron.service", NULL, 1 },
		{ "cgroup", OF_DOCKER, NULL, 6 },
		{ "cgroup", "[unknown]", NULL, 16 },
		{ "unit", "cron.service", NULL, 9 },
		{ "unit", "[no unit]", NULL, 16 },
		{ "container", "docker:3f0c4f1e2d9b", NULL, 6 },
		{ "container", "[no container]", NULL, 25 },
		{ "pod", "[no pod]", NULL, 31 },
		{ "cgroup", OF_DOCKER, "container:" ID, 6 },
		{ "cgroup", OF_DOCKER, "container:3f0c*", 6 },
		{ "cgroup", OF_DOCKER, "container:docker:*", 6 },
		{ "cgroup", OF_DOCKER, "container:3f0c4f1e2d9b", 6 },
		{ "cgroup", OF_DOCKER, "unit:cron", -1 },
		{ "unit", "cron.service", "unit:cron", 9 },
		{ "unit", "cron.service", "unit:cr*.service", 9 },
		{ "cgroup", "/user.slice/cron.service", "cgroup:/user.slice", 8 },
		{ "cgroup", "/system.slice/cron.service", "cgroup:/user.slice", -1 },
		{ "cgroup", "/system.slice/cron.service", "cgroup:*cron*", 1 },
		{ "app", "cc", "cgroup:/user.slic", -1 },
		{ "app", "cc", "unit:[no unit]", 16 },
		{ "app", "cc", "pod:" UID, -1 },
	};
	struct session *s;
	struct world w;

	(void)state;
	world_init(&w);
	add_of(&w, "/system.slice/cron.service", 1);
	add_of(&w, OF_DOCKER, 2);
	assert_int_equal(native_store.flush(w.store, UINT64_MAX, &w.err), 0);
	add_of(&w, OF_DOCKER, 4);
	add_of(&w, "/user.slice/cron.service", 8);
	add_of(&w, "", 16);
	s = close_and_open(&w);
	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		print_message("%s %s\n", of[i].text, of[i].filter ? of[i].filter : "");
		assert_int_equal(samples_of(s, of[i].key, of[i].text, of[i].filter), of[i].n);
	}
	session_close(s);
	world_fini(&w);
}

/* What retention makes of it: classes of one path are one, wherever they come from. */
static void a_merged_session_keeps_its_cgroups(void **state)
{
	const struct merge_config config = { .block_ns = 60 * SECOND,
					     .replaces = "",
					     .merged = SEPARATE_PROCESS | SEPARATE_THREAD |
						       SEPARATE_CPU };
	cleanup(free_at_exit) char *to = NULL;
	struct session *s, *merged;
	struct merge_result result;
	struct world w;

	(void)state;
	world_init(&w);
	strings_add(&w.strings, "so that ids differ");
	add_of(&w, "/a.service", 1);
	add_of(&w, "/b.service", 2);
	assert_int_equal(native_store.flush(w.store, UINT64_MAX, &w.err), 0);
	add_of(&w, "/a.service", 4);
	s = close_and_open(&w);
	to = xasprintf("%s/merged", w.dir);
	assert_int_equal(session_merge(s, &config, to, &result, &w.err), 0);
	assert_int_equal(session_open(to, &merged, &w.err), 0);
	assert_int_equal(samples_of(merged, "cgroup", "/a.service", NULL), 5);
	assert_int_equal(samples_of(merged, "unit", "b.service", NULL), 2);
	session_close(merged);
	session_close(s);
	world_fini(&w);
}

static uint64_t session_bytes(const char *cgroup)
{
	uint64_t bytes;
	struct world w;

	world_init(&w);
	for (uint32_t i = 0; i < 100; i++)
		add_of(&w, cgroup, i);
	session_close(close_and_open(&w));
	bytes = file_tree_bytes(w.path);
	world_fini(&w);
	return bytes;
}

/* A session without cgroups has not a byte more than before there were any. */
static void cgroups_take_room_only_where_there_are_some(void **state)
{
	uint64_t without = session_bytes(""), with = session_bytes("/");

	(void)state;
	assert_true(with > without);
	assert_true(with <= without + 4); /* a string, and a difference */
}

/* The names of pods are those of real controllers, as Kubernetes 1.29 gave them. */
static void the_service_of_a_cgroup(void **state)
{
	static const char pod[] = PODS "burstable.slice/kubepods-burstable-pod" UID_IN_UNIT
				       ".slice/cri-containerd-" ID ".scope";
	static const struct {
		const char *path, *pod, *container, *service;
	} rows[] = {
		{ pod, "default/web-66b6c48dd5-9k2xj", "web", "default/web" },
		{ pod, "kube-system/coredns-5d78c9869d-mzs4f", NULL, "kube-system/coredns" },
		{ pod, "kube-system/kube-proxy-x7k2f", NULL, "kube-system/kube-proxy" },
		{ pod, "db/postgres-0", NULL, "db/postgres" },
		{ pod, "jobs/report-28512345-b5zq7", NULL, "jobs/report" },
		{ pod, "jobs/import-7-w2q9d", NULL, "jobs/import-7" },
		/* Its node's name is no random part. */
		{ pod, "kube-system/etcd-master1", NULL, "kube-system/etcd-master1" },
		{ pod, "default/my-cdn-bx7k2", NULL, "default/my-cdn" },
		{ pod, "default/web", NULL, "default/web" },
		{ pod, "-9k2xj", NULL, "-9k2xj" },
		{ pod, "", NULL, "" },
		{ pod, NULL, "web", "web" },
		{ pod, NULL, NULL, "" },
		{ "/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID2 ".scope", "shop-1",
		  "db", "shop-1" },
		{ "/system.slice/nginx.service", NULL, NULL, "nginx" },
		{ "/docker/" ID "/system.slice/nginx.service", NULL, "web", "nginx" },
		{ "/docker/" ID, NULL, "web", "web" },
		{ "/user.slice/user-1000.slice/session-2.scope", NULL, NULL, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_names names;
		char service[CGROUP_TEXT_SIZE];

		cgroup_names_of(rows[i].path, &names);
		names.pod_name = rows[i].pod;
		names.container_name = rows[i].container;
		assert_string_equal(cgroup_service(&names, service), rows[i].service);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_service_of_a_cgroup),
		cmocka_unit_test(a_path_tells_the_unit),
		cmocka_unit_test(a_path_tells_the_container),
		cmocka_unit_test(a_path_tells_the_pod),
		cmocka_unit_test(ids_are_short_for_people),
		cmocka_unit_test(names_stand_with_ids),
		cmocka_unit_test(odd_paths_do_no_harm),
		cmocka_unit_test(a_number_is_looked_up_in_the_file_system),
		cmocka_unit_test(numbers_of_v1_are_those_of_their_hierarchy),
		cmocka_unit_test(offline_events_alone_tell),
		cmocka_unit_test(a_process_has_the_path_that_tells_most),
		cmocka_unit_test(a_sample_has_the_cgroup_that_it_says_else_its_processs),
		cmocka_unit_test(a_session_tells_samples_apart_by_cgroup),
		cmocka_unit_test(a_merged_session_keeps_its_cgroups),
		cmocka_unit_test(cgroups_take_room_only_where_there_are_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
