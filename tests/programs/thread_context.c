// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads that publish a context of OpenTelemetry (OTEP 4947), which spin for some seconds:
 *
 *   thread_context SECONDS [LIBRARY]    LIBRARY: has the variable (context_variable.c)
 *
 * The process publishes the names of two attributes (OTEP 4719). spin_first has both, one of them
 * twice; spin_second has one, and an attribute without a name.
 *
 * spin_first and spin_second have a trace each, and spin_none has none. The record of spin_invalid
 * is being changed, and that of spin_hostile is at an address where nothing is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

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

static void set_own_context(const void *context)
{
	otel_thread_ctx_v1 = context;
}

static void (*set_context)(const void *context) = set_own_context;

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
		set_context(context);                                     \
		spin();                                                   \
		before[0]++;                                              \
		return NULL;                                              \
	}

SPINNER(first)
SPINNER(second)
SPINNER(none)
SPINNER(invalid)
SPINNER(hostile)

/* A message of protobuf with a field of bytes in front. */
static size_t wrap(uint8_t *message, size_t size, uint8_t number)
{
	memmove(message + 2, message, size);
	message[0] = (uint8_t)(number << 3 | 2);
	message[1] = (uint8_t)size;
	return size + 2;
}

static size_t put_text(uint8_t *out, uint8_t number, const char *text)
{
	memcpy(out, text, strlen(text));
	return wrap(out, strlen(text), number);
}

/* { key: "threadlocal.attribute_key_map", value: { array_value: names } } */
static size_t make_payload(uint8_t *out)
{
	static const char *const names[] = { "unused", "http.route", "user" };
	size_t size = 0, at = put_text(out, 1, "threadlocal.attribute_key_map");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		uint8_t *value = out + at + size;

		size += wrap(value, put_text(value, 1, names[i]), 1);
	}
	size = wrap(out + at, wrap(out + at, size, 5), 2);
	return wrap(out, at + size, 2); /* an attribute of the process */
}

static void publish_names(void)
{
	struct {
		char signature[8];
		uint32_t version, size;
		uint64_t published_ns, payload;
		uint8_t bytes[128];
	} * context;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return;
	context = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (context == MAP_FAILED)
		return;
	context->size = (uint32_t)make_payload(context->bytes);
	context->payload = (uintptr_t)context->bytes;
	context->version = 2;
	context->published_ns = 1;
	memcpy(context->signature, "OTEL_CTX", 8);
}

static void use_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *function = NULL;

	if (library)
		function = dlsym(library, "set_context");
	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(&set_context, &function, sizeof(function));
}

static void set_attributes(struct context *context, const char *bytes, size_t size)
{
	memcpy(context->attributes, bytes, size);
	context->attributes_size = (uint16_t)size;
}

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
	set_attributes(&first, "\1\4/old\2\3ann\1\6/first", 19);
	set_attributes(&second, "\1\7/second\x63\3xyz\2\xff", 16); /* the last one is cut */
	publish_names();
	if (argc > 2)
		use_library(argv[2]);
	pthread_create(&threads[n++], NULL, spin_first, &first);
	pthread_create(&threads[n++], NULL, spin_second, &second);
	pthread_create(&threads[n++], NULL, spin_none, NULL);
	pthread_create(&threads[n++], NULL, spin_invalid, &invalid);
	pthread_create(&threads[n++], NULL, spin_hostile, (void *)(uintptr_t)0xdead0000);
	while (n--)
		pthread_join(threads[n], NULL);
	return 0;
}
