/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "heap/agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "heap/shared.h"

#define PAGE           4096
#define TRIES          16 /* places that are looked at for a free one */
#define TABLE_BITS     16
#define TABLE_SIZE     (1u << TABLE_BITS)
#define TABLE_FULL     (TABLE_SIZE / 4 * 3)
#define MAPPINGS       512
#define EARLY_BYTES    65536 /* until the environment can be read */
#define NAPS           250   /* of a thread that finds no place */
#define NAP_NS         2000000
#define GIVEN_UP_NS    10000000000ULL /* no thread waits for so long */
#define SPINS          100
#define LOCK_NAP_NS    50000
#define FILTER_STAYS   255 /* a counter that has reached it is never counted down */
#define COUNTS_NO_MORE (INT64_MAX / 2)

__thread struct agent_thread agent_thread __attribute__((tls_model("initial-exec")));
uint8_t agent_filter[1 << AGENT_FILTER_BITS];

/* A sampled block that lives. */
struct entry {
	uintptr_t block; /* 0: free */
	uint64_t id;
};

struct mapping_entry {
	uintptr_t start, end;
	uint64_t number; /* the first mapping is 1 */
};

static struct {
	_Atomic int state; /* 0: not attached yet; 1: being attached; 2: attached; -1: never */
	struct heap_shared *shared;
	double mean;
	atomic_flag lock;
	struct entry *table;
	uint32_t n_entries;
	uint32_t n_mappings;
	uint64_t n_mapped; /* of the process so far */
	struct mapping_entry mappings[MAPPINGS];
	bool is_started; /* constructors have run: the environment is complete */
	/* the process's number here, and behind it the one that assay knows; 0: not looked up */
	_Atomic uint64_t number;
	bool is_elsewhere; /* they differ: this is another pid namespace */
	char path[64];     /* of the shared memory, in assay's /proc … */
	dev_t dev;         /* … and which file that is */
	ino_t ino;
} agent = { .lock = ATOMIC_FLAG_INIT };

/* No point at which a thread is cancelled: malloc() is none. */
static void nap(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &t, NULL);
}

/*
 * The lock is held for a few hundred instructions, and by no thread that can wait for us. A thread
 * of real-time priority sleeps, so that the holder can run on the same CPU.
 */
static void agent_lock(void)
{
	for (unsigned int n = 1;
	     atomic_flag_test_and_set_explicit(&agent.lock, memory_order_acquire); n++)
		if (n % SPINS == 0)
			nap(LOCK_NAP_NS);
}

static void agent_unlock(void)
{
	atomic_flag_clear_explicit(&agent.lock, memory_order_release);
}

/* Random numbers. */

