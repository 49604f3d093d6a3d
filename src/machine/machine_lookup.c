/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/machine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/intmap.h"
#include "base/proc_modules.h"
#include "event/guest_task.h"
#include "machine/address_space.h"
#include "machine/cgroups.h"
#include "machine/kernel_map.h"
#include "machine/machine_state.h"
#include "machine/proc.h"

string_id machine_process_cgroup(struct machine *m, struct process *p, int depth)
{
	string_id own = { 0 };
	struct process *parent;

	if (p->has_own_cgroup)
		return p->cgroup;
	p->has_own_cgroup = true;
	if (!p->has_ended)
		own = cgroups_of_process(m->cgroups, p->pid);
	parent = own.n || p->cgroup.n || !depth ? NULL : machine_find_process(m, p->parent);
	if (parent)
		own = machine_process_cgroup(m, parent, depth - 1);
	if (own.n)
		p->cgroup = own;
	return p->cgroup;
}

/* Of the lists of single guests, together: a recording may name any number of guests. */
enum { MAX_GUEST_LIST_BYTES = 64 << 20 };

/* Looking up. */

struct machine_sink {
	struct event_sink sink;
	struct machine *machine;
};

static int feed_machine(struct event_sink *sink, const struct event *event)
{
	machine_event(((struct machine_sink *)sink)->machine, event);
	return 0;
}

/* Offline, nothing is looked up: the result depends on the events alone. */
static uint32_t known_process(struct machine *m, int32_t pid)
{
	const uint32_t *at = intmap_find(&m->by_pid, (uint32_t)pid);

	return at ? *at : NOBODY;
}

/* A process without an event: what /proc has now is the best source. Asked once. */
static uint32_t learn_process(struct machine *m, int32_t pid)
{
	struct machine_sink sink = { { feed_machine }, m };
	uint32_t process = machine_get_process(m, pid);

	if (m->processes.data[process].is_looked_up)
		return process;
	if (pid < 0 || proc_scan_process(m->proc, pid, 0, &sink.sink) <= 0)
		m->processes.data[process].is_lost = true;
	m->processes.data[process].is_looked_up = true;
	return process;
}

/* The file that the process runs; NULL: not known, or no file. */
static const struct image *program_of(const struct machine *m, int32_t pid)
{
	const uint32_t *at = intmap_find(&m->by_pid, (uint32_t)pid);
	const struct process *p = at ? &m->processes.data[*at] : NULL;
	const struct image *image = p && p->has_app ? image_get(m->images, p->app) : NULL;

	return image && image->kind == IMAGE_FILE ? image : NULL;
}

int machine_scan_again(const struct machine *m, uint64_t time_ns, struct event_sink *sink)
{
	struct pid_list pids = { 0 };
	int r = proc_list_pids(m->proc, &pids);

	for (size_t i = 0; r >= 0 && i < pids.n; i++)
		r = proc_scan_again(m->proc, pids.data[i], program_of(m, pids.data[i]), time_ns,
				    sink);
	vec_fini(&pids);
	return MIN(r, 0);
}

static struct task_name learn_comm(struct machine *m, int32_t pid, int32_t tid,
				   struct task_name fallback)
{
	char comm[64];

	return proc_read_comm(m->proc, pid, tid, comm, sizeof(comm)) ? task_name_new(m, comm)
								     : fallback;
}

/* Whether the thread's process is already known to be this one, which saves the look-up. */
static bool is_of_process(const struct machine *m, uint32_t thread, int32_t pid)
{
	const struct process *p = &m->processes.data[m->threads.data[thread].process];

	return p->pid == pid && p->is_used && p->is_looked_up;
}

const char *machine_thread_name(const struct machine *m, int32_t pid, int32_t tid)
{
	const uint32_t *at = intmap_find(&m->by_tid, (uint32_t)tid);
	const struct task_name *name = at ? &m->threads.data[*at].name : NULL;

	if (!at || !is_of_process(m, *at, pid))
		return NULL;
	return name->is_interned ? strings_get(&m->strings, name->id) : name->text;
}

static struct thread_view find_thread(struct machine *m, int32_t pid, int32_t tid)
{
	uint32_t *thread = intmap_find(&m->by_tid, (uint32_t)tid);
	struct thread_view view = { .guest_pid = 0 };
	struct process *p;

	if (thread && is_of_process(m, *thread, pid)) {
		view.process = m->threads.data[*thread].process;
	} else {
		/* Looking up the process may add the thread, too. */
		view.process = m->is_offline ? known_process(m, pid) : learn_process(m, pid);
		thread = intmap_find(&m->by_tid, (uint32_t)tid);
	}
	assert(view.process < m->processes.n);
	p = &m->processes.data[view.process];
	view.is_known = p->is_looked_up && !p->is_lost;
	if (!thread && m->is_offline) {
		view.comm = task_name_id(m, &p->name);
	} else if (!thread) {
		struct task_name name =
			pid > 0 && tid != pid ? learn_comm(m, pid, tid, p->name) : p->name;

		view.comm = task_name_id(m, &machine_get_thread(m, tid, view.process, name)->name);
	} else {
		view.comm = task_name_id(m, &m->threads.data[*thread].name);
	}
	view.app = p->has_app ? p->app : p->space.n ? p->jit : kernel_map_image(m->kernel);
	return view;
}

