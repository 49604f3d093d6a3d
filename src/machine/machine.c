/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/machine.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "base/intmap.h"
#include "elf/elf_file.h"
#include "event/guest_task.h"
#include "guard/limits.h"
#include "guard/open.h"
#include "machine/address_space.h"
#include "machine/cgroups.h"
#include "machine/jit_code.h"
#include "machine/kernel_map.h"
#include "machine/machine_state.h"
#include "machine/vdso32.h"

static uint32_t process_reset(struct machine *m, int32_t pid);

static const struct guard_budget mapping_budget_live = { .user_bytes = MAPPINGS_USER_BYTES,
							 .total_bytes = MAPPINGS_BYTES };

static void forget_mappings(struct process *p)
{
	guard_share_set(&p->mappings, 0);
	address_space_fini(&p->space);
	address_space_fini(&p->data);
}

static struct build_id own_vdso_build_id(void)
{
	const uint8_t *base = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address */
	struct build_id id = { 0 };
	const ElfW(Ehdr) *header = (const void *)base;
	const ElfW(Phdr) * segment;

	if (!base)
		return id;
	segment = (const void *)(base + header->e_phoff);
	for (unsigned int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_NOTE &&
		    elf_build_id_in_notes(reader_over(base + segment[i].p_offset,
						      segment[i].p_filesz),
					  segment[i].p_align, &id))
			break;
	return id;
}

struct machine *machine_new(const struct machine_config *config)
{
	struct machine *m = xcalloc(1, sizeof(*m));
	const char *sys = config && config->sys ? config->sys : "/sys";

	m->proc = xstrdup(config && config->proc ? config->proc : "/proc");
	m->images = image_table_new();
	strings_init(&m->strings);
	m->is_offline = config && config->is_offline;
	m->has_other_clock = config && config->has_other_clock;
	m->mapping_budget = mapping_budget_live;
	machine_dumps_init(m);
	if (m->is_offline) {
		m->kernel = kernel_map_new_offline(m->images, config->release);
		m->cgroups = cgroups_new(NULL, NULL, &m->strings);
		vec_add(&m->processes); /* NOBODY */
		process_reset(m, 0);
	} else {
		m->kernel = kernel_map_new(m->images, m->proc, sys);
		m->cgroups = cgroups_new(m->proc, sys, &m->strings);
		m->vdso_build_id = own_vdso_build_id();
	}
	return m;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	vec_foreach (&m->processes, p)
		forget_mappings(p);
	machine_dumps_fini(m);
	guard_budget_fini(&m->mapping_budget);
	intmap_fini(&m->file_bytes);
	vec_fini(&m->processes);
	vec_fini(&m->threads);
	vec_fini(&m->free_processes);
	vec_fini(&m->free_threads);
	vec_fini(&m->ended_threads);
	intmap_fini(&m->by_pid);
	intmap_fini(&m->by_tid);
	kernel_map_free(m->kernel);
	cgroups_free(m->cgroups);
	image_table_free(m->images);
	strings_fini(&m->strings);
	vec_foreach (&m->guests, guest)
		guest_modules_free(guest->own_modules);
	vec_fini(&m->guests);
	intmap_fini(&m->by_guest);
	guest_modules_free(m->guest_modules);
	machine_forget_guest_files(m);
	free(m->proc);
	free(m);
}

struct machine_refusals machine_take_refusals(struct machine *m)
{
	struct machine_refusals refused = m->refused;

	m->refused = (struct machine_refusals){ 0 };
	return refused;
}

struct image_table *machine_images(struct machine *m)
{
	return m->images;
}

struct strings *machine_strings(struct machine *m)
{
	return &m->strings;
}

uint32_t machine_process_count(const struct machine *m)
{
	return m->by_pid.n;
}

/* Processes and threads. */

static image_id other_namespace_image(struct machine *m)
{
	static const struct image image = { .kind = IMAGE_NAMED, .path = NAME_OTHER_NAMESPACE };

	return image_intern(m->images, &image);
}

