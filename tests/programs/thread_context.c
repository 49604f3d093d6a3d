// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that publish a context of OpenTelemetry (OTEP 4947), which spin for some seconds:
 *
 *   thread_context SECONDS
 *
 * spin_first and spin_second have a trace each, and spin_none has none. The record of spin_invalid
 * is being changed, and that of spin_hostile is at an address where nothing is.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct context {
	uint8_t trace[16], span[8];
	uint8_t is_valid, reserved;
	uint16_t attributes_size;
	uint8_t attributes[64];
};

/* Not the first variable of its block, which is not of a round size. */
__thread volatile char before[41] = { 1 };
__attribute__((visibility("default"))) __thread const struct context *volatile otel_thread_ctx_v1;

static double seconds;

static void spin(void)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < seconds);
}

#define SPINNER(name)                                                     \
	static __attribute__((noinline)) void *spin_##name(void *context) \
	{                                                                 \
		otel_thread_ctx_v1 = context;                             \
		spin();                                                   \
		before[0]++;                                              \
		return NULL;                                              \
	}

SPINNER(first)
SPINNER(second)
SPINNER(none)
SPINNER(invalid)
SPINNER(hostile)

int main(int argc, char **argv)
{
	static struct context first = { .is_valid = 1 }, second = { .is_valid = 1 }, invalid;
	pthread_t threads[5];
	int n = 0;

	seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	for (uint8_t i = 0; i < 16; i++) {
		first.trace[i] = (uint8_t)(0x11 * i);
		second.trace[i] = (uint8_t)(0xff - i);
		invalid.trace[i] = 0xee;
	}
	memcpy(first.span, "\x01\x23\x45\x67\x89\xab\xcd\xef", 8);
	memcpy(second.span, "\xfe\xdc\xba\x98\x76\x54\x32\x10", 8);
	pthread_create(&threads[n++], NULL, spin_first, &first);
	pthread_create(&threads[n++], NULL, spin_second, &second);
	pthread_create(&threads[n++], NULL, spin_none, NULL);
	pthread_create(&threads[n++], NULL, spin_invalid, &invalid);
	pthread_create(&threads[n++], NULL, spin_hostile, (void *)(uintptr_t)0xdead0000);
	while (n--)
		pthread_join(threads[n], NULL);
	return 0;
}