struct thread_view machine_thread(struct machine *m, int32_t pid, int32_t tid)
{
	struct known_thread *known = &m->known[(uint32_t)tid % KNOWN_THREADS];
	const uint64_t *version = &m->versions[(uint32_t)pid % KNOWN_THREADS];

	if (known->pid == pid && known->tid == tid && known->version == *version + 1)
		return known->view;
	*known = (struct known_thread){ .pid = pid, .tid = tid };
	known->view = find_thread(m, pid, tid); /* may change the version */
	known->version = *version + 1;
	return known->view;
}

int machine_resolve_near(struct machine *m, const struct thread_view *thread, uint64_t addr,
			 uint64_t time_ns, const struct mapping **near, struct code_addr *out)
{
	const struct process *p = &m->processes.data[thread->process];
	const struct mapping *mapping = *near;

	if (p->pid == PID_OTHER_NAMESPACE) {
		*out = (struct code_addr){ p->app, 0 };
		return -1;
	}
	if (!mapping || addr < mapping->start || addr >= mapping->end)
		mapping = *near = address_space_find(&p->space, addr);
	*out = (struct code_addr){ IMAGE_UNKNOWN_ID, addr };
	if (!mapping)
		return thread->is_known ? LOSS_UNMAPPED : LOSS_NO_PROCESS;
	if (mapping->is_absolute && p->dump != NO_DUMP &&
	    machine_find_dumped(m, p, mapping->image, addr, time_ns, out))
		return -1;
	out->image = mapping->image;
	out->offset = mapping->is_absolute ? addr : addr - mapping->start + mapping->file_off;
	return -1;
}

static image_id named_image(struct machine *m, const char *path)
{
	return image_intern(m->images, &(struct image){ .kind = IMAGE_NAMED, .path = path });
}

/*
 * The modules of a guest, by its own list or the list for all guests. Past the limit of bytes, its
 * modules are part of its kernel.
 */
static const struct guest_modules *modules_of_guest(struct machine *m, struct guest_of_process *new)
{
	cleanup(free_at_exit) char *list = guest_files_list(&m->guest_files, new->pid, "modules");
	bool is_for_all = list && m->guest_files.modules && !strcmp(list, m->guest_files.modules);

	if (list && !is_for_all && m->guest_list_bytes < MAX_GUEST_LIST_BYTES) {
		new->own_modules = guest_modules_read(list);
		m->guest_list_bytes += guest_modules_bytes(new->own_modules);
		return new->own_modules;
	}
	if (!m->guest_modules)
		m->guest_modules = guest_modules_read(m->guest_files.modules);
	return is_for_all ? m->guest_modules : NULL;
}

/* A guest's kernel can have names, so each guest has one. */
static struct guest_of_process *guest_of_process(struct machine *m, int32_t pid)
{
	char path[sizeof(IMAGE_GUEST_KERNEL) + 16];
	struct guest_of_process *new;
	bool is_new;
	uint32_t *at = intmap_put(&m->by_guest, (uint32_t)pid, &is_new);

	if (!is_new)
		return &m->guests.data[*at];
	*at = (uint32_t)m->guests.n;
	snprintf(path, sizeof(path), IMAGE_GUEST_KERNEL " %" PRId32 "]", pid);
	new = vec_add(&m->guests);
	new->pid = pid;
	new->kernel = named_image(m, path);
	new->modules = modules_of_guest(m, new);
	return new;
}

/* Offsets in both are addresses. */
static image_id guest_kernel_image(struct machine *m, const struct thread_view *thread,
				   uint64_t addr)
{
	int32_t pid =
		thread->guest_pid ? thread->guest_pid : m->processes.data[thread->process].pid;
	struct guest_of_process *guest = guest_of_process(m, pid);
	const struct guest_module *module =
		guest->modules ? guest_modules_next(guest->modules, addr) : NULL;
	char path[sizeof(IMAGE_GUEST_MODULE) + 16 + PROC_MODULE_NAME];

	if (!module || addr < module->start)
		return guest->kernel;
	if (module != guest->module) {
		snprintf(path, sizeof(path), IMAGE_GUEST_MODULE " %" PRId32 " %s]", pid,
			 module->name);
		guest->module = module;
		guest->module_image = named_image(m, path);
	}
	return guest->module_image;
}

