/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jitdumps of a machine's processes. */
#include <stdio.h>

#include "machine/jit_code.h"
#include "machine/machine.h"
#include "machine/machine_state.h"

/*
 * Memory for the names of jitdumps. A function needs about 150 bytes. A recorder runs beside other
 * work; a reader of a recording may use more.
 */
#define DUMPS_BYTES_OFFLINE ((uint64_t)256 << 20)

void machine_dumps_init(struct machine *m)
{
	m->dump_pool = m->is_offline ? guard_pool_new(DUMPS_BYTES_OFFLINE, DUMPS_BYTES_OFFLINE)
				     : guard_pool_new(JIT_DUMPS_USER_BYTES, JIT_DUMPS_BYTES);
	vec_add(&m->dumps); /* NO_DUMP */
}

void machine_dumps_fini(struct machine *m)
{
	vec_foreach (&m->dumps, d)
		jit_code_free(d->code);
	vec_fini(&m->dumps);
	vec_fini(&m->dropped);
	intmap_fini(&m->by_unread);
	guard_pool_unref(m->dump_pool);
}

void machine_read_dumps_by(struct machine *m, const struct machine_dump_reader *by)
{
	m->dump_reader = by ? *by : (struct machine_dump_reader){ 0 };
	vec_foreach (&m->dumps, d)
		if (!by && d->code && jit_code_is_away(d->code))
			m->refused.unread_code += jit_code_give_up(d->code);
}

/* ---- the dumps of processes ---- */

/*
 * An image for each dump that a process has at once. Images are never forgotten, so a process that
 * takes its pid uses it again.
 */
static uint32_t add_dump(struct machine *m, int32_t pid)
{
	char name[32] = "[jitdump]";

	for (unsigned int i = 2;; i++) {
		struct image image = { .kind = IMAGE_JIT, .pid = pid, .path = name };
		image_id unread = image_intern(m->images, &image);
		bool is_new;
		uint32_t *at = intmap_put(&m->by_unread, unread.n, &is_new);

		if (is_new) {
			*at = (uint32_t)m->dumps.n;
			vec_push(&m->dumps, (struct machine_dump){ .unread = unread });
		}
		if (!m->dumps.data[*at].code)
			return *at;
		snprintf(name, sizeof(name), "[jitdump %u]", i);
	}
}

static void forget_dump(struct machine_dump *d)
{
	jit_code_free(d->code);
	d->code = NULL;
}

void machine_drop_dump(struct machine *m, struct process *p)
{
	if (p->dump != NO_DUMP && !--m->dumps.data[p->dump].n_users)
		vec_push(&m->dropped, p->dump);
	p->dump = NO_DUMP;
}

bool machine_awaits_dump(const struct machine *m, const struct process *p)
{
	const struct machine_dump *d = &m->dumps.data[p->dump];

	return d->code && jit_code_is_away(d->code) && !d->is_late;
}

void machine_forget_process_dump(struct machine *m, struct process *p)
{
	struct machine_dump *d = &m->dumps.data[p->dump];

	if (p->dump == NO_DUMP || (!m->is_offline && jit_code_is_away(d->code))) {
		machine_drop_dump(m, p);
		return;
	}
	p->dump = NO_DUMP;
	if (!--d->n_users)
		forget_dump(d);
}

/* Has new records read. */
static void begin_to_read(struct machine *m, struct machine_dump *d)
{
	if (!jit_code_is_away(d->code))
		m->dump_reader.begin(m->dump_reader.context, d->unread, jit_code_lend(d->code));
}

void machine_open_dump(struct machine *m, struct process *p, const char *path)
{
	const struct jit_code_config config = {
		.reader = { .proc = m->is_offline ? NULL : m->proc,
			    .pid = p->pid,
			    .path = path,
			    .pool = m->dump_pool },
		.has_other_clock = m->has_other_clock,
		.is_lent = m->dump_reader.begin != NULL,
	};
	const struct image image = { .kind = IMAGE_JIT, .pid = p->pid, .path = path };
	struct jit_code *code;
	struct machine_dump *d;

	if (p->dump != NO_DUMP && !strcmp(jit_code_path(m->dumps.data[p->dump].code), path))
		return;
	machine_drop_dump(m, p);
	code = jit_code_open(&config);
	if (!code)
		return;
	p->dump = add_dump(m, p->pid);
	d = &m->dumps.data[p->dump];
	d->code = code;
	d->image = image_intern(m->images, &image);
	d->n_users = 1;
	d->is_ended = d->is_late = false;
	m->has_untimed_code |= m->has_other_clock;
	if (config.is_lent)
		begin_to_read(m, d);
}

