/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake processor with its driver. Plays a recording of the generator into the rings and AUX
 * areas of preload.c's events, as kernel/events/ring_buffer.c and the driver of Intel PT do.
 *
 *   FAKE_PT_TRACE    the recording; the trace of thread n goes to ring n, so each thread
 *                    needs a CPU
 *   FAKE_PT_DIR      the folder for "done", when all was played, and for "stats" at the end
 *   FAKE_PT_RATE     MB/s of a ring; 0 or none: as fast as the reader, without losses
 *   FAKE_PT_SECONDS  plays so long, again and again from the first trace on
 *   FAKE_PT_STEPS    plays in so many parts; before each but the first, makes "step.N" and waits
 *                    for "go.N"; new rings may come meanwhile, and "rings.N" counts them
 *   FAKE_PT_FIRE     before this step all uprobes are hit, on the CPU whose turn it is
 *   FAKE_PT_SAMPLE   one sample of the sampling events for so many PSBs (default 4)
 *
 * It plays from PSB to PSB: a trace that was switched off can begin again there.
 */
#include "device.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/packet.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){ 0, (long)ns }, NULL);
}

static bool is_recorder_gone(const struct device *d)
{
	struct pollfd p = { .fd = d->alive, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static uint64_t setting(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : usual;
}

static void path_of(char *path, size_t size, const char *name, uint64_t n)
{
	if (n == UINT64_MAX)
		snprintf(path, size, "%s/%s", getenv("FAKE_PT_DIR"), name);
	else
		snprintf(path, size, "%s/%s.%" PRIu64, getenv("FAKE_PT_DIR"), name, n);
}

static void make_file(const char *name, uint64_t n, const char *text)
{
	char path[4096];

	path_of(path, sizeof(path), name, n);
	file_replace(path, text, strlen(text), NULL);
}

/* ---- playing ---- */

/*
 * Whether a ring is due. It gets the bytes of its rate since the last time, but at most half of its
 * area. So a device that was off the CPU for a while produces less, and no burst.
 */
static bool is_due(struct player *p)
{
	int64_t most = (int64_t)p->d->s->events[p->ring].aux_bytes / 2;
	uint64_t now = now_ns();

	if (!p->d->rate)
		return true;
	p->credit += (int64_t)((now - p->asked_ns) * p->d->rate / 1000);
	p->credit = MIN(p->credit, most);
	p->asked_ns = now;
	return p->credit > 0;
}

/* Without a rate nothing is lost: the reader is waited for. In the lock at the end; else false. */
static bool wait_for_room(struct player *p, size_t size)
{
	struct device *d = p->d;

	for (;;) {
		bool is_told = false;

		enter(d, p->ring);
		if (d->rate || (is_traced(d, p->ring) && room_of(d, p->ring) >= size))
			return true;
		if (is_traced(d, p->ring) &&
		    d->s->events[p->ring].aux_head != d->s->events[p->ring].aux_told) {
			fake_tell_aux(d->s, d->areas, p->ring,
				      as_asked(d, p->ring, p->stream->tid));
			is_told = true;
		}
		leave(d, p->ring);
		if (is_told)
			wake(d, p->ring);
		if (is_recorder_gone(d))
			return false;
		nap(200000);
	}
}

/* One piece; false: the recorder has gone. */
static bool play(struct player *p, const struct piece *piece)
{
	bool wakes = false;

	if (!wait_for_room(p, piece->size))
		return false;
	p->produced += piece->size;
	p->credit -= (int64_t)piece->size;
	p->n_pieces++;
	if (is_traced(p->d, p->ring))
		wakes = put_trace(p, piece);
	else
		p->dropped += piece->size;
	wakes |= put_samples(p, piece->tsc + 1);
	leave(p->d, p->ring);
	if (wakes)
		wake(p->d, p->ring);
	return true;
}

static bool has_player(const struct device *d, int32_t ring)
{
	vec_foreach (&d->players, p)
		if (p->ring == ring)
			return true;
	return false;
}

/* All that there are, or that came since the last time. */
static void find_rings(struct device *d)
{
	fake_lock(&d->s->lock);
	for (int32_t i = 0; i < (int32_t)d->s->n_events; i++)
		if (d->streams.n && d->s->events[i].is_open && d->s->events[i].aux_bytes &&
		    !has_player(d, i))
			vec_push(&d->players,
				 ((struct player){
					 .d = d,
					 .ring = i,
					 .stream = &d->streams.data[d->players.n % d->streams.n],
					 .asked_ns = now_ns() }));
	fake_unlock(&d->s->lock);
}

static void hit_uprobes(struct player *p, uint64_t time)
{
	struct fake_shared *s = p->d->s;

	enter(p->d, p->ring);
	for (int32_t i = 0; i < (int32_t)s->n_events; i++) {
		struct fake_event *e = &s->events[i];

		if (e->output != p->ring || e->attr.type != FAKE_UPROBE || !e->is_open || !e->is_on)
			continue;
		e->counted++;
		put_sample(p->d, i, p->stream, time);
	}
	leave(p->d, p->ring);
	wake(p->d, p->ring);
}

static void wait_for_step(struct device *d, uint64_t step)
{
	char path[4096];

	make_file("step", step, "");
	path_of(path, sizeof(path), "go", step);
	while (access(path, F_OK) < 0 && !is_recorder_gone(d)) {
		size_t n = d->players.n;

		find_rings(d);
		if (d->players.n > n)
			make_file("rings", d->players.n, "");
		nap(1000000);
	}
}

/* The thread whose next piece is the earliest; -1: all were played. */
static int first_stream(const struct device *d, const size_t *next)
{
	uint64_t tsc = UINT64_MAX;
	int first = -1;

	for (size_t i = 0; i < d->streams.n; i++) {
		const struct stream *s = &d->streams.data[i];

		if (next[i] < s->pieces.n && (first < 0 || s->pieces.data[next[i]].tsc < tsc)) {
			tsc = s->pieces.data[next[i]].tsc;
			first = (int)i;
		}
	}
	return first;
}

/* All threads' traces once, the earliest piece first, with their side band. */
static void play_once(struct device *d)
{
	cleanup(free_at_exit) size_t *next = xcalloc(d->streams.n, sizeof(*next));
	uint64_t total = 0, done = 0, step = 1;
	int at;

	vec_foreach (&d->streams, s)
		total += s->pieces.n;
	while ((at = first_stream(d, next)) >= 0) {
		struct player *p = player_of(d, (size_t)at);
		const struct piece *piece;

		p->stream = &d->streams.data[at];
		piece = &p->stream->pieces.data[next[at]];
		if (d->steps > 1 && done * d->steps >= step * total) {
			if (step == d->fire)
				hit_uprobes(p, piece->tsc);
			wait_for_step(d, step++);
		}
		while (!is_due(p))
			nap(100000);
		d->s->now = piece->tsc;
		put_sides(d, piece->tsc);
		if (!next[at]) {
			enter(d, p->ring);
			put_switch(d, p->ring, p->stream, false, piece->tsc - 1);
			leave(d, p->ring);
		}
		if (!play(p, piece))
			return;
		done++;
		next[at]++;
	}
	put_sides(d, UINT64_MAX);
}

/* Pins the device to its CPU. While something else runs there, it does not trace. */
static void stay_on_cpu(const struct player *p)
{
	int cpu = p->d->s->events[p->ring].cpu;
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *play_again_and_again(void *context)
{
	struct player *p = context;
	uint64_t until = p->d->start_ns + p->d->seconds * 1000000000ULL;

	stay_on_cpu(p);
	while (now_ns() < until && !is_recorder_gone(p->d)) {
		while (is_due(p))
			if (!play(p, &p->stream->pieces.data[p->next++ % p->stream->pieces.n]))
				return NULL;
		nap(200000);
	}
	return NULL;
}

static void play_on_all(struct device *d)
{
	vec_foreach (&d->players, p)
		if (pthread_create(&p->thread, NULL, play_again_and_again, p) != 0)
			abort();
	vec_foreach (&d->players, p)
		pthread_join(p->thread, NULL);
}

/* The last threads to leave do so behind all that they ran. */
static void tell_all(struct device *d)
{
	for (size_t i = 0; i < d->players.n; i++) {
		struct player *p = &d->players.data[i];
		struct stream *s = &d->streams.data[i % d->streams.n];

		enter(d, p->ring);
		fake_tell_aux(d->s, d->areas, p->ring, as_asked(d, p->ring, s->tid));
		if (i < d->streams.n)
			put_switch(d, p->ring, s, true, d->end);
		leave(d, p->ring);
		wake(d, p->ring);
	}
}

/* ---- from start to end ---- */

static bool has_program_begun(const struct device *d, int32_t pid)
{
	char path[64], own[4096], its[4096];
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/exe", d->s->recorder);
	n = readlink(path, own, sizeof(own));
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	m = readlink(path, its, sizeof(its));
	return m < 0 || n != m || memcmp(own, its, (size_t)n) != 0;
}

/* All that wait for the program's exec are on at once, as in the kernel: it is looked for once. */
static void pass_exec(const struct device *d)
{
	struct fake_shared *s = d->s;
	int32_t pid = 0;

	for (uint32_t i = 0; i < s->n_events && !pid; i++)
		if (s->events[i].waits_for_exec)
			pid = s->events[i].pid;
	if (!pid || !has_program_begun(d, pid))
		return;
	for (uint32_t i = 0; i < s->n_events; i++) {
		struct fake_event *e = &s->events[i];

		e->is_on |= e->waits_for_exec;
		e->waits_for_exec = false;
	}
}

/* How many of the traces that have an area are on; *n_off: are not, or their side band is not. */
static uint32_t count_on(const struct fake_shared *s, uint32_t *n_off)
{
	uint32_t n = 0;

	*n_off = 0;
	for (uint32_t i = 0; i < s->n_events; i++) {
		const struct fake_event *e = &s->events[i];
		bool is_trace = e->attr.type == FAKE_PMU;

		if (!e->is_open || !s->events[e->output].aux_bytes)
			continue;
		n += is_trace && e->is_on;
		*n_off += (is_trace || e->attr.task) && !e->is_on;
	}
	return n;
}

/*
 * Waits until an area exists and its ring is on. A recorder switches rings on one after the other,
 * and may be interrupted. So the others are awaited, too, with a time limit, because a test may use
 * only one.
 */
static bool wait_for_start(struct device *d)
{
	for (uint32_t patience = 20000; patience;) {
		uint32_t n_on, n_off;

		fake_lock(&d->s->lock);
		pass_exec(d);
		n_on = count_on(d->s, &n_off);
		fake_unlock(&d->s->lock);
		if (n_on && !n_off)
			break;
		patience -= n_on != 0;
		nap(1000000);
		if (is_recorder_gone(d))
			return false;
	}
	nap(20000000); /* the recorder gets ready to read */
	return true;
}

static void write_stats(const struct device *d)
{
	uint64_t produced = 0, stored = 0, dropped = 0, n_pieces = 0;
	char text[512];

	vec_foreach (&d->players, p) {
		produced += p->produced;
		stored += p->stored;
		dropped += p->dropped;
		n_pieces += p->n_pieces;
	}
	snprintf(text, sizeof(text),
		 "{\"produced\": %" PRIu64 ", \"stored\": %" PRIu64 ", \"dropped\": %" PRIu64
		 ", \"told\": %" PRIu64 ", \"truncated\": %" PRIu64 ", \"wakeups\": %" PRIu64
		 ", \"pieces\": %" PRIu64 ", \"ms\": %" PRIu64 "}\n",
		 produced, stored, dropped, d->s->n_told, d->s->n_truncated, d->s->n_wakeups,
		 n_pieces, d->played_ns / 1000000);
	make_file("stats", UINT64_MAX, text);
}

int main(int argc, char **argv)
{
	struct device d = { .rate = setting("FAKE_PT_RATE", 0),
			    .seconds = setting("FAKE_PT_SECONDS", 0),
			    .steps = setting("FAKE_PT_STEPS", 0),
			    .fire = setting("FAKE_PT_FIRE", 0),
			    .sample_each = setting("FAKE_PT_SAMPLE", 4) };

	if (argc != 4 || !getenv("FAKE_PT_DIR") || !getenv("FAKE_PT_TRACE")) {
		fprintf(stderr, "fake device: it is started by preload.c\n");
		return 2;
	}
	d.s = mmap(NULL, sizeof(*d.s), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
	d.areas = mmap(NULL, FAKE_EVENTS * FAKE_ROOM, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE, atoi(argv[2]), 0);
	d.alive = atoi(argv[3]);
	if (d.s == MAP_FAILED || d.areas == MAP_FAILED)
		return 1;
	load(&d);
	if (!wait_for_start(&d))
		return 0;
	d.start_ns = now_ns();
	vec_reserve(&d.players, FAKE_EVENTS); /* they stay where they are */
	find_rings(&d);
	if (d.players.n) {
		if (d.seconds)
			play_on_all(&d);
		else
			play_once(&d);
		d.played_ns = now_ns() - d.start_ns;
		tell_all(&d);
	}
	make_file("done", UINT64_MAX, "");
	while (!is_recorder_gone(&d))
		nap(1000000);
	write_stats(&d);
	return 0;
}
