/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/temporary.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static char name[PATH_MAX];
static volatile sig_atomic_t is_there;
static struct sigaction before[ARRAY_SIZE(signals)];

/* unlink(2) and raise(3) may be called here: signal-safety(7). */
static void on_signal(int number)
{
	if (is_there)
		unlink(name);
	is_there = false;
	signal(number, SIG_DFL);
	raise(number);
}

void temporary_begin(const char *path)
{
	struct sigaction ours = { .sa_handler = on_signal };

	if (strlen(path) >= sizeof(name))
		return;
	memcpy(name, path, strlen(path) + 1);
	is_there = true;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		if (before[i].sa_handler == SIG_DFL)
			sigaction(signals[i], &ours, NULL);
	}
}

void temporary_end(void)
{
	if (!is_there)
		return;
	is_there = false;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &before[i], NULL);
}

void temporary_follow(const char *path)
{
	if (path)
		temporary_begin(path);
	else
		temporary_end();
}