/* A fresh process under this pid; a former process of the pid is forgotten (pid reuse). */
static uint32_t process_reset(struct machine *m, int32_t pid)
{
	bool is_new;
	uint32_t *at = intmap_put(&m->by_pid, (uint32_t)pid, &is_new);
	struct address_space space;
	struct process *p;

	if (is_new && m->free_processes.n) {
		*at = m->free_processes.data[--m->free_processes.n];
	} else if (is_new) {
		*at = (uint32_t)m->processes.n;
		vec_add(&m->processes);
	}
	p = &m->processes.data[*at];
	m->n_ended -= p->is_used && p->has_ended;
	machine_drop_dump(m, p);
	forget_mappings(p);
	space = p->space; /* its memory is reused */
	*p = (struct process){
		.pid = pid, .space = space, .space_number = ++m->last_space_number, .is_used = true
	};
	if (!pid) {
		p->name = task_name_new(m, "swapper");
		p->is_looked_up = true;
	} else if (pid == PID_OTHER_NAMESPACE) {
		p->name.id = strings_add(&m->strings, NAME_OTHER_NAMESPACE);
		p->name.is_interned = true;
		p->app = other_namespace_image(m);
		p->is_looked_up = p->has_app = true;
	}
	return *at;
}

uint32_t machine_get_process(struct machine *m, int32_t pid)
{
	uint32_t *at = intmap_find(&m->by_pid, (uint32_t)pid);

	return at ? *at : process_reset(m, pid);
}

struct task_name task_name_new(struct machine *m, const char *text)
{
	struct task_name name = { 0 };
	size_t len = strlen(text);

	if (len < sizeof(name.text)) {
		memcpy(name.text, text, len);
	} else {
		name.id = strings_add(&m->strings, text);
		name.is_interned = true;
	}
	return name;
}

string_id task_name_id(struct machine *m, struct task_name *name)
{
	if (!name->is_interned)
		name->id = strings_add(&m->strings, name->text);
	name->is_interned = true;
	return name->id;
}

struct thread *machine_get_thread(struct machine *m, int32_t tid, uint32_t process,
				  struct task_name name)
{
	bool is_new;
	uint32_t *at = intmap_put(&m->by_tid, (uint32_t)tid, &is_new);
	struct thread *t;

	if (!is_new)
		return &m->threads.data[*at];
	if (m->free_threads.n) {
		*at = m->free_threads.data[--m->free_threads.n];
	} else {
		*at = (uint32_t)m->threads.n;
		vec_add(&m->threads);
	}
	t = &m->threads.data[*at];
	*t = (struct thread){ .tid = tid, .process = process, .name = name, .is_used = true };
	m->processes.data[process].n_threads++;
	return t;
}

static void thread_remove(struct machine *m, int32_t tid)
{
	uint32_t *at = intmap_find(&m->by_tid, (uint32_t)tid);

	if (!at)
		return;
	m->threads.data[*at].is_used = false;
	vec_push(&m->free_threads, *at);
	intmap_remove(&m->by_tid, (uint32_t)tid);
}

/* Mappings. */

/* Names that the kernel gives to memory without a file; such code is made at run time. */
static const char *const anonymous_paths[] = {
	"//anon", "/anon_hugepage", "[heap]",    "[stack",    "[anon",      "/dev/zero",
	"/SYSV",  "/memfd:",        "/dev/shm/", "[uprobes]", "[vsyscall]",
};

static bool is_anonymous_path(const char *path)
{
	if (!*path)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(anonymous_paths); i++)
		if (!strncmp(path, anonymous_paths[i], strlen(anonymous_paths[i])))
			return true;
	return false;
}

/*
 * A memfd holds code of a JIT compiler, or a whole program. A program has a build id, or is the
 * first mapping after an exec.
 */
static bool is_program_in_memory(const struct process *p, const struct mapping_event *e)
{
	return !strncmp(e->path, "/memfd:", strlen("/memfd:")) && (e->build_id.len || p->is_bare);
}

static image_id jit_image(struct machine *m, struct process *p)
{
	if (!p->jit.n) {
		struct image image = { .kind = IMAGE_JIT, .pid = p->pid, .path = "[anon]" };

		p->jit = image_intern(m->images, &image);
	}
	return p->jit;
}

/* Whether a process may bring a new file. */
static bool may_name_file(struct machine *m, int32_t pid, const char *path)
{
	uint32_t bytes = (uint32_t)(sizeof(struct image) + strlen(path) + 1);
	char folder[256];
	uint32_t *of_user;
	struct stat st;

	if (m->is_offline)
		return true;
	snprintf(folder, sizeof(folder), "%s/%d", m->proc, pid);
	of_user = intmap_put(&m->file_bytes, stat(folder, &st) == 0 ? st.st_uid : GUARD_ANY_OWNER,
			     NULL);
	if (*of_user + bytes > FILES_USER_BYTES || m->all_file_bytes + bytes > FILES_BYTES) {
		m->refused.files++;
		return false;
	}
	*of_user += bytes;
	m->all_file_bytes += bytes;
	return true;
}

