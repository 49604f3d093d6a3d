/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/java_process.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "guard/memory_reads.h"
#include "guard/open.h"
#include "lang/language.h"

bool java_is_library(const struct image *image)
{
	const char *name = strrchr(image->path, '/');

	return image->kind == IMAGE_FILE && name &&
	       !strncmp(name, "/libjvm.so", strlen("/libjvm.so"));
}

#define READS_OF_OPENING 40000 /* the tables have some 2,000 entries, each with several texts */

static bool may_read(struct java_process *p)
{
	p->lacks_reads |= !p->n_reads;
	return p->n_reads;
}

static void forget_blocks(struct java_process *p)
{
	if (p->blocks)
		memset(p->blocks->starts, 0, sizeof(p->blocks->starts));
}

/*
 * Walks of a turn share their blocks, which were read after the samples of all of them. Code may be
 * replaced between two reads, so this lasts for no longer than a walk may.
 */
static bool may_share_blocks(const struct java_process *p, uint64_t time_ns, uint64_t now_ns)
{
	return time_ns <= p->walk_ns && now_ns - p->walk_ns < JAVA_BLOCKS_NS;
}

void java_process_begin_walk(struct java_process *p, uint32_t n_reads, uint64_t time_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	p->n_reads = n_reads;
	p->flow_work = HOTSPOT_FLOW_WORK;
	p->lacks_reads = p->has_read = false;
	if (may_share_blocks(p, time_ns, now_ns))
		return;
	p->walk_ns = now_ns;
	forget_blocks(p);
}

static bool read_directly(struct java_process *p, uint64_t addr, void *out, size_t size)
{
	if (!may_read(p))
		return false;
	p->n_reads--;
	if (p->memory)
		return lang_read(p->memory, addr, out, size);
	return addr <= INT64_MAX && memory_read(p->fd, addr, out, size) == (ssize_t)size;
}

/* The place of the block that begins at an address; JAVA_BLOCKS: it was not read. */
static uint32_t find_block(const struct java_blocks *blocks, uint64_t start)
{
	uint32_t at = 0;

	while (at < JAVA_BLOCKS && blocks->starts[at] != start)
		at++;
	return at;
}

/* The block that begins at an address; NULL: it can't be read. It takes the place of the oldest. */
static const uint8_t *block_at(struct java_process *p, uint64_t start)
{
	uint32_t at;

	if (!p->blocks)
		p->blocks = xcalloc(1, sizeof(*p->blocks));
	at = find_block(p->blocks, start);
	if (at < JAVA_BLOCKS)
		return p->blocks->bytes[at];
	at = p->blocks->next;
	p->blocks->starts[at] = 0;
	if (!read_directly(p, start, p->blocks->bytes[at], JAVA_BLOCK_SIZE))
		return NULL;
	p->blocks->starts[at] = start;
	p->blocks->next = (at + 1) % JAVA_BLOCKS;
	return p->blocks->bytes[at];
}

/*
 * Reads have a budget, as the process chose how far its pointers lead. At its end, blocks are not
 * there either: a walk without reads knows by lacks_reads that its stack may be another one.
 */
static bool read_memory(void *context, uint64_t addr, void *out, size_t size)
{
	struct java_process *p = context;
	uint64_t start = addr & ~(uint64_t)(JAVA_BLOCK_SIZE - 1);
	const uint8_t *block = NULL;

	if (!may_read(p))
		return false;
	p->has_read = true;
	if (!p->memory && start && size <= JAVA_BLOCK_SIZE - (addr - start))
		block = block_at(p, start);
	if (!block)
		return read_directly(p, addr, out, size);
	memcpy(out, block + (addr - start), size);
	return true;
}

/*
 * By the number of the process: if it is another one by now, then its bytes are others, too, and
 * read_memory() fails.
 */
static uint32_t read_many(void *context, const struct lang_range *ranges, uint32_t n, uint8_t *out)
{
	struct java_process *p = context;

	if (!may_read(p) || p->n_reads < n)
		return 0;
	p->n_reads -= n;
	return p->memory ? lang_read_many(p->memory, ranges, n, out)
			 : memory_read_many(p->pid, p->fd, ranges, n, out);
}

struct lang_memory java_process_memory(struct java_process *p)
{
	return (struct lang_memory){ read_memory, p, read_many };
}

struct java_process *java_process_new(int32_t pid, const struct lang_memory *memory)
{
	struct java_process *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	p->memory = memory;
	p->fd = -1;
	return p;
}

