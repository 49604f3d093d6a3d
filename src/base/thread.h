/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread of a library's own, beside those of the program. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that receives no signals except SIGBUS, which a read of the thread itself may
 * raise (base/files/cut_guard.h). False: the system has no thread left.
 */
bool thread_start(pthread_t *out, void *(*run)(void *), void *arg);

/* Gives up a high priority that the calling thread inherited; other threads keep theirs. */
void thread_be_ordinary(void);