static image_id image_of_too_many_files(struct machine *m)
{
	static const struct image image = { .kind = IMAGE_NAMED, .path = NAME_TOO_MANY_FILES };

	return image_intern(m->images, &image);
}

static image_id file_image(struct machine *m, int32_t pid, const struct mapping_event *e)
{
	static const char deleted[] = " (deleted)";
	char path[4096];
	size_t len = strlen(e->path), suffix = sizeof(deleted) - 1;
	struct image image = {
		.kind = IMAGE_FILE,
		.build_id = e->build_id,
		.dev = e->dev,
		.ino = e->ino,
		/* perf's events of running processes have none */
		.generation = m->is_offline && !guest_of_file(e->generation) ? 0 : e->generation,
		.path = e->path,
	};

	if (!strcmp(e->path, "[vdso]")) {
		image = (struct image){ .kind = IMAGE_VDSO,
					.build_id = m->is_offline ? e->build_id : m->vdso_build_id,
					.path = "[vdso]" };
		if (e->start >> 32 == 0) {
			image.path = IMAGE_PATH_VDSO32;
			if (!m->is_offline)
				image.build_id = vdso32_build_id();
		}
	} else if (len > suffix && len - suffix < sizeof(path) &&
		   !strcmp(e->path + len - suffix, deleted)) {
		memcpy(path, e->path, len - suffix);
		path[len - suffix] = '\0';
		image.path = path;
	}
	if (!image_is_known(m->images, &image) && !may_name_file(m, pid, image.path))
		return image_of_too_many_files(m);
	return image_intern(m->images, &image);
}

/*
 * A process does not report that it unmaps memory. So it can have any number of mappings here.
 * False: its user has too many; the space keeps its present ones.
 */
static bool may_grow(struct machine *m, struct process *p, size_t n)
{
	char folder[256];
	struct stat st;

	if (m->is_offline || n <= MAPPINGS_FREE)
		return true;
	if (!p->mappings.budget) {
		snprintf(folder, sizeof(folder), "%s/%d", m->proc, p->pid);
		p->mappings.budget = &m->mapping_budget;
		p->mappings.user = stat(folder, &st) == 0 ? st.st_uid : GUARD_ANY_OWNER;
	}
	if (guard_share_set(&p->mappings, n * sizeof(struct mapping)))
		return true;
	m->refused.mappings++;
	return false;
}

/* ---- data ---- */

/* "[vvar]" and the like are no files, either. */
static bool is_memory_path(const char *path)
{
	return is_anonymous_path(path) || (path[0] == '[' && strcmp(path, "[vdso]") != 0);
}

/* The place of memory without a file. Shared memory has its own name. */
static image_id memory_image(struct machine *m, const char *path)
{
	struct image image = { .kind = IMAGE_NAMED, .path = "[anon]" };

	if (!strncmp(path, "[heap]", strlen("[heap]")))
		image.path = "[heap]";
	else if (!strncmp(path, "[stack", strlen("[stack")))
		image.path = "[stack]";
	else if (path[0] == '/' && strcmp(path, "//anon") && strcmp(path, "/anon_hugepage"))
		image.path = path;
	return image_intern(m->images, &image);
}

/* The mapping of a file's data that ends where this one begins; NULL: there is none. */
static const struct mapping *data_before(const struct process *p, const struct mapping_event *e)
{
	const struct mapping *before = e->start ? address_space_find(&p->data, e->start - 1) : NULL;

	return before && before->end == e->start && !before->is_absolute ? before : NULL;
}

static void data_on_mapping(struct machine *m, const struct event *event)
{
	const struct mapping_event *e = &event->mapping;
	uint32_t process = machine_get_process(m, event->pid); /* may move the array */
	struct process *p = &m->processes.data[process];
	struct mapping mapping = {
		.start = e->start,
		.end = e->start + e->size,
		.file_off = e->file_off,
		.is_absolute = is_memory_path(e->path),
	};
	bool is_nameless = !*e->path || !strcmp(e->path, "//anon");
	const struct mapping *file = is_nameless ? data_before(p, e) : NULL;

	if (file) {
		mapping.image = file->image;
		mapping.file_off = file->file_off + (file->end - file->start);
		mapping.is_absolute = false;
	} else {
		mapping.image =
			mapping.is_absolute ? memory_image(m, e->path) : file_image(m, p->pid, e);
	}
	address_space_map(&p->data, &mapping);
}