static uint64_t agent_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(struct agent_thread *t)
{
	uint64_t x = t->seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* ln(x) for 0 < x <= 1, to eight digits: libm is not linked. */
static double logarithm(double x)
{
	double z, square;
	int halvings = 0;

	for (; x < 0.75; x *= 2)
		halvings++;
	z = (x - 1) / (x + 1);
	square = z * z;
	return 2 * z *
		       (1 +
			square * (1. / 3 + square * (1. / 5 + square * (1. / 7 + square / 9)))) -
	       halvings * 0.69314718055994531;
}

/* Bytes up to the next sample. */
static int64_t draw_gap(struct agent_thread *t)
{
	double u = (double)((next_random(t) >> 11) + 1) * 0x1p-53;

	return (int64_t)(-logarithm(u) * agent.mean);
}

/* The numbers of this process and thread. */

/* "PID" or "PID/task/TID": the last number; -1: none. */
static int32_t number_of_link(const char *link)
{
	char text[64];
	long n = syscall(SYS_readlinkat, AT_FDCWD, link, text, sizeof(text));
	int64_t number = 0;

	for (long i = 0; i < n; i++)
		if (text[i] == '/')
			number = 0;
		else if (text[i] >= '0' && text[i] <= '9' && number <= INT32_MAX)
			number = number * 10 + (text[i] - '0');
	return number > 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

/*
 * Whether /proc has processes by the numbers that assay knows. A program can have another /proc. A
 * filter of system calls may end a program that looks.
 */
static bool is_proc_of_reader(void)
{
	struct stat st;

	return prctl(PR_GET_SECCOMP) == 0 && stat(agent.path, &st) == 0 && st.st_dev == agent.dev &&
	       st.st_ino == agent.ino;
}

static int32_t keep_number(int32_t own, int32_t number)
{
	atomic_store_explicit(&agent.number, (uint64_t)own << 32 | (uint32_t)number,
			      memory_order_relaxed);
	if (number != own)
		agent.is_elsewhere = true;
	return number;
}

/* As assay knows the process; -1: nobody can tell. In a new namespace, a child has no parent. */
static int32_t process_number(void)
{
	uint64_t known = atomic_load_explicit(&agent.number, memory_order_relaxed);
	int32_t own = getpid();

	if ((int32_t)(known >> 32) == own)
		return (int32_t)known;
	if (is_proc_of_reader())
		return keep_number(own, number_of_link("/proc/self"));
	return keep_number(own, agent.is_elsewhere || getppid() == 0 ? -1 : own);
}

static int32_t thread_number(void)
{
	if (process_number() == getpid())
		return (int32_t)syscall(SYS_gettid);
	return is_proc_of_reader() ? number_of_link("/proc/thread-self") : -1;
}

static void begin_thread(struct agent_thread *t)
{
	t->tid = thread_number();
	t->seed = agent_now_ns() ^ (uint64_t)t->tid << 40 ^ (uintptr_t)t;
	t->left = draw_gap(t);
}

/* The shared memory. */

static bool map_shared(const char *path)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct stat st;
	void *m = MAP_FAILED;

	if (fd < 0)
		return false;
	if (strlen(path) < sizeof(agent.path) && fstat(fd, &st) == 0 &&
	    st.st_size == (off_t)sizeof(struct heap_shared))
		m = (void *)syscall(SYS_mmap, NULL, sizeof(struct heap_shared),
				    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
	syscall(SYS_close, fd);
	if (m == MAP_FAILED)
		return false;
	strcpy(agent.path, path);
	agent.dev = st.st_dev;
	agent.ino = st.st_ino;
	keep_number(getpid(), number_of_link("/proc/self"));
	agent.shared = m;
	agent.mean = (double)agent.shared->mean_bytes;
	return agent.shared->magic == HEAP_MAGIC && agent.mean >= 1;
}

static struct heap_note *claim_note(void)
{
	struct heap_shared *s = agent.shared;

	for (int i = 0; i < TRIES; i++) {
		struct heap_note *n =
			&s->notes[atomic_fetch_add_explicit(&s->note_at, 1, memory_order_relaxed) %
				  HEAP_NOTES];
		uint32_t is_free = HEAP_FREE;

		if (atomic_compare_exchange_strong_explicit(&n->state, &is_free, HEAP_CLAIMED,
							    memory_order_acquire,
							    memory_order_relaxed))
			return n;
	}
	atomic_fetch_add_explicit(&s->lost_notes, 1, memory_order_relaxed);
	return NULL;
}

static void put_note(enum heap_note_kind kind, uint64_t id, uint64_t bytes, uint64_t last_id)
{
	struct heap_note *n = claim_note();

	if (!n)
		return;
	n->kind = kind;
	n->pid = process_number();
	n->time_ns = agent_now_ns();
	n->id = id;
	n->bytes = bytes;
	n->last_id = last_id;
	atomic_store_explicit(&n->state, HEAP_READY, memory_order_release);
}

static void attach(void)
{
	const char *path = environ ? getenv(HEAP_VARIABLE) : NULL;
	void *table = (void *)syscall(SYS_mmap, NULL, TABLE_SIZE * sizeof(struct entry),
				      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	bool is_mapped = path && table != MAP_FAILED && map_shared(path);

	agent.table = table;
	if (is_mapped)
		put_note(HEAP_NOTE_STARTED, 0, 0, 0);
	atomic_store_explicit(&agent.state, is_mapped ? 2 : -1, memory_order_release);
}

/* Whether allocations are sampled now. Before that, the thread looks again after some bytes. */
static bool is_attached(struct agent_thread *t)
{
	int state = atomic_load_explicit(&agent.state, memory_order_acquire), none = 0;

	if (state == 0 && (environ || agent.is_started) &&
	    atomic_compare_exchange_strong(&agent.state, &none, 1)) {
		attach();
		state = atomic_load_explicit(&agent.state, memory_order_acquire);
	}
	if (state != 2)
		t->left = state < 0 ? COUNTS_NO_MORE : EARLY_BYTES;
	return state == 2;
}

/* Sampled blocks. */

static uint32_t table_at(uintptr_t block)
{
	return (uint32_t)((block >> 4) * UINT64_C(0xc2b2ae3d27d4eb4f) >> (64 - TABLE_BITS));
}

/* *former: the block that was there, whose end was not seen; 0: none. */
static bool table_add(uintptr_t block, uint64_t id, uint64_t *former)
{
	uint8_t *filter = &agent_filter[agent_filter_at((void *)block)];
	uint32_t at = table_at(block);
	bool has_room;

	*former = 0;
	agent_lock();
	has_room = agent.n_entries < TABLE_FULL;
	if (has_room) {
		while (agent.table[at].block && agent.table[at].block != block)
			at = (at + 1) % TABLE_SIZE;
		if (!agent.table[at].block) {
			agent.n_entries++;
			*filter += *filter < FILTER_STAYS;
		} else {
			*former = agent.table[at].id;
		}
		agent.table[at] = (struct entry){ block, id };
	}
	agent_unlock();
	return has_room;
}

/* Entries behind a free place would not be found any more: those that can move back do. */
static void table_close_gap(uint32_t at)
{
	uint32_t next = at;

	for (;;) {
		uint32_t home;

		next = (next + 1) % TABLE_SIZE;
		if (!agent.table[next].block)
			break;
		home = table_at(agent.table[next].block);
		if ((next - home) % TABLE_SIZE < (next - at) % TABLE_SIZE)
			continue;
		agent.table[at] = agent.table[next];
		at = next;
	}
	agent.table[at].block = 0;
}

static uint64_t table_take(uintptr_t block)
{
	uint8_t *filter = &agent_filter[agent_filter_at((void *)block)];
	uint32_t at = table_at(block);
	uint64_t id = 0;

	agent_lock();
	while (agent.table[at].block && agent.table[at].block != block)
		at = (at + 1) % TABLE_SIZE;
	if (agent.table[at].block) {
		id = agent.table[at].id;
		table_close_gap(at);
		agent.n_entries--;
		*filter -= *filter < FILTER_STAYS;
	}
	agent_unlock();
	return id;
}

/*
 * Where the few mappings are that were sampled. A hole in one stays a part of it here, and assay
 * knows better. Without room, the end of one is not seen.
 */
static bool mapping_add(uintptr_t start, size_t bytes)
{
	bool has_room;

	agent_lock();
	has_room = agent.n_mappings < MAPPINGS;
	if (has_room)
		agent.mappings[agent.n_mappings++] =
			(struct mapping_entry){ start, start + bytes, ++agent.n_mapped };
	agent_unlock();
	return has_room;
}

/* Whether one of the first sampled mappings has a part in this range. */
static bool mapping_touch(uintptr_t start, size_t bytes, uint64_t n_mapped)
{
	uintptr_t end = start + bytes;
	bool is_touched = false;

	agent_lock();
	for (uint32_t i = agent.n_mappings; i--;) {
		struct mapping_entry *m = &agent.mappings[i];

		if (m->end <= start || m->start >= end || m->number > n_mapped)
			continue;
		is_touched = true;
		if (m->start >= start && m->end <= end)
			*m = agent.mappings[--agent.n_mappings];
		else if (m->start >= start)
			m->start = end;
		else if (m->end <= end)
			m->end = start;
	}
	agent_unlock();
	return is_touched;
}

/* A sample. */

static struct heap_slot *try_slots(void)
{
	struct heap_shared *s = agent.shared;
	uint32_t claimed = heap_claimed_by(process_number());

	for (int i = 0; i < TRIES; i++) {
		struct heap_slot *slot =
			&s->slots[atomic_fetch_add_explicit(&s->slot_at, 1, memory_order_relaxed) %
				  HEAP_SLOTS];
		uint32_t is_free = HEAP_FREE;

		if (atomic_compare_exchange_strong_explicit(&slot->state, &is_free, claimed,
							    memory_order_acquire,
							    memory_order_relaxed))
			return slot;
	}
	return NULL;
}

/* Once assay has ended, no program waits for it any more. Other namespaces can't see it. */
static bool is_read(const struct heap_shared *s)
{
	return !s->is_closed &&
	       (agent.is_elsewhere || syscall(SYS_kill, s->reader, 0) == 0 || errno != ESRCH);
}

/* Sampling is rare, so a full ring is a burst, and assay is about to read it. */
static struct heap_slot *claim_slot(void)
{
	struct heap_shared *s = agent.shared;
	struct heap_slot *slot = try_slots();
	uint64_t since_ns;

	if (slot)
		return slot;
	since_ns = agent_now_ns() - atomic_load_explicit(&s->gave_up_ns, memory_order_relaxed);
	for (int i = 0; i < NAPS && since_ns > GIVEN_UP_NS && !slot && is_read(s); i++) {
		nap(NAP_NS);
		slot = try_slots();
	}
	if (slot)
		return slot;
	atomic_store_explicit(&s->gave_up_ns, agent_now_ns(), memory_order_relaxed);
	atomic_fetch_add_explicit(&s->lost_samples, 1, memory_order_relaxed);
	return NULL;
}

/*
 * The bytes from `sp` on, as far as there are some. Nobody knows where a stack ends, so the kernel
 * copies: it stops at a page that is not there.
 */
static uint32_t copy_stack(uint8_t *to, uintptr_t sp)
{
	struct iovec local = { to, HEAP_STACK_BYTES };
	struct iovec remote[HEAP_STACK_BYTES / PAGE + 1];
	size_t left = HEAP_STACK_BYTES, n = 0;
	uintptr_t at = sp;
	ssize_t copied;

	while (left) {
		size_t part = PAGE - at % PAGE;

		part = part < left ? part : left;
		remote[n++] = (struct iovec){ (void *)at, part };
		at += part;
		left -= part;
	}
	/* a filter of system calls seldom permits this one, and may end the program for it */
	copied = prctl(PR_GET_SECCOMP) == 0 ? process_vm_readv(getpid(), &local, 1, remote, n, 0)
					    : 0;
	if (copied > 0)
		return (uint32_t)copied;
	memcpy(to, (const void *)sp, remote[0].iov_len); /* the page of sp is there */
	return (uint32_t)remote[0].iov_len;
}

#if defined(__x86_64__)
static inline __attribute__((always_inline)) void capture_registers(uint64_t *regs)
{
	__asm__ volatile("movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 "leaq 0f(%%rip), %%rcx\n"
			 "0:\n\t"
			 "movq %%rcx, 128(%0)"
			 :
			 : "a"(regs)
			 : "rcx", "memory");
}
#elif defined(__aarch64__)
static inline __attribute__((always_inline)) void capture_registers(uint64_t *regs)
{
	__asm__ volatile("stp x19, x20, [%0, #152]\n\t"
			 "stp x21, x22, [%0, #168]\n\t"
			 "stp x23, x24, [%0, #184]\n\t"
			 "stp x25, x26, [%0, #200]\n\t"
			 "stp x27, x28, [%0, #216]\n\t"
			 "stp x29, x30, [%0, #232]\n\t"
			 "mov x1, sp\n\t"
			 "str x1, [%0, #248]\n\t"
			 "adr x1, 0f\n"
			 "0:\n\t"
			 "str x1, [%0, #256]"
			 :
			 : "r"(regs)
			 : "x1", "memory");
}
#endif

static __attribute__((noinline)) void take_sample(const void *block, uint64_t bytes,
						  enum agent_origin origin)
{
	int32_t pid = process_number();
	struct heap_slot *s;
	unsigned int cpu = 0;
	uint64_t former = 0;
	bool is_tracked;

	if (pid < 0 || agent_thread.tid < 0) {
		atomic_fetch_add_explicit(&agent.shared->lost_samples, 1, memory_order_relaxed);
		return;
	}
	s = claim_slot();
	if (!s)
		return;
	capture_registers(s->regs);
	s->stack_bytes = copy_stack(s->stack, s->regs[HEAP_SP_AT]);
	s->id = atomic_fetch_add_explicit(&agent.shared->next_id, 1, memory_order_relaxed) + 1;
	s->bytes = bytes;
	s->pid = pid;
	s->tid = agent_thread.tid;
	getcpu(&cpu, NULL);
	s->cpu = cpu;
	is_tracked = origin == AGENT_BLOCK ? table_add((uintptr_t)block, s->id, &former)
					   : mapping_add((uintptr_t)block, bytes);
	s->mapping = origin == AGENT_MAPPING ? (uintptr_t)block : 0;
	if (former)
		put_note(HEAP_NOTE_RELEASED, former, 0, 0);
	s->is_untracked = !is_tracked;
	s->time_ns = agent_now_ns();
	atomic_store_explicit(&s->state, HEAP_READY, memory_order_release);
}

static void look(struct agent_thread *t, const void *block, uint64_t bytes,
		 enum agent_origin origin)
{
	if (!is_attached(t))
		return;
	if (!t->seed) {
		begin_thread(t);
		t->left -= (int64_t)bytes;
	}
	if (t->left >= 0)
		return;
	take_sample(block, bytes, origin);
	t->left = draw_gap(t);
}

void agent_look(const void *block, uint64_t bytes, enum agent_origin origin)
{
	struct agent_thread *t = &agent_thread;
	int saved = errno;

	if (t->is_within)
		return;
	t->is_within++;
	look(t, block, bytes, origin);
	t->is_within--;
	errno = saved;
}

uint64_t agent_take(const void *block)
{
	struct agent_thread *t = &agent_thread;
	uint64_t id = 0;

	if (t->is_within || atomic_load_explicit(&agent.state, memory_order_acquire) != 2)
		return 0;
	t->is_within++;
	id = table_take((uintptr_t)block);
	t->is_within--;
	return id;
}

void agent_put_back(const void *block, uint64_t id)
{
	struct agent_thread *t = &agent_thread;
	uint64_t former;

	if (t->is_within)
		return;
	t->is_within++;
	table_add((uintptr_t)block, id, &former);
	t->is_within--;
}

void agent_released(uint64_t id)
{
	int saved = errno;

	put_note(HEAP_NOTE_RELEASED, id, 0, 0);
	errno = saved;
}

struct agent_moment agent_before_unmapping(void)
{
	struct agent_moment m = { 0 };
	int saved = errno;

	if (!agent.n_mappings || agent_thread.is_within)
		return m;
	agent_thread.is_within++;
	agent_lock();
	m.n_mapped = agent.n_mapped;
	agent_unlock();
	m.last_id = atomic_load_explicit(&agent.shared->next_id, memory_order_relaxed);
	agent_thread.is_within--;
	errno = saved;
	return m;
}

void agent_unmapped(const void *start, size_t bytes, const struct agent_moment *before)
{
	struct agent_thread *t = &agent_thread;
	int saved = errno;

	if (!before->n_mapped || t->is_within)
		return;
	t->is_within++;
	if (mapping_touch((uintptr_t)start, bytes, before->n_mapped))
		put_note(HEAP_NOTE_UNMAPPED, (uintptr_t)start, bytes, before->last_id);
	t->is_within--;
	errno = saved;
}

/* The life of the process. */

/*
 * No lock is held over fork(2): handlers of other libraries run between ours, and may free blocks
 * or wait for threads that do. This thread alone stays out until the child has its own table.
 */
static void before_fork(void)
{
	agent_thread.is_within++;
}

static void after_fork(void)
{
	agent_thread.is_within--;
}

/*
 * A child has copies of the blocks, which are not its own allocations. Another thread of the parent
 * may have been in the middle of a change.
 */
static void forget_parent(void)
{
	int saved = errno;

	agent_unlock();
	atomic_store_explicit(&agent.number, 0, memory_order_relaxed);
	if (atomic_load_explicit(&agent.state, memory_order_acquire) == 2) {
		madvise(agent.table, TABLE_SIZE * sizeof(struct entry), MADV_DONTNEED);
		process_number(); /* now: it may filter its system calls later */
	}
	for (size_t i = 0; i < sizeof(agent_filter); i++)
		agent_filter[i] = agent_filter[i] == FILTER_STAYS ? FILTER_STAYS : 0;
	agent.n_entries = agent.n_mappings = 0;
	if (agent_thread.seed)
		begin_thread(&agent_thread);
	agent_thread.is_within--;
	errno = saved;
}

static __attribute__((constructor)) void agent_start(void)
{
	pthread_atfork(before_fork, after_fork, forget_parent);
	agent.is_started = true;
	/* programs that allocate little are seen, too */
	agent_thread.is_within++;
	if (is_attached(&agent_thread))
		agent_thread.left = 0;
	agent_thread.is_within--;
}
