/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cli/command.h"
#include "commands/browse/browse.h"
#include "commands/opening.h"
#include "commands/terminal/screen.h"

#define ESCAPE    27
#define QUIET_MS  300 /* shorter work shows nothing, and its keys wait */
#define DRAWN_MS  200
#define TYPED_MAX 256

struct browse_wait {
	struct browse *b;
	const char *what;
	uint64_t start_ns;
	int ends[2]; /* of a pipe that is closed at the end */
	pthread_t thread;
	bool has_thread, is_shown;
};

/* The main thread goes on with its work, so nothing of the program is freed. */
static _Noreturn void leave(struct browse *b)
{
	screen_close(b->screen);
	opening_remove_after_end();
	_exit(b->is_damaged ? EXIT_FAILED : EXIT_OK);
}

/* Whether the next key is part of a line of text that one of the keys before began. */
static bool types_text(const struct browse *b)
{
	bool is_text = false;

	vec_foreach (&b->typed, key)
		is_text = is_text ? *key != '\n' && *key != ESCAPE : browse_key_asks(b, *key);
	return is_text;
}

static void take_keys(struct browse *b)
{
	int key;

	while ((key = screen_key(b->screen)) != KEY_IS_NONE) {
		bool is_text = types_text(b);

		if (key == 3 || (!is_text && (key == 'q' || key == 'Q')))
			leave(b);
		if (key == ESCAPE && !is_text)
			atomic_store(&b->is_unwanted, true);
		else if (b->typed.n < TYPED_MAX)
			vec_push(&b->typed, key);
	}
}

static void wait_show(struct browse_wait *w)
{
	struct browse *b = w->b;
	double seconds = (double)(clock_monotonic_ns() - w->start_ns) / 1e9;
	char text[120];

	w->is_shown = true;
	snprintf(text, sizeof(text), "%s: %.1f s%s", w->what, seconds,
		 !b->screen                     ? ""
		 : atomic_load(&b->is_unwanted) ? "  (it stops soon; q leaves)"
						: "  (Esc stops it, q leaves)");
	if (!b->screen) {
		log_progress(text);
		return;
	}
	take_keys(b);
	screen_put(b->screen, 2, text, true);
	screen_end(b->screen);
}

static void *wait_run(void *arg)
{
	struct browse_wait *w = arg;
	struct pollfd fds[] = { { .fd = w->ends[0], .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };
	int n = poll(fds, 1, QUIET_MS);

	while (!fds[0].revents) {
		if (w->b->screen && (screen_is_stopped() ||
				     (n > 0 && fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))))
			leave(w->b);
		wait_show(w);
		n = poll(fds, w->b->screen ? 2 : 1, DRAWN_MS);
	}
	return NULL;
}

void browse_wait_begin(struct browse *b, const char *what)
{
	struct browse_wait *w = xcalloc(1, sizeof(*w));

	*w = (struct browse_wait){ .b = b, .what = what, .start_ns = clock_monotonic_ns() };
	atomic_store(&b->is_unwanted, false);
	if (pipe2(w->ends, O_CLOEXEC) == 0) {
		w->has_thread = thread_start(&w->thread, wait_run, w);
		if (!w->has_thread)
			close(w->ends[0]);
	} else {
		w->ends[1] = -1;
	}
	b->wait = w;
}

bool browse_wait_end(struct browse *b)
{
	struct browse_wait *w = b->wait;

	if (w->ends[1] >= 0)
		close(w->ends[1]);
	if (w->has_thread) {
		pthread_join(w->thread, NULL);
		close(w->ends[0]);
	}
	if (w->is_shown && !b->screen)
		log_progress(NULL);
	free(w);
	b->wait = NULL;
	return !atomic_load(&b->is_unwanted);
}
