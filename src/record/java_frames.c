/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/java_frames.h"

#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/secret.h"

#define BYTES_OF_PROCESS (JAVA_NAMES_BYTES / 8)

/* A number has two parts: the owner's number, and that of the frame, which the owner counts. */
#define FRAME_BITS 27
#define FRAME_MASK ((1u << FRAME_BITS) - 1)

struct told_frame {
	struct java_key key;
	uint64_t content; /* hash of the frame and its methods */
	uint32_t number;
	uint32_t first, n;  /* methods */
	uint32_t session;   /* that the codes are of; 0: none */
	uint32_t used;      /* round of the last sample */
	bool is_method;     /* interpreted: the key has the method */
	bool is_told;       /* the sampler has it */
	bool is_dead;       /* the sampler has forgotten it, or has another one … */
	uint32_t forgotten; /* … since this round */
};

/* The life of a process, with its frames. */
struct java_owner {
	uint64_t process, number;
	int32_t pid;
	uint64_t copied_ns;          /* its last copy */
	bool is_over;                /* the process executes another program */
	bool is_swept;               /* … */
	uint32_t swept;              /* … in this round */
	uint32_t last_number;        /* of a frame */
	VEC(struct told_frame) list; /* by number */
	VEC(struct lang_frame) methods;
	VEC(struct code_addr) codes; /* as many */
	struct intmap by_key;        /* of frames that are not dead */
};

struct java_frames {
	struct java_frames_config config;
	uint32_t round;
	uint64_t last_number; /* of an owner */
	VEC(struct java_owner *) owners;
	struct java_owner *last; /* that was found; NULL: none */
};

struct java_frames *java_frames_new(const struct java_frames_config *config)
{
	struct java_frames *j = xcalloc(1, sizeof(*j));

	j->config = *config;
	return j;
}

static void java_owner_free(struct java_owner *o)
{
	vec_fini(&o->list);
	vec_fini(&o->methods);
	vec_fini(&o->codes);
	intmap_fini(&o->by_key);
	free(o);
}

void java_frames_free(struct java_frames *j)
{
	if (!j)
		return;
	vec_foreach (&j->owners, o)
		java_owner_free(*o);
	vec_fini(&j->owners);
	free(j);
}

void java_frames_next_round(struct java_frames *j)
{
	j->round++;
}

static uint64_t hash_of_key(const struct java_key *key)
{
	return hash_secret_u64(hash_secret_u64(key->pc) ^ key->place);
}

/* ---- room ---- */

static size_t java_owner_bytes(const struct java_owner *o)
{
	return o->list.n * sizeof(*o->list.data) + o->methods.n * sizeof(*o->methods.data) +
	       o->codes.n * sizeof(*o->codes.data);
}

static bool java_owner_is_full(const struct java_owner *o)
{
	return o->list.n >= JAVA_FRAMES_OF_PROCESS || java_owner_bytes(o) >= BYTES_OF_PROCESS ||
	       o->last_number == FRAME_MASK;
}

static bool java_frames_are_full(const struct java_frames *j)
{
	size_t n = 0, bytes = 0;

	vec_foreach (&j->owners, o) {
		n += (*o)->list.n;
		bytes += java_owner_bytes(*o);
	}
	return n >= JAVA_FRAMES_MAX || bytes >= JAVA_NAMES_BYTES;
}

static void forget_frame(struct java_frames *j, struct java_owner *o, struct told_frame *f)
{
	if (f->is_dead)
		return;
	if (f->is_told)
		j->config.drop(j->config.context, &f->key);
	intmap_remove(&o->by_key, hash_of_key(&f->key));
	f->is_dead = true;
	f->forgotten = j->round;
}

/* Leaves out frames that no sample can have any more. */
static void compact(struct java_frames *j, struct java_owner *o)
{
	uint32_t n = 0, n_methods = 0;

	intmap_clear(&o->by_key);
	for (uint32_t i = 0; i < o->list.n; i++) {
		struct told_frame f = o->list.data[i];

		if (f.is_dead && j->round - f.forgotten > JAVA_KEPT_ROUNDS)
			continue;
		if (f.n && f.first != n_methods) {
			memmove(o->methods.data + n_methods, o->methods.data + f.first,
				f.n * sizeof(*o->methods.data));
			memmove(o->codes.data + n_methods, o->codes.data + f.first,
				f.n * sizeof(*o->codes.data));
		}
		f.first = n_methods;
		n_methods += f.n;
		if (!f.is_dead)
			*intmap_put(&o->by_key, hash_of_key(&f.key), NULL) = n;
		o->list.data[n++] = f;
	}
	o->list.n = n;
	o->methods.n = o->codes.n = n_methods;
}