void machine_dump_is_read(struct machine *m, image_id unread, struct jit_reader *reader)
{
	struct machine_dump *d = &m->dumps.data[*intmap_find(&m->by_unread, unread.n)];

	jit_code_take_back(d->code, reader);
	d->is_late = false;
	if (d->is_ended)
		begin_to_read(m, d);
	d->is_ended = false;
}

void machine_end_dump(struct machine *m, const struct process *p)
{
	struct machine_dump *d = &m->dumps.data[p->dump];

	if (p->dump == NO_DUMP || !m->dump_reader.begin)
		return;
	d->is_ended = jit_code_is_away(d->code);
	begin_to_read(m, d);
}

void machine_dump_is_late(struct machine *m, image_id unread)
{
	m->dumps.data[*intmap_find(&m->by_unread, unread.n)].is_late = true;
}

/* ---- finding code ---- */

static bool find_code(struct machine_dump *d, uint64_t addr, uint64_t time_ns,
		      struct code_addr *out)
{
	if (!d->code || !jit_code_find(d->code, addr, time_ns, &out->offset))
		return false;
	out->image = d->image;
	return true;
}

bool machine_find_dumped(struct machine *m, const struct process *p, image_id other, uint64_t addr,
			 uint64_t time_ns, struct code_addr *out)
{
	struct machine_dump *d = &m->dumps.data[p->dump];
	bool is_unread = m->dump_reader.begin && jit_code_is_unread(d->code, time_ns);

	d->other = other;
	if (!is_unread)
		return find_code(d, addr, time_ns, out);
	if (d->is_late) {
		m->refused.unread_code++;
		return false;
	}
	begin_to_read(m, d);
	*out = (struct code_addr){ d->unread, addr };
	return true;
}

bool machine_find_function(const struct machine *m, int32_t pid, uint64_t addr,
			   struct jit_function *out)
{
	const uint32_t *at = intmap_find(&m->by_pid, (uint32_t)pid);
	const struct machine_dump *d =
		at ? &m->dumps.data[m->processes.data[*at].dump] : &m->dumps.data[NO_DUMP];

	return d->code && jit_code_only(d->code, addr, out);
}

bool machine_reads_dumps(const struct machine *m)
{
	vec_foreach (&m->dumps, d)
		if (d->code && jit_code_is_away(d->code) && !d->is_late)
			return true;
	return false;
}

bool machine_settle(struct machine *m, uint64_t time_ns, bool is_last, struct code_addr *code)
{
	struct machine_dump *d = &m->dumps.data[*intmap_find(&m->by_unread, code->image.n)];
	bool is_unread = d->code && jit_code_is_unread(d->code, time_ns);
	uint64_t addr = code->offset;

	if (is_unread && !is_last && !d->is_late) {
		begin_to_read(m, d);
		return false;
	}
	m->refused.unread_code += is_unread;
	if (!find_code(d, addr, time_ns, code))
		*code = (struct code_addr){ d->other, addr };
	return true;
}

/* ---- names ---- */

struct name_visit {
	machine_name_visit visit;
	void *context;
	image_id image;
};

static void visit_jit_code(void *context, uint64_t file_off, uint64_t size, const char *name)
{
	struct name_visit *v = context;

	v->visit(v->context, v->image, file_off, size, name);
}

static void visit_dump(struct machine *m, struct machine_dump *d, struct name_visit *v)
{
	enum loss_reason loss;

	if (!d->code)
		return;
	v->image = d->image;
	jit_code_names(d->code, visit_jit_code, v);
	loss = jit_code_take_loss(d->code);
	if (loss != N_LOSS_REASONS)
		m->refused.dumps[loss]++;
}

/* Those that are away stay. */
static void visit_dropped(struct machine *m, struct name_visit *v)
{
	size_t kept = 0;

	vec_foreach (&m->dropped, at) {
		struct machine_dump *d = &m->dumps.data[*at];

		visit_dump(m, d, v);
		if (jit_code_is_away(d->code))
			m->dropped.data[kept++] = *at;
		else
			forget_dump(d);
	}
	m->dropped.n = kept;
}

void machine_jit_names(struct machine *m, int32_t pid, machine_name_visit visit, void *context)
{
	struct name_visit v = { visit, context, IMAGE_UNKNOWN_ID };
	const struct process *one = pid < 0 ? NULL : machine_find_process(m, pid);

	/* Called for each process that ends, so it finds the process by number. */
	if (one)
		visit_dump(m, &m->dumps.data[one->dump], &v);
	for (size_t i = 0; pid < 0 && i < m->dumps.n; i++)
		if (m->dumps.data[i].n_users)
			visit_dump(m, &m->dumps.data[i], &v);
	visit_dropped(m, &v);
}