static void machine_on_mapping(struct machine *m, const struct event *event)
{
	const struct mapping_event *e = &event->mapping;
	struct process *p;
	uint32_t process;
	struct mapping mapping = {
		.start = e->start,
		.end = e->start + e->size,
		.file_off = e->file_off,
	};

	if (e->is_kernel && m->is_offline)
		kernel_map_mapping(m->kernel, e);
	if (e->is_kernel || (event->pid < 0 && !is_guest_task(event->pid)) ||
	    mapping.end < mapping.start)
		return;
	m->has_data |= m->is_offline && !e->is_executable;
	if (m->has_data)
		data_on_mapping(m, event);
	if (!e->is_executable)
		return;
	process = machine_get_process(m, event->pid); /* may move the array */
	p = &m->processes.data[process];
	mapping.is_absolute = is_anonymous_path(e->path) && !is_program_in_memory(p, e);
	mapping.image = mapping.is_absolute ? jit_image(m, p) : file_image(m, p->pid, e);
	/* Offset 0 of the vdso's image is its first mapped byte. */
	if (!strcmp(e->path, "[vdso]"))
		mapping.file_off = 0;
	/*
	 * The first executable file that exec maps is the program itself: the kernel maps it before
	 * its ELF interpreter (load_elf_binary).
	 */
	if (!p->has_app && !mapping.is_absolute && e->path[0] == '/') {
		p->app = mapping.image;
		p->has_app = true;
	}
	p->is_bare = false;
	p->is_looked_up = true;
	if (!is_guest_task(event->pid) && jit_code_is_dump(e->path) &&
	    image_get(m->images, mapping.image)->kind != IMAGE_NAMED)
		machine_open_dump(m, p, e->path);
	/* Two more: the new one may cut another one in two. */
	if (may_grow(m, p, p->space.n + 2))
		address_space_map(&p->space, &mapping);
	p->space_number = ++m->last_space_number;
}

/*
 * A thread that is not the first one may execute a program. The other threads end, and it gets the
 * number of the first one. Nobody reports that its own number has ended.
 */
static void keep_one_thread(struct machine *m, uint32_t process)
{
	struct process *p = &m->processes.data[process];
	uint32_t *first = intmap_find(&m->by_tid, (uint32_t)p->pid);

	if (!first || (p->n_threads == 1 && !m->threads.data[*first].has_ended))
		return;
	for (uint32_t i = 0; i < m->threads.n; i++) {
		const struct thread *t = &m->threads.data[i];

		if (t->is_used && !t->has_ended && t->process == process && t->tid != p->pid)
			thread_remove(m, t->tid);
	}
	m->threads.data[*first].has_ended = false;
	p->n_threads = 1;
	m->n_ended -= p->has_ended;
	p->has_ended = false;
}

static void on_comm(struct machine *m, const struct event *event)
{
	uint32_t process = machine_get_process(m, event->pid);
	struct task_name name = task_name_new(m, event->comm.name);
	struct process *p = &m->processes.data[process];

	if (event->comm.is_exec) {
		p->is_bare = true;
		forget_mappings(p);
		p->space_number = ++m->last_space_number;
		p->has_app = false;
		p->app = IMAGE_UNKNOWN_ID;
		p->jit = IMAGE_UNKNOWN_ID;
		machine_drop_dump(m, p);
	}
	if (event->pid == event->tid)
		p->name = name;
	p->is_looked_up = true;
	machine_get_thread(m, event->tid, process, name)->name = name;
	if (event->comm.is_exec && event->pid == event->tid)
		keep_one_thread(m, process);
}