static void forget_flow(struct java_process *p, struct java_blob *blob)
{
	p->flow_bytes -= hotspot_flow_bytes(blob->flow);
	hotspot_flow_free(blob->flow);
	blob->flow = NULL;
}

void java_process_clear(struct java_process *p)
{
	vec_foreach (&p->blobs, b)
		forget_flow(p, b);
	vec_fini(&p->blobs);
	vec_fini(&p->order);
	vec_fini(&p->places);
	vec_fini(&p->methods);
	vec_fini(&p->frames);
	intmap_fini(&p->place_at);
	intmap_fini(&p->method_at);
	p->recent_blobs.n = p->recent_methods.n = 0;
}

void java_process_free(struct java_process *p)
{
	java_process_clear(p);
	if (p->fd >= 0)
		close(p->fd);
	free(p->blocks);
	free(p);
}

size_t java_process_bytes(const struct java_process *p)
{
	return (p->blocks ? sizeof(*p->blocks) : 0) + p->blobs.cap * sizeof(*p->blobs.data) +
	       p->order.cap * sizeof(*p->order.data) + p->places.cap * sizeof(*p->places.data) +
	       p->methods.cap * sizeof(*p->methods.data) + p->frames.cap * sizeof(*p->frames.data) +
	       p->flow_bytes +
	       (p->place_at.n_slots + (size_t)p->method_at.n_slots) * sizeof(struct intmap_slot);
}

void java_process_open(struct java_process *p, const char *proc, const struct lang_runtime *runtime,
		       uint64_t base)
{
	const struct lang_memory own = java_process_memory(p);

	/* A number of before may be another program's now. */
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	forget_blocks(p);
	if (!p->memory)
		p->fd = guard_memory(proc, p->pid);
	p->state = JAVA_BARRED;
	p->n_reads = READS_OF_OPENING;
	if (p->fd < 0 && !p->memory)
		return;
	switch (hotspot_open(&p->vm, &own, runtime, base)) {
	case HOTSPOT_READY:
		p->state = JAVA_READY;
		break;
	case HOTSPOT_UNKNOWN:
		p->state = JAVA_REFUSED;
		break;
	case HOTSPOT_NOT_YET:
		break;
	}
}

/* The old list stays if there is none now: the process has ended. */
void java_process_look_again(struct java_process *p)
{
	struct hotspot now = p->vm;

	if (hotspot_read_heaps(&now))
		p->vm = now;
}

/* ---- code ---- */

