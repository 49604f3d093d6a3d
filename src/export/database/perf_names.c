/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/database/perf_names.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "pt/branch.h"

/* ---- rows ---- */

void perf_add_row(struct perf_names *p, enum perf_table table, const struct perf_value *values)
{
	sqlite3_stmt *insert = p->insert[table];
	int n = sqlite3_bind_parameter_count(insert), r;

	if (*p->file.code < 0)
		return;
	for (int i = 0; i < n; i++) {
		if (values[i].text)
			sqlite3_bind_text(insert, i + 1, values[i].text, -1, SQLITE_STATIC);
		else if (values[i].fraction != 0)
			sqlite3_bind_double(insert, i + 1, values[i].fraction);
		else
			sqlite3_bind_int64(insert, i + 1, values[i].n);
	}
	r = sqlite3_step(insert);
	sqlite3_reset(insert);
	if (r != SQLITE_DONE)
		sqlite_file_fail(&p->file, r);
	p->n_rows[table]++;
}

static void perf_make_table(struct perf_names *p, enum perf_table table)
{
	const struct perf_table_row *t = &perf_tables[table];
	struct buf sql = { 0 };
	int r;

	buf_printf(&sql, "CREATE TABLE %s (%s)", t->name, t->columns);
	sqlite_file_run(&p->file, buf_cstr(&sql));
	sql.len = 0;
	buf_printf(&sql, "INSERT INTO %s VALUES (?", t->name);
	for (const char *c = strchr(t->columns, ','); c; c = strchr(c + 1, ','))
		buf_str(&sql, ",?");
	buf_str(&sql, ")");
	r = *p->file.code < 0
		    ? SQLITE_OK
		    : sqlite3_prepare_v2(p->file.db, buf_cstr(&sql), -1, &p->insert[table], NULL);
	if (r != SQLITE_OK)
		sqlite_file_fail(&p->file, r);
	buf_fini(&sql);
}

