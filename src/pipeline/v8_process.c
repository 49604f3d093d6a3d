/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/v8_process.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "guard/limits.h"
#include "guard/memory_reads.h"
#include "guard/open.h"

#define BYTES_OF_READ 2048 /* cost about as much as a read does */

/*
 * A walk has a budget of reads, as the process chose how far its pointers lead, and how long its
 * strings are.
 */
static bool read_memory(void *context, uint64_t addr, void *out, size_t size)
{
	struct v8_process *p = context;
	size_t cost = 1 + size / BYTES_OF_READ;

	if (cost > p->n_reads)
		p->n_reads = 0;
	if (!p->n_reads || addr > INT64_MAX)
		return false;
	p->n_reads -= (uint32_t)cost;
	if (p->memory)
		return lang_read(p->memory, addr, out, size);
	return memory_read(p->fd, addr, out, size) == (ssize_t)size;
}

struct v8_process *v8_process_new(int32_t pid, const struct lang_memory *memory)
{
	struct v8_process *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	p->memory = memory;
	p->fd = -1;
	return p;
}

void v8_process_free(struct v8_process *p)
{
	vec_fini(&p->pieces);
	vec_fini(&p->links);
	vec_fini(&p->functions);
	vec_fini(&p->scripts);
	vec_fini(&p->inlined);
	vec_fini(&p->sites);
	intmap_fini(&p->inlined_at);
	intmap_fini(&p->link_at);
	intmap_fini(&p->known_at);
	v8_fini(&p->v8);
	if (p->fd >= 0)
		close(p->fd);
	free(p);
}

size_t v8_process_bytes(const struct v8_process *p)
{
	size_t bytes =
		p->pieces.cap * sizeof(*p->pieces.data) + p->links.cap * sizeof(*p->links.data) +
		p->functions.cap * sizeof(*p->functions.data) +
		p->scripts.cap * sizeof(*p->scripts.data) +
		p->inlined.cap * sizeof(*p->inlined.data) + p->sites.cap * sizeof(*p->sites.data) +
		(p->link_at.n_slots + (size_t)p->known_at.n_slots + p->inlined_at.n_slots) *
			sizeof(struct intmap_slot);

	for (uint32_t i = 0; i < V8_SCRIPTS; i++)
		bytes += p->v8.scripts[i].n * sizeof(uint32_t);
	return bytes;
}

void v8_process_open(struct v8_process *p, const char *proc, const struct lang_runtime *runtime)
{
	const struct lang_memory own = { read_memory, p };

	if (!p->memory)
		p->fd = guard_memory(proc, p->pid);
	p->state = p->fd >= 0 || p->memory ? V8_READY : V8_BARRED;
	if (!v8_init(&p->v8, &own, runtime))
		p->state = V8_BARRED;
}

/* A process that has ended has no other code any more. */
static bool look_whether_gone(struct v8_process *p)
{
	uint8_t byte;

	if (!p->n_reads)
		return false;
	p->is_gone = !lang_read(&p->v8.memory, p->alive_at, &byte, sizeof(byte));
	p->gone_ns = clock_monotonic_ns();
	return p->is_gone;
}

/* ---- code ---- */