static void on_task_fork(struct machine *m, const struct event *event)
{
	uint32_t parent = machine_get_process(m, event->fork.ppid), process = parent;
	uint32_t *parent_thread = intmap_find(&m->by_tid, (uint32_t)event->fork.ptid);
	struct task_name name = parent_thread ? m->threads.data[*parent_thread].name
					      : m->processes.data[parent].name;

	if (event->pid != event->fork.ppid) {
		struct process *p, *from;

		process = process_reset(m, event->pid);
		p = &m->processes.data[process];
		from = &m->processes.data[parent];
		if (may_grow(m, p, from->space.n))
			address_space_copy(&p->space, &from->space);
		address_space_copy(&p->data, &from->data);
		p->space_number = from->space_number;
		p->app = from->app;
		p->has_app = from->has_app;
		p->jit = from->jit;
		p->dump = from->dump;
		m->dumps.data[p->dump].n_users += p->dump != NO_DUMP;
		p->name = name;
		p->cgroup = m->trusts_parents ? machine_process_cgroup(m, from, MAX_PARENTS)
					      : from->cgroup;
		p->has_own_cgroup = m->trusts_parents;
		p->parent = event->fork.ppid;
		p->is_looked_up = from->is_looked_up;
	}
	thread_remove(m, event->tid);
	machine_get_thread(m, event->tid, process, name);
}

/* The last thread's end is the end of the process; both are kept a while for late samples. */
static void on_task_exit(struct machine *m, const struct event *event)
{
	struct process *p = machine_find_process(m, event->pid);
	uint32_t *at = intmap_find(&m->by_tid, (uint32_t)event->tid);
	struct thread *t = at ? &m->threads.data[*at] : NULL;

	if (!p || (!t && event->tid != event->pid)) /* an unknown thread */
		return;
	/*
	 * begin_new_exec() of Linux ends the counters of a task whose rights grow, as at its exit.
	 */
	if (p->is_bare && event->tid == event->pid && !m->n_protected++)
		m->protected_comm = task_name_id(m, &p->name);
	p->is_bare = false;
	if (t && !t->has_ended) {
		t->has_ended = true;
		if (p->n_threads)
			p->n_threads--;
		if (event->tid != event->pid)
			vec_push(&m->ended_threads,
				 (struct ended_thread){ event->tid, event->time_ns });
	}
	if (!p->n_threads && !p->has_ended) {
		p->has_ended = true;
		p->ended_ns = event->time_ns;
		m->n_ended++;
		machine_end_dump(m, p);
	}
}

void machine_event(struct machine *m, const struct event *event)
{
	machine_unknow(m, event->pid, event->tid);
	switch (event->type) {
	case EVENT_MAPPING:
		machine_on_mapping(m, event);
		break;
	case EVENT_COMM:
		on_comm(m, event);
		break;
	case EVENT_FORK:
		on_task_fork(m, event);
		break;
	case EVENT_EXIT:
		on_task_exit(m, event);
		break;
	case EVENT_KSYMBOL:
		kernel_map_symbol(m->kernel, event->ksymbol.addr, event->ksymbol.size,
				  event->ksymbol.is_bpf, event->ksymbol.is_unregister,
				  event->ksymbol.name);
		break;
	case EVENT_CGROUP:
		cgroups_add(m->cgroups, event->cgroup.id, event->cgroup.path);
		break;
	default:
		break;
	}
}

/* A thread that got an ended thread's number is another thread, and lives. */
static void forget_ended_threads(struct machine *m, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->ended_threads.n; i++) {
		const struct ended_thread *e = &m->ended_threads.data[i];
		const uint32_t *at = intmap_find(&m->by_tid, (uint32_t)e->tid);

		if (!at || !m->threads.data[*at].has_ended)
			continue;
		if (e->ended_ns < before_ns)
			thread_remove(m, e->tid);
		else
			m->ended_threads.data[kept++] = *e;
	}
	m->ended_threads.n = kept;
}

void machine_forget_ended(struct machine *m, uint64_t before_ns,
			  void (*ended)(void *context, int32_t pid), void *context)
{
	machine_unknow_all(m);
	forget_ended_threads(m, before_ns);
	if (!m->n_ended)
		return;
	for (uint32_t i = 0; i < m->processes.n; i++) {
		struct process *p = &m->processes.data[i];

		if (!p->is_used || !p->has_ended || p->ended_ns >= before_ns ||
		    machine_awaits_dump(m, p))
			continue;
		if (ended)
			ended(context, p->pid);
		thread_remove(m, p->pid);
		intmap_remove(&m->by_pid, (uint32_t)p->pid);
		p->is_used = false;
		forget_mappings(p);
		machine_forget_process_dump(m, p);
		m->n_ended--;
		vec_push(&m->free_processes, i);
	}
}