/* Once a round. */
static void java_owner_sweep(struct java_frames *j, struct java_owner *o)
{
	if (o->is_swept && o->swept == j->round)
		return;
	o->is_swept = true;
	o->swept = j->round;
	vec_foreach (&o->list, f)
		if (o->is_over || j->round - f->used > JAVA_IDLE_ROUNDS)
			forget_frame(j, o, f);
	compact(j, o);
}

/* Also removes owners without frames, but for `kept`. */
static void java_frames_make_room(struct java_frames *j, const struct java_owner *kept)
{
	size_t n = 0;

	j->last = NULL;
	for (size_t i = 0; i < j->owners.n; i++) {
		struct java_owner *o = j->owners.data[i];

		java_owner_sweep(j, o);
		if (o->list.n || o == kept)
			j->owners.data[n++] = o;
		else
			java_owner_free(o);
	}
	j->owners.n = n;
}

static bool has_room(struct java_frames *j, struct java_owner *o)
{
	if (java_owner_is_full(o))
		java_owner_sweep(j, o);
	if (!java_owner_is_full(o) && java_frames_are_full(j))
		java_frames_make_room(j, o);
	return !java_owner_is_full(o) && !java_frames_are_full(j);
}

void java_frames_forget_names(struct java_frames *j)
{
	vec_foreach (&j->owners, o)
		vec_foreach (&(*o)->list, f)
			forget_frame(j, *o, f);
}

/* ---- learning ---- */

static struct java_owner *owner_of_process(struct java_frames *j, uint64_t process)
{
	if (j->last && j->last->process == process)
		return j->last;
	vec_foreach (&j->owners, o)
		if ((*o)->process == process)
			return j->last = *o;
	return NULL;
}

static uint32_t count_lives(const struct java_frames *j, int32_t pid)
{
	uint32_t n = 0;

	vec_foreach (&j->owners, o)
		n += (*o)->pid == pid;
	return n;
}

static bool has_room_for_owner(const struct java_frames *j, int32_t pid)
{
	return j->owners.n < JAVA_OWNERS_MAX && count_lives(j, pid) < JAVA_OWNERS_OF_PID;
}

/* The earlier lives of the pid are over. Returns whether there is a later one than this. */
static bool end_earlier_lives(struct java_frames *j, const struct java_life *life)
{
	bool has_later = false;

	vec_foreach (&j->owners, other) {
		bool is_later = (*other)->copied_ns > life->time_ns;

		if ((*other)->pid != life->pid)
			continue;
		has_later |= is_later;
		(*other)->is_over |= !is_later;
	}
	return has_later;
}

/* NULL: there is no room for one more. */
static struct java_owner *java_owner_new(struct java_frames *j, const struct java_life *life)
{
	bool is_over = end_earlier_lives(j, life);
	struct java_owner *o;

	if (!has_room_for_owner(j, life->pid))
		java_frames_make_room(j, NULL);
	if (!has_room_for_owner(j, life->pid))
		return NULL;
	o = xcalloc(1, sizeof(*o));
	o->process = life->process;
	o->pid = life->pid;
	o->is_over = is_over;
	o->number = ++j->last_number;
	vec_push(&j->owners, o);
	return j->last = o;
}

static bool is_same_key(const struct java_key *a, const struct java_key *b)
{
	return a->process == b->process && a->pc == b->pc && a->place == b->place;
}

static uint64_t hash_of_content(const struct java_known *known)
{
	const struct java_frame *f = &known->frame;
	struct unwind_rule rule = f->rule;
	uint64_t hash = hash_u64((uint64_t)f->flags << 16 | (uint16_t)f->bcp_at);

	hash = hash_u64(hash ^ ((uint64_t)rule.cfa << 8 | rule.saved)) ^ rule.off;
	hash = hash_u64(hash ^ (uint64_t)(uint16_t)rule.fp << 16) ^ (uint16_t)rule.aux;
	for (uint32_t i = 0; i < f->n_proof; i++)
		hash = hash_u64(hash_u64(hash ^ f->proof[i].at) ^ f->proof[i].value);
	for (uint32_t i = 0; i < known->n_methods; i++) {
		const struct lang_frame *m = &known->methods[i];

		hash = hash_u64(hash_u64(hash ^ m->pointer) ^ m->check) ^ m->position;
	}
	return hash;
}

static struct told_frame *find_told(struct java_owner *o, const struct java_key *key)
{
	const uint32_t *at = intmap_find(&o->by_key, hash_of_key(key));
	struct told_frame *f = at ? &o->list.data[*at] : NULL;