/* Rows of id 0, so that a join finds one for everything that is not known. */
static void perf_add_unknown(struct perf_names *p)
{
	static const struct {
		enum perf_table table;
		struct perf_value values[PERF_MAX_COLUMNS];
	} rows[] = {
		{ PERF_EVENTS, { { 0 }, { .text = "unknown" } } },
		{ PERF_MACHINES, { { 0 }, { 0 }, { .text = "unknown" } } },
		{ PERF_THREADS, { { 0 }, { 0 }, { 0 }, { .n = -1 }, { .n = -1 } } },
		{ PERF_COMMS, { { 0 }, { .text = "unknown" } } },
		{ PERF_DSOS,
		  { { 0 }, { 0 }, { .text = "unknown" }, { .text = "unknown" }, { .text = "" } } },
		{ PERF_SYMBOLS, { { 0 }, { 0 }, { 0 }, { 0 }, { 0 }, { .text = "unknown" } } },
		{ PERF_SAMPLES, { { 0 } } },
		{ PERF_CALL_PATHS, { { 0 } } },
		{ PERF_CALLS, { { 0 } } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		perf_add_row(p, rows[i].table, rows[i].values);
		p->n_rows[rows[i].table] = 0;
	}
}

static void perf_add_branch_type(struct perf_names *p, uint32_t flags, const char *before,
				 const char *name, const char *behind)
{
	cleanup(free_at_exit) char *text = xasprintf("%s%s%s", before, name, behind);
	bool is_new;

	intmap_put(&p->branch_types, flags, &is_new);
	if (is_new)
		perf_add_row(p, PERF_BRANCH_TYPES,
			     (struct perf_value[]){ PERF_N(flags), PERF_TEXT(text) });
}

static void perf_add_branch_types(struct perf_names *p)
{
	const struct perf_branch_type *b;

	for (b = perf_branch_types; b->name; b++)
		perf_add_branch_type(p, b->flags, "", b->name, "");
	for (b = perf_branch_types; b->name; b++) {
		if (b->flags == PT_F_BRANCH || b->flags & (PT_F_BEGIN | PT_F_END))
			continue;
		perf_add_branch_type(p, b->flags | PT_F_BEGIN, "trace begin / ", b->name, "");
		perf_add_branch_type(p, b->flags | PT_F_END, "", b->name, " / trace end");
	}
}

/* An exit from a virtual machine is not asynchronous there. */
uint32_t perf_flags(uint32_t flags)
{
	return flags & PT_F_VM_EXIT ? flags & ~(uint32_t)PT_F_ASYNC : flags;
}

uint32_t perf_branch_type(struct perf_names *p, uint32_t flags)
{
	uint32_t type =
		flags & ~(uint32_t)(PT_F_IN_TX | PT_F_INTERRUPTS_OFF | PT_F_INTERRUPTS_CHANGE);

	perf_add_branch_type(p, type, "", "unknown", "");
	return type;
}

static struct strings *perf_names_strings(struct perf_names *p, size_t i)
{
	struct strings *const all[] = { &p->machines, &p->threads, &p->comms, &p->comm_threads,
					&p->images,   &p->symbols, &p->paths };

	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

void perf_names_begin(struct perf_names *p)
{
	uint32_t root;

	for (size_t i = 0; perf_names_strings(p, i); i++)
		strings_init(perf_names_strings(p, i));
	for (enum perf_table t = 0; t < N_PERF_TABLES && *p->file.code >= 0; t++)
		perf_make_table(p, t);
	perf_add_unknown(p);
	perf_add_branch_types(p);
	root = perf_path(p, 0, 0, 0);
	assert(root == PERF_ROOT_PATH);
}

void perf_names_fini(struct perf_names *p)
{
	for (enum perf_table t = 0; t < N_PERF_TABLES; t++)
		sqlite3_finalize(p->insert[t]);
	for (size_t i = 0; perf_names_strings(p, i); i++)
		strings_fini(perf_names_strings(p, i));
	intmap_fini(&p->branch_types);
	vec_fini(&p->comm_list);
}

/* ---- ids ---- */

/* *is_new: it has no row yet. */
static uint32_t perf_id(struct strings *ids, const void *key, size_t size, bool *is_new)
{
	uint32_t n = ids->n, id = strings_add_n(ids, key, size).n;

	*is_new = ids->n != n;
	return id;
}

uint32_t perf_machine(struct perf_names *p, int32_t guest_pid)
{
	bool is_new;
	uint32_t id = perf_id(&p->machines, &guest_pid, sizeof(guest_pid), &is_new);

	if (is_new)
		perf_add_row(p, PERF_MACHINES,
			     (struct perf_value[]){ PERF_N(id), PERF_N(guest_pid ? guest_pid : -1),
						    PERF_TEXT("") });
	return id;
}

uint32_t perf_thread(struct perf_names *p, uint32_t machine, int32_t pid, int32_t tid)
{
	const int32_t key[] = { (int32_t)machine, pid, tid };
	bool is_new;
	uint32_t id = perf_id(&p->threads, key, sizeof(key), &is_new), process = 0;

	if (!is_new)
		return id;
	if (pid != -1)
		process = pid == tid ? id : perf_thread(p, machine, pid, pid);
	perf_add_row(p, PERF_THREADS,
		     (struct perf_value[]){ PERF_N(id), PERF_N(machine), PERF_N(process),
					    PERF_N(pid), PERF_N(tid) });
	return id;
}

static uint32_t perf_comm_id(struct perf_names *p, int32_t pid, const char *name)
{
	cleanup(buf_fini) struct buf key = { 0 };
	bool is_new;
	uint32_t id;

	buf_bytes(&key, &pid, sizeof(pid));
	buf_str(&key, name);
	id = perf_id(&p->comms, key.data, key.len, &is_new);
	while (p->comm_list.n <= id)
		vec_add(&p->comm_list);
	return id;
}

void perf_comm_begins(struct perf_names *p, int32_t pid, const char *name, uint64_t time_ns,
		      bool is_of_exec)
{
	uint32_t id = perf_comm_id(p, pid, name);
	struct perf_comm *c = &p->comm_list.data[id];

	if (!c->has_row)
		*c = (struct perf_comm){ .since_ns = time_ns, .is_of_exec = is_of_exec };
}

uint32_t perf_comm(struct perf_names *p, uint32_t machine, int32_t pid, uint32_t thread,
		   const char *name)
{
	uint32_t id = perf_comm_id(p, pid, name), link;
	struct perf_comm *c = &p->comm_list.data[id];
	const uint32_t key[] = { id, thread };
	bool is_new;

	if (!c->has_row)
		perf_add_row(p, PERF_COMMS,
			     (struct perf_value[]){
				     PERF_N(id), PERF_TEXT(name),
				     PERF_N(pid == -1 ? 0 : perf_thread(p, machine, pid, pid)),
				     PERF_N(c->since_ns), PERF_N(c->is_of_exec) });
	c->has_row = true;
	link = perf_id(&p->comm_threads, key, sizeof(key), &is_new);
	if (is_new)
		perf_add_row(p, PERF_COMM_THREADS,
			     (struct perf_value[]){ PERF_N(link), PERF_N(id), PERF_N(thread) });
	return id;
}

static uint32_t perf_image(struct perf_names *p, image_id image, const char *name)
{
	const char *slash = name[0] == '/' ? strrchr(name, '/') : NULL;
	char hex[BUILD_ID_HEX_SIZE];
	bool is_new;
	uint32_t id = perf_id(&p->images, &image, sizeof(image), &is_new);

	if (!is_new)
		return id;
	build_id_hex(&p->image(p->context, image)->build_id, hex);
	perf_add_row(p, PERF_DSOS,
		     (struct perf_value[]){ PERF_N(id), PERF_N(perf_machine(p, 0)),
					    PERF_TEXT(slash ? slash + 1 : name), PERF_TEXT(name),
					    PERF_TEXT(hex) });
	return id;
}

/* Code without a symbol is one symbol of its image, which begins with the image. */
struct perf_place perf_place(struct perf_names *p, struct code_addr code)
{
	const struct script_place *at;
	struct perf_place place = { 0 };
	uint64_t key[2], start;
	bool is_new;

	if (!code.image.n)
		return place;
	at = script_place(p->places, code);
	place.offset = at->symbol ? at->symbol_off : code.offset;
	place.is_entry = at->symbol && !at->symbol_off;
	place.image = perf_image(p, code.image, at->dso);
	start = code.offset - place.offset;
	key[0] = (uint64_t)place.image << 1 | (at->symbol != NULL);
	key[1] = start;
	place.symbol = perf_id(&p->symbols, key, sizeof(key), &is_new);
	if (is_new)
		perf_add_row(p, PERF_SYMBOLS,
			     (struct perf_value[]){
				     PERF_N(place.symbol), PERF_N(place.image), PERF_N(start),
				     PERF_N(at->symbol ? start + at->symbol_size : 0), PERF_N(1),
				     PERF_TEXT(at->symbol ? at->symbol : "unknown") });
	return place;
}

uint32_t perf_path(struct perf_names *p, uint32_t parent, uint32_t symbol, uint64_t ip)
{
	const uint64_t key[] = { (uint64_t)parent << 32 | symbol, symbol ? 0 : ip };
	bool is_new;
	uint32_t id = perf_id(&p->paths, key, sizeof(key), &is_new);

	if (is_new)
		perf_add_row(p, PERF_CALL_PATHS,
			     (struct perf_value[]){ PERF_N(id), PERF_N(parent), PERF_N(symbol),
						    PERF_N(key[1]) });
	return id;
}

/* ---- the end ---- */

static void perf_drop(struct perf_names *p, enum perf_table table)
{
	cleanup(free_at_exit) char *sql = xasprintf("DROP TABLE %s", perf_tables[table].name);

	sqlite3_finalize(p->insert[table]);
	p->insert[table] = NULL;
	sqlite_file_run(&p->file, sql);
	p->n_rows[table] = UINT64_MAX;
}

/* perf leaves out all tables of power events together; with them goes their view. */
static void perf_drop_empty(struct perf_names *p)
{
	const uint64_t *n = p->n_rows;

	if (!n[PERF_PTWRITE])
		perf_drop(p, PERF_PTWRITE);
	if (!n[PERF_SWITCHES])
		perf_drop(p, PERF_SWITCHES);
	if (n[PERF_MWAIT] || n[PERF_PWRE] || n[PERF_EXSTOP] || n[PERF_PWRX])
		return;
	perf_drop(p, PERF_MWAIT);
	perf_drop(p, PERF_PWRE);
	perf_drop(p, PERF_EXSTOP);
	perf_drop(p, PERF_PWRX);
	if (!n[PERF_CBR])
		perf_drop(p, PERF_CBR);
}

/* A view goes with its table: NAME_view, and power_events_view with those of power events. */
static bool perf_has_view(const struct perf_names *p, const char *view)
{
	if (!strcmp(view, "power_events_view"))
		return p->n_rows[PERF_MWAIT] != UINT64_MAX;
	for (enum perf_table t = 0; t < N_PERF_TABLES; t++) {
		size_t n = strlen(perf_tables[t].name);

		if (!strncmp(view, perf_tables[t].name, n) && !strcmp(view + n, "_view"))
			return p->n_rows[t] != UINT64_MAX;
	}
	return false;
}

void perf_names_end(struct perf_names *p)
{
	perf_drop_empty(p);
	for (const struct perf_view_row *v = perf_views; v->name && *p->file.code >= 0; v++) {
		cleanup(free_at_exit) char *sql =
			xasprintf("CREATE VIEW %s AS %s", v->name, v->select);

		if (perf_has_view(p, v->name))
			sqlite_file_run(&p->file, sql);
	}
	if (*p->file.code >= 0)
		sqlite_file_run(&p->file, "CREATE INDEX pcpid_idx ON calls (parent_call_path_id);"
					  "CREATE INDEX pid_idx ON calls (parent_id);"
					  "ALTER TABLE comms ADD has_calls boolean;"
					  "UPDATE comms SET has_calls = 1 "
					  "WHERE id IN (SELECT comm_id FROM calls)");
}