/* The number of living blobs that begin at or before an address. */
static size_t blobs_before(const struct java_process *p, uint64_t addr)
{
	size_t first = 0;

	for (size_t end = p->order.n; first < end;) {
		size_t middle = first + (end - first) / 2;

		if (p->blobs.data[p->order.data[middle]].blob.start <= addr)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static void remove_blob(struct java_process *p, size_t at)
{
	struct java_blob *blob = &p->blobs.data[p->order.data[at]];

	blob->is_dead = true;
	forget_flow(p, blob);
	p->order.n--;
	memmove(p->order.data + at, p->order.data + at + 1,
		(p->order.n - at) * sizeof(*p->order.data));
}

/* Those that overlap the bytes of a new one. Returns whether there were any. */
static bool remove_overlapped(struct java_process *p, const struct hotspot_blob *new)
{
	bool are_there = false;
	size_t at;

	while ((at = blobs_before(p, new->end - 1)) > 0 &&
	       p->blobs.data[p->order.data[at - 1]].blob.end > new->start) {
		remove_blob(p, at - 1);
		are_there = true;
	}
	return are_there;
}

static struct java_blob *add_blob(struct java_process *p, const struct java_blob *blob)
{
	size_t at = blobs_before(p, blob->blob.start);

	vec_push(&p->order, 0);
	memmove(p->order.data + at + 1, p->order.data + at,
		(p->order.n - 1 - at) * sizeof(*p->order.data));
	p->order.data[at] = (uint32_t)p->blobs.n;
	vec_push(&p->blobs, *blob);
	return &p->blobs.data[p->blobs.n - 1];
}

/* A process that has ended has no other code any more. */
static bool look_whether_gone(struct java_process *p)
{
	uint64_t word;

	if (!p->n_reads)
		return false;
	forget_blocks(p);
	p->is_gone = !lang_read_word(&p->vm.memory, p->vm.fields[CODE_HEAPS], &word);
	p->gone_ns = clock_monotonic_ns();
	return p->is_gone;
}

static void note_recent(struct java_recent *recent, uint32_t at, bool *is_recent)
{
	if (*is_recent || recent->n == JAVA_RECENT_MAX)
		return;
	recent->list[recent->n++] = at;
	*is_recent = true;
}

bool java_process_has_blob(struct java_process *p, struct java_blob *blob, uint64_t time_ns)
{
	struct hotspot_blob now;

	if (blob->is_dead || time_ns < blob->from_ns)
		return false;
	blob->used_ns = time_ns;
	note_recent(&p->recent_blobs, (uint32_t)(blob - p->blobs.data), &blob->is_recent);
	if (time_ns <= blob->valid_ns || p->is_gone)
		return true;
	if (!may_read(p))
		return false;
	if (hotspot_read_blob(&p->vm, blob->blob.start, &now) &&
	    now.identity == blob->blob.identity) {
		blob->valid_ns = p->walk_ns;
		return true;
	}
	if (look_whether_gone(p))
		return true;
	if (p->n_reads) /* else it is not known */
		remove_blob(p, blobs_before(p, blob->blob.start) - 1);
	return false;
}

struct java_blob *java_process_blob(struct java_process *p, uint64_t pc, uint64_t time_ns)
{
	size_t at = blobs_before(p, pc);
	struct java_blob *known = at ? &p->blobs.data[p->order.data[at - 1]] : NULL;
	struct java_blob new = { .used_ns = time_ns };

	if (known && pc < known->blob.end) {
		if (java_process_has_blob(p, known, time_ns))
			return known;
		if (!known->is_dead)
			return NULL;
		new.from_ns = UINT64_MAX;
	}
	new.read_ns = new.valid_ns = p->walk_ns;
	if (!hotspot_find_blob(&p->vm, pc, &new.blob) || !p->n_reads) {
		look_whether_gone(p);
		return NULL;
	}
	if (remove_overlapped(p, &new.blob))
		new.from_ns = UINT64_MAX;
	if (new.from_ns)
		new.from_ns = clock_monotonic_ns();
	known = add_blob(p, &new);
	return time_ns < known->from_ns ? NULL : known;
}

/* The ways through compiled code, which are kept with it. NULL: they are not known. */
static const struct hotspot_flow *flow_of(struct java_process *p, struct java_blob *blob)
{
	bool is_first = p->flow_work == HOTSPOT_FLOW_WORK;

	if (blob->has_flow || !may_read(p))
		return blob->flow;
	blob->flow = hotspot_flow_new(&p->vm, &blob->blob, &p->flow_work);
	/* else the next stack reads it */
	blob->has_flow = p->n_reads && (p->flow_work || is_first);
	p->flow_bytes += hotspot_flow_bytes(blob->flow);
	if (!blob->has_flow)
		forget_flow(p, blob);
	return blob->flow;
}

uint32_t java_process_scopes(struct java_process *p, struct java_blob *blob, uint64_t pc,
			     struct hotspot_scope out[HOTSPOT_SCOPES_MAX], bool *is_exact)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	const struct hotspot_flow *flow;
	enum hotspot_nearness near;
	uint32_t n = hotspot_scopes(&p->vm, &blob->blob, pc, out, &near), n_flow;

	*is_exact = near == HOTSPOT_EXACT;
	flow = *is_exact ? NULL : flow_of(p, blob);
	n_flow = flow ? hotspot_flow_scopes(flow, pc - blob->blob.code, scopes) : 0;
	if (n_flow > n || (n_flow && near == HOTSPOT_BETWEEN)) {
		memcpy(out, scopes, n_flow * sizeof(*out));
		n = n_flow;
	}
	return n;
}

/* ---- places ---- */

static struct java_place *find_place(struct java_process *p, uint64_t pc)
{
	const uint32_t *at = intmap_find(&p->place_at, pc);

	return at ? &p->places.data[*at] : NULL;
}

uint32_t java_process_leaves(struct java_process *p, const struct hotspot_blob *blob, uint64_t pc,
			     bool is_leaf, struct hotspot_leave out[HOTSPOT_LEAVES_MAX])
{
	struct java_place *place = is_leaf ? find_place(p, pc) : NULL;
	uint32_t n;

	if (place && place->n_leaves) {
		memcpy(out, place->leaves, sizeof(place->leaves));
		return place->n_leaves;
	}
	n = hotspot_leaves(&p->vm, blob, pc, is_leaf, out);
	if (place && p->n_reads) {
		memcpy(place->leaves, out, sizeof(place->leaves));
		place->n_leaves = n;
	}
	return n;
}

bool java_process_is_innermost(struct java_process *p, uint64_t pc, uint64_t last_sp,
			       const uint64_t *registers)
{
	struct java_place *place = find_place(p, pc);
	enum hotspot_answer returned = place ? place->returned : HOTSPOT_NOT_ASKED;
	bool is = hotspot_is_innermost(&p->vm, pc, last_sp, registers, &returned);

	if (place && p->n_reads)
		place->returned = returned;
	return is;
}

#define CALL_REL32 0xe8
#define CALL_SIZE  5

/* Without reads left, a later walk asks again. Else nobody takes it for a stub's caller. */
static enum hotspot_answer not_readable(const struct java_process *p)
{
	return p->n_reads ? HOTSPOT_YES : HOTSPOT_NOT_ASKED;
}

static enum hotspot_answer ask_call(struct java_process *p, uint64_t pc, uint64_t time_ns)
{
	const struct java_blob *callee;
	uint8_t call[CALL_SIZE];
	int32_t far;

	if (p->vm.is_aarch64)
		return HOTSPOT_NO;
	if (!lang_read(&p->vm.memory, pc - CALL_SIZE, call, sizeof(call)))
		return not_readable(p);
	memcpy(&far, call + 1, sizeof(far));
	if (call[0] != CALL_REL32 || !hotspot_heap_of(&p->vm, pc + (uint64_t)(int64_t)far))
		return HOTSPOT_NO;
	callee = java_process_blob(p, pc + (uint64_t)(int64_t)far, time_ns);
	if (!callee)
		return not_readable(p);
	/* HotSpot changes calls of adapters, and of stubs that look for a method, to the method */
	return callee->blob.kind == HOTSPOT_STUBS ? HOTSPOT_NO : HOTSPOT_YES;
}

enum hotspot_answer java_process_calls_method(struct java_process *p, uint64_t pc, uint64_t time_ns)
{
	struct java_place *place = find_place(p, pc);

	if (!place)
		return ask_call(p, pc, time_ns);
	if (place->calls_method == HOTSPOT_NOT_ASKED)
		place->calls_method = ask_call(p, pc, time_ns);
	return place->calls_method;
}

/* ---- methods ---- */

/* Without reads left, it may lack a part: the next stack reads it again. */
static void read_method(struct java_process *p, struct java_method *m, java_learn_fn *learn,
			void *context)
{
	static _Thread_local struct lang_code code;

	m->valid_ns = p->walk_ns;
	m->has_words = m->has_no_words = false;
	m->is_good = hotspot_read_method(&p->vm, m->address, &m->method, &code) && p->n_reads;
	m->is_good = m->is_good && learn(context, p->pid, &code);
	if (!p->n_reads)
		m->valid_ns = 0;
}

/* Another method may have taken the place of one that was known: that one's samples are over. */
static void read_method_at(struct java_process *p, struct java_method *m, java_learn_fn *learn,
			   void *context)
{
	read_method(p, m, learn, context);
	if (m->is_good && m->last_check && m->method.check != m->last_check)
		m->from_ns = clock_monotonic_ns();
	if (m->is_good)
		m->last_check = m->method.check;
}

static const struct java_method *method_for(const struct java_method *m, uint64_t time_ns)
{
	return m->is_good && time_ns >= m->from_ns ? m : NULL;
}

static void note_use_of_method(struct java_process *p, struct java_method *m, uint64_t time_ns)
{
	m->used_ns = time_ns;
	note_recent(&p->recent_methods, (uint32_t)(m - p->methods.data), &m->is_recent);
}

static struct java_method *add_method(struct java_process *p, uint64_t address)
{
	struct java_method *m;

	*intmap_put(&p->method_at, address, NULL) = (uint32_t)p->methods.n;
	m = vec_add(&p->methods);
	m->address = address;
	return m;
}

const struct java_method *java_process_method(struct java_process *p, uint64_t address,
					      uint64_t time_ns, const struct java_blob *holder,
					      java_learn_fn *learn, void *context)
{
	const uint32_t *at = intmap_find(&p->method_at, address);
	struct java_method *m = at ? &p->methods.data[*at] : NULL;

	if (m && !holder)
		note_use_of_method(p, m, time_ns);
	if (m && (time_ns <= m->valid_ns || p->is_gone ||
		  (m->is_good && holder && holder->read_ns <= m->valid_ns)))
		return method_for(m, time_ns);
	if (!may_read(p))
		return NULL;
	if (!m) {
		m = add_method(p, address);
		read_method_at(p, m, learn, context);
		return method_for(m, time_ns);
	}
	if (m->is_good && hotspot_is_method(&p->vm, address, &m->method))
		m->valid_ns = p->walk_ns;
	else if (!m->is_good || !look_whether_gone(p))
		read_method_at(p, m, learn, context);
	return method_for(m, time_ns);
}

const struct known_word *java_process_words(struct java_process *p, uint32_t method)
{
	struct java_method *m = &p->methods.data[method];

	assert(method < p->methods.n);
	if (!m->has_words && !m->has_no_words && may_read(p)) {
		m->has_words = hotspot_method_words(&p->vm, m->address, &m->method, m->words);
		m->has_no_words = !m->has_words && p->n_reads;
	}
	return m->has_words ? m->words : NULL;
}

/* ---- code that is in use ---- */

#define RECENT_NS NS_PER_SECOND

static bool is_recent(uint64_t used_ns, uint64_t time_ns)
{
	return used_ns + RECENT_NS >= time_ns;
}

static void look_at_blobs(struct java_process *p, uint64_t time_ns)
{
	struct lang_range ranges[JAVA_RECENT_MAX];
	uint8_t bytes[JAVA_RECENT_MAX * HOTSPOT_BLOB_BYTES_MAX];
	const uint8_t *at = bytes;
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t n = 0, n_read;

	for (uint32_t i = 0; i < p->recent_blobs.n; i++) {
		uint32_t number = p->recent_blobs.list[i];
		struct java_blob *b = &p->blobs.data[number];

		ranges[n] = hotspot_blob_range(&p->vm, &b->blob);
		b->is_recent = !b->is_dead && is_recent(b->used_ns, time_ns) && ranges[n].size;
		if (b->is_recent)
			p->recent_blobs.list[n++] = number;
	}
	p->recent_blobs.n = n;
	n_read = lang_read_many(&p->vm.memory, ranges, n, bytes);
	for (uint32_t i = 0; i < n_read; at += ranges[i++].size) {
		struct java_blob *b = &p->blobs.data[p->recent_blobs.list[i]];

		if (hotspot_is_blob(&p->vm, &b->blob, at))
			b->valid_ns = now_ns;
	}
}

/* Methods that lack a proof, and those that are too many for one read, are looked at when used. */
static void look_at_methods(struct java_process *p, uint64_t time_ns)
{
	struct lang_range ranges[LANG_RANGES_MAX];
	uint8_t bytes[32 << 10];
	const uint8_t *at = bytes;
	uint64_t now_ns = clock_monotonic_ns();
	uint32_t n = 0, n_ranges = 0, n_read, size = 0;

	for (uint32_t i = 0; i < p->recent_methods.n; i++) {
		uint32_t number = p->recent_methods.list[i];
		struct java_method *m = &p->methods.data[number];
		const struct hotspot_proof *proof = &m->method.proof;

		m->is_recent = m->is_good && proof->n && is_recent(m->used_ns, time_ns) &&
			       n_ranges + proof->n <= LANG_RANGES_MAX &&
			       size + proof->size <= sizeof(bytes);
		if (!m->is_recent)
			continue;
		memcpy(ranges + n_ranges, proof->ranges, proof->n * sizeof(*ranges));
		n_ranges += proof->n;
		size += proof->size;
		p->recent_methods.list[n++] = number;
	}
	p->recent_methods.n = n;
	n_read = lang_read_many(&p->vm.memory, ranges, n_ranges, bytes);
	for (uint32_t i = 0; i < n; i++) {
		struct java_method *m = &p->methods.data[p->recent_methods.list[i]];
		const struct hotspot_proof *proof = &m->method.proof;

		if (n_read < proof->n)
			return;
		if (hotspot_is_proof(proof, at))
			m->valid_ns = now_ns;
		n_read -= proof->n;
		at += proof->size;
	}
}

void java_process_look_at_code(struct java_process *p, uint64_t time_ns)
{
	if (p->state != JAVA_READY || p->is_gone || !p->n_reads || time_ns <= p->looked_ns)
		return;
	p->looked_ns = clock_monotonic_ns();
	if (p->recent_blobs.n)
		look_at_blobs(p, time_ns);
	if (p->recent_methods.n)
		look_at_methods(p, time_ns);
}