	return f && is_same_key(&f->key, key) ? f : NULL;
}

static struct told_frame *java_frames_add(struct java_frames *j, struct java_owner *o,
					  const struct java_known *known,
					  const struct java_key *key, uint64_t content)
{
	struct told_frame new = { .key = *key,
				  .content = content,
				  .number = ++o->last_number,
				  .first = (uint32_t)o->methods.n,
				  .n = known->n_methods,
				  .used = j->round,
				  .is_method = !known->frame.rule.cfa };

	for (uint32_t i = 0; i < new.n; i++) {
		vec_push(&o->methods, known->methods[i]);
		vec_push(&o->codes, (struct code_addr){ IMAGE_UNKNOWN_ID, 0 });
	}
	*intmap_put(&o->by_key, hash_of_key(key), NULL) = (uint32_t)o->list.n;
	vec_push(&o->list, new);
	return &o->list.data[o->list.n - 1];
}

/* Each session stores names anew. */
static bool java_frames_place(struct java_frames *j, struct java_owner *o, struct told_frame *f,
			      uint32_t session)
{
	if (f->session == session + 1)
		return true;
	for (uint32_t i = f->first; i < f->first + f->n; i++)
		if (!j->config.place(j->config.context, &o->methods.data[i], &o->codes.data[i]))
			return false;
	f->session = session + 1;
	return true;
}

static void tell_frame(struct java_frames *j, const struct java_owner *o, struct told_frame *f,
		       const struct java_known *known)
{
	struct java_frame frame = known->frame;

	frame.number = o->number << FRAME_BITS | f->number;
	f->is_told = j->config.set(j->config.context, &f->key, &frame);
}

enum java_copy java_frames_learn(struct java_frames *j, const struct java_life *life,
				 const struct java_known *known, uint32_t session)
{
	struct java_key key = { life->process, known->key.pc, known->key.place };
	struct java_owner *o = owner_of_process(j, life->process);
	uint64_t content = hash_of_content(known);
	struct told_frame *f;

	if (!o)
		o = java_owner_new(j, life);
	if (o)
		o->copied_ns = MAX(o->copied_ns, life->time_ns);
	f = o ? find_told(o, &key) : NULL;
	if (f && f->content != content) {
		forget_frame(j, o, f);
		f = NULL;
	}
	if (!f && o && has_room(j, o))
		f = java_frames_add(j, o, known, &key, content);
	if (!f)
		return JAVA_COPY_FULL;
	f->used = j->round;
	if (f->is_told)
		return JAVA_COPY_KNOWN;
	if (java_frames_place(j, o, f, session))
		tell_frame(j, o, f, known);
	return f->is_told ? JAVA_COPY_NEW : JAVA_COPY_FULL;
}

/* ---- names ---- */

static struct java_owner *owner_of_number(struct java_frames *j, uint64_t number)
{
	if (j->last && j->last->number == number)
		return j->last;
	vec_foreach (&j->owners, o)
		if ((*o)->number == number)
			return j->last = *o;
	return NULL;
}

static struct told_frame *find_by_number(struct java_owner *o, uint32_t number)
{
	size_t first = 0, end = o->list.n;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (o->list.data[middle].number < number)
			first = middle + 1;
		else
			end = middle;
	}
	return first < o->list.n && o->list.data[first].number == number ? &o->list.data[first]
									 : NULL;
}

/* An interpreted frame has its method in the key, and an address of the interpreter. */
static bool is_at_address(const struct told_frame *f, uint64_t address)
{
	return f->is_method || (f->key.pc & FRAME_OFF_MASK) == address;
}

/* An interpreted frame has two entries, and its stacks have the number of the method's alone. */
static void use_code_of_method(struct java_frames *j, struct java_owner *o, uint64_t address)
{
	const struct java_key key = { o->process, address, JAVA_BEHIND_CALL };
	struct told_frame *f = find_told(o, &key);

	if (f)
		f->used = j->round;
}

bool java_frames_find(struct java_frames *j, int32_t pid, uint64_t address, uint64_t number,
		      uint32_t session, struct java_codes *codes)
{
	struct java_owner *o = owner_of_number(j, number >> FRAME_BITS);
	struct told_frame *f = o ? find_by_number(o, number & FRAME_MASK) : NULL;

	if (!f || o->pid != pid || !is_at_address(f, address))
		return false;
	f->used = j->round;
	if (f->is_method)
		use_code_of_method(j, o, address);
	if (!java_frames_place(j, o, f, session)) {
		forget_frame(j, o, f);
		return false;
	}
	*codes = (struct java_codes){ f->n ? o->codes.data + f->first : NULL, f->n };
	return true;
}