/* The number of pieces that begin at or before an address. */
static size_t pieces_before(const struct v8_process *p, uint64_t addr)
{
	size_t first = 0;

	for (size_t end = p->pieces.n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (p->pieces.data[middle].code.start <= addr)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void remove_piece(struct v8_process *p, size_t at)
{
	p->pieces.n--;
	memmove(p->pieces.data + at, p->pieces.data + at + 1,
		(p->pieces.n - at) * sizeof(*p->pieces.data));
}

/* Those that overlap new code. Returns whether there were any. */
static bool remove_overlapped(struct v8_process *p, const struct v8_code *new)
{
	bool are_there = false;
	size_t at;

	while ((at = pieces_before(p, new->end - 1)) > 0 &&
	       p->pieces.data[at - 1].code.end > new->start) {
		remove_piece(p, at - 1);
		are_there = true;
	}
	return are_there;
}

static const struct v8_code *add_piece(struct v8_process *p, const struct v8_piece *piece)
{
	size_t at = pieces_before(p, piece->code.start);

	vec_push(&p->pieces, *piece);
	memmove(p->pieces.data + at + 1, p->pieces.data + at,
		(p->pieces.n - 1 - at) * sizeof(*p->pieces.data));
	p->pieces.data[at] = *piece;
	return &p->pieces.data[at].code;
}

/* Whether a piece is still the same, as far as it matters for a sample. */
static bool has_piece(struct v8_process *p, struct v8_piece *piece, uint64_t time_ns)
{
	uint64_t now_ns;
	struct v8_code now;

	if (time_ns <= piece->valid_ns || p->is_gone)
		return true;
	now_ns = clock_monotonic_ns();
	if (v8_read_code(&p->v8, piece->code.code, &now) && now.start == piece->code.start &&
	    now.end == piece->code.end && now.data == piece->code.data) {
		piece->valid_ns = now_ns;
		return true;
	}
	return look_whether_gone(p);
}

#define SEARCH_EVERY_NS (200 * NS_PER_MS)

/* Code of WebAssembly is in no object: each search of it reads as far as a search may. */
static bool find_new_code(struct v8_process *p, uint64_t pc, uint64_t start, struct v8_code *out)
{
	struct v8_miss *miss = &p->misses[hash_u64(pc) % V8_MISSES];
	uint64_t now_ns = clock_monotonic_ns();

	if (miss->pc == pc && now_ns - miss->searched_ns < SEARCH_EVERY_NS)
		return false;
	if (v8_find_code(&p->v8, pc, start, out) && p->n_reads) /* else it may lack a part */
		return true;
	if (!look_whether_gone(p) && p->n_reads)
		*miss = (struct v8_miss){ pc, now_ns };
	return false;
}

const struct v8_code *v8_process_code(struct v8_process *p, uint64_t pc, uint64_t start,
				      uint64_t time_ns)
{
	size_t at = pieces_before(p, pc);
	struct v8_piece *known = at ? &p->pieces.data[at - 1] : NULL;
	struct v8_piece new = { .valid_ns = clock_monotonic_ns() };

	if (known && pc <= known->code.end && time_ns < known->from_ns)
		return NULL;
	if (known && pc <= known->code.end && has_piece(p, known, time_ns))
		return &known->code;
	if (!find_new_code(p, pc, start, &new.code))
		return NULL;
	if (remove_overlapped(p, &new.code))
		new.from_ns = clock_monotonic_ns();
	return time_ns < new.from_ns ? (add_piece(p, &new), NULL) : add_piece(p, &new);
}

/* ---- functions of frames ---- */

static bool is_link_right(const struct v8_process *p, const struct v8_link *link)
{
	struct v8_closure closure;

	if (!link->shared)
		return false;
	if (link->is_bytecode)
		return v8_bytecode_of(&p->v8, link->shared) == link->from;
	return v8_read_closure(&p->v8, link->from, &closure) && closure.shared == link->shared;
}

/* The link of an object, if it is known, and still right; NULL: it must be found. */
static const struct v8_link *known_link(struct v8_process *p, uint64_t from, uint64_t time_ns)
{
	uint32_t *at = intmap_find(&p->link_at, from);
	struct v8_link *link = at ? &p->links.data[*at] : NULL;
	uint64_t now_ns;

	if (!link || time_ns <= link->valid_ns || p->is_gone)
		return link;
	now_ns = clock_monotonic_ns();
	if (!is_link_right(p, link))
		return look_whether_gone(p) ? link : NULL;
	link->valid_ns = now_ns;
	return link;
}

static uint64_t keep_link(struct v8_process *p, const struct v8_link *link)
{
	bool is_new;
	uint32_t *at = intmap_put(&p->link_at, link->from, &is_new);

	if (is_new) {
		*at = (uint32_t)p->links.n;
		vec_add(&p->links);
	}
	p->links.data[*at] = *link;
	return link->shared;
}

#define SCRIPTS_MAX 4096

static void note_script(struct v8_process *p, uint64_t script)
{
	for (size_t i = p->scripts.n; i-- > 0;)
		if (p->scripts.data[i] == script)
			return;
	if (p->scripts.n < SCRIPTS_MAX)
		vec_push(&p->scripts, script);
}

#define READS_OF_SEARCH 3300 /* one script may take some 3,100 */

/*
 * The function of bytecode whose closure is gone: one that a script lists. Scripts are those of
 * known functions, from `first` on, and that of functions that the bytecode makes. The newest
 * scripts are the likeliest. Reads stay for the rest of the stack.
 */
static uint64_t search_scripts(struct v8_process *p, uint64_t bytecode, uint32_t first)
{
	uint64_t own = first ? 0 : v8_script_of(&p->v8, bytecode), shared = 0;
	uint32_t kept = p->n_reads - READS_OF_SEARCH;

	p->n_reads = READS_OF_SEARCH;
	if (own)
		note_script(p, own);
	for (size_t i = p->scripts.n; i-- > first && !shared && p->n_reads;)
		shared = v8_function_in_script(&p->v8, p->scripts.data[i], bytecode);
	p->n_reads += kept;
	return shared;
}

/* The link of a search in vain that was a moment ago, or NULL. */
static const struct v8_link *late_search(const struct v8_process *p, uint64_t bytecode,
					 uint64_t now_ns)
{
	const uint32_t *at = intmap_find(&p->link_at, bytecode);
	const struct v8_link *link = at ? &p->links.data[*at] : NULL;

	return link && !link->shared && now_ns - link->valid_ns < SEARCH_EVERY_NS ? link : NULL;
}

uint64_t v8_process_function(struct v8_process *p, uint64_t bytecode, uint64_t closure,
			     uint64_t time_ns)
{
	const struct v8_link *known = known_link(p, bytecode, time_ns);
	struct v8_link new = { bytecode, 0, clock_monotonic_ns(), true, (uint32_t)p->scripts.n };
	const struct v8_link *late;
	struct v8_closure parts;

	if (known && (known->shared || !known->is_bytecode))
		return known->is_bytecode ? known->shared : 0;
	if (v8_read_closure(&p->v8, v8_moved(&p->v8, closure), &parts) &&
	    v8_bytecode_of(&p->v8, parts.shared) == bytecode) {
		new.shared = parts.shared;
		return keep_link(p, &new);
	}
	late = late_search(p, bytecode, new.valid_ns);
	if ((late && late->n_scripts == new.n_scripts) || look_whether_gone(p) ||
	    !v8_is_bytecode(&p->v8, bytecode) || p->n_reads < READS_OF_SEARCH)
		return 0; /* without enough reads, the next stack searches */
	new.shared = search_scripts(p, bytecode, late ? late->n_scripts : 0);
	new.n_scripts = (uint32_t)p->scripts.n;
	if (late && !new.shared)
		new.valid_ns = late->valid_ns; /* all scripts are searched again at its time */
	return keep_link(p, &new);
}

uint64_t v8_process_builtin(struct v8_process *p, uint64_t closure, uint64_t time_ns)
{
	const struct v8_link *known = known_link(p, closure, time_ns);
	struct v8_link new = { closure, 0, clock_monotonic_ns(), false, 0 };
	struct v8_closure parts;

	if (known)
		return known->is_bytecode ? 0 : known->shared;
	if (!v8_read_closure(&p->v8, closure, &parts) || !v8_is_builtin(&p->v8, parts.shared)) {
		look_whether_gone(p);
		return 0;
	}
	new.shared = parts.shared;
	return keep_link(p, &new);
}

/* ---- optimised code ---- */

struct v8_inlined *v8_process_inlined(struct v8_process *p, const struct v8_code *code, uint64_t pc,
				      bool is_call)
{
	struct v8_inlined new = { .code = code->code, .data = code->data };
	uint64_t key = pc << 1 | is_call;
	uint32_t *at = intmap_find(&p->inlined_at, key);
	struct v8_inlined *known = at ? &p->inlined.data[*at] : NULL;
	struct v8_site sites[V8_INLINED_MAX];

	if (known && known->code == new.code && known->data == new.data)
		return known;
	new.n = v8_sites(&p->v8, code, pc, is_call, sites);
	if (!new.n || !p->n_reads) { /* the next stack tries again */
		look_whether_gone(p);
		return NULL;
	}
	if (!known) {
		*intmap_put(&p->inlined_at, key, NULL) = (uint32_t)p->inlined.n;
		known = vec_add(&p->inlined);
	}
	new.first = new.n <= known->n ? known->first : (uint32_t)p->sites.n;
	while (p->sites.n < (size_t) new.first + new.n)
		vec_add(&p->sites);
	for (uint32_t i = 0; i < new.n; i++)
		p->sites.data[new.first + i] =
			(struct v8_known_site){ sites[i].shared, sites[i].offset, UINT32_MAX };
	*known = new;
	return known;
}

/* ---- names ---- */

/*
 * A text that can't be read is missing. So the function counts only if it is the same afterwards:
 * the process has not ended, and has moved nothing. Without reads left, the next stack tries again.
 */
static void read_function(struct v8_process *p, struct v8_known *f, v8_learn_fn *learn,
			  void *context)
{
	static _Thread_local struct lang_code code;

	f->valid_ns = clock_monotonic_ns();
	f->is_good = v8_read_function(&p->v8, f->shared, &f->function, &code) &&
		     v8_is_function(&p->v8, f->shared, &f->function);
	f->check = code.check;
	f->is_good = f->is_good && learn(context, p->pid, &code);
	if (f->is_good)
		note_script(p, f->function.script);
	if (!f->is_good && !look_whether_gone(p) && !p->n_reads)
		f->valid_ns = 0;
}

const struct v8_known *v8_process_known(struct v8_process *p, uint64_t shared, uint64_t time_ns,
					v8_learn_fn *learn, void *context)
{
	bool is_new;
	uint32_t *at = intmap_put(&p->known_at, shared, &is_new);
	struct v8_known *f;
	uint64_t now_ns;

	if (is_new) {
		*at = (uint32_t)p->functions.n;
		f = vec_add(&p->functions);
		f->shared = shared;
		read_function(p, f, learn, context);
		return f->is_good ? f : NULL;
	}
	f = &p->functions.data[*at];
	if (time_ns <= f->valid_ns || p->is_gone)
		return f->is_good ? f : NULL;
	now_ns = clock_monotonic_ns();
	if (f->is_good && v8_is_function(&p->v8, shared, &f->function))
		f->valid_ns = now_ns;
	else if (!f->is_good || !look_whether_gone(p))
		read_function(p, f, learn, context);
	return f->is_good ? f : NULL;
}