/* Whether code that a guest runs in user mode is known. */
static bool has_code_of_guest(const struct machine *m, const struct thread_view *thread)
{
	return m->has_guest_code || is_guest_task(m->processes.data[thread->process].pid);
}

int machine_resolve(struct machine *m, const struct thread_view *thread, enum cpu_mode mode,
		    uint64_t addr, uint64_t time_ns, struct code_addr *out)
{
	const struct mapping *near = NULL;

	if (mode == MODE_KERNEL && kernel_map_resolve(m->kernel, addr, time_ns, out))
		return -1;
	*out = (struct code_addr){ IMAGE_UNKNOWN_ID, addr };
	if (mode == MODE_KERNEL)
		return kernel_map_is_hidden(m->kernel) ? LOSS_NO_KERNEL : LOSS_UNMAPPED;
	if (mode == MODE_HYPERVISOR)
		return LOSS_GUEST;
	if (mode_is_guest(mode) && !(mode == MODE_GUEST_USER && has_code_of_guest(m, thread))) {
		out->image = mode == MODE_GUEST_KERNEL ? guest_kernel_image(m, thread, addr)
						       : named_image(m, "[guest.user]");
		return -1;
	}
	return machine_resolve_near(m, thread, addr, time_ns, &near, out);
}

static const char *machine_copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void machine_forget_guest_files(struct machine *m)
{
	free((char *)m->guest_files.kallsyms);
	free((char *)m->guest_files.modules);
	free((char *)m->guest_files.mount);
	m->guest_files = (struct guest_files){ 0 };
}

void machine_set_guests(struct machine *m, const struct machine_guests *guests)
{
	assert(!m->guests.n);
	machine_forget_guest_files(m);
	m->has_guest_code = guests->has_code;
	m->guest_files = (struct guest_files){
		.kallsyms = machine_copy_text(guests->files.kallsyms),
		.modules = machine_copy_text(guests->files.modules),
		.mount = machine_copy_text(guests->files.mount),
	};
}

struct code_addr machine_resolve_data(struct machine *m, const struct thread_view *thread,
				      uint64_t addr)
{
	const struct process *p = &m->processes.data[thread->process];
	const struct mapping *mapping;
	struct code_addr out = { IMAGE_UNKNOWN_ID, 0 };
	uint64_t text;

	/* far from the kernel's text is memory that it reserved while it ran */
	if (addr >> 63) {
		out.image = kernel_map_image(m->kernel);
		if (kernel_map_base(m->kernel, out.image, &text) && addr >= text &&
		    addr - text < KERNEL_SPAN_MAX)
			out.offset = addr - text;
		return out;
	}
	mapping = address_space_find(&p->data, addr);
	if (!mapping) /* code, from before the first mapping of data */
		mapping = address_space_find(&p->space, addr);
	if (!mapping)
		return out;
	out.image = mapping->image;
	out.offset = mapping->is_absolute ? 0 : addr - mapping->start + mapping->file_off;
	return out;
}

bool machine_kernel_base(const struct machine *m, image_id image, uint64_t *out)
{
	return kernel_map_base(m->kernel, image, out);
}

const struct mapping *machine_mapping(const struct machine *m, const struct thread_view *thread,
				      uint64_t addr)
{
	return address_space_find(&m->processes.data[thread->process].space, addr);
}

const struct mapping *machine_next_mapping(const struct machine *m,
					   const struct thread_view *thread, uint64_t addr)
{
	return address_space_next(&m->processes.data[thread->process].space, addr);
}

uint64_t machine_space(const struct machine *m, const struct thread_view *thread)
{
	return m->processes.data[thread->process].space_number;
}

uint64_t machine_known_space(const struct machine *m, int32_t pid, int32_t tid)
{
	const uint32_t *thread = intmap_find(&m->by_tid, (uint32_t)tid);

	if (!thread || !is_of_process(m, *thread, pid))
		return 0;
	return m->processes.data[m->threads.data[*thread].process].space_number;
}

void machine_kernel_names(struct machine *m,
			  void (*visit)(void *context, image_id image, uint64_t size,
					const char *name),
			  void *context)
{
	kernel_map_names(m->kernel, visit, context);
}

void machine_trust_parents(struct machine *m)
{
	m->trusts_parents = true;
}

string_id machine_cgroup(struct machine *m, const struct thread_view *thread, uint64_t id)
{
	string_id path = cgroups_find(m->cgroups, id), own;

	if (path.n && !cgroups_is_root(m->cgroups, path))
		return path;
	own = machine_process_cgroup(m, &m->processes.data[thread->process], MAX_PARENTS);
	return own.n ? own : path;
}

bool machine_has_untimed_code(const struct machine *m)
{
	return m->has_untimed_code;
}

uint32_t machine_protected(const struct machine *m, const char **comm)
{
	*comm = strings_get(&m->strings, m->protected_comm);
	return m->n_protected;
}
