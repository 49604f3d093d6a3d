/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/event_tap.h"

#include <inttypes.h>

#include "oprofile/fs/event_buffer.h"
#include "perfdata/record.h"

/* A sample of a store may stand for many; the stream repeats it. */
#define MAX_REPEATS 1024

struct event_tap {
	struct sample_tap tap;
	struct event_buffer *buffer;
	struct machine *machine;
	uint32_t depth;
	uint64_t cookie_base;   /* cookies of images of machines before */
	struct buf old_cookies; /* their lines */
	struct event_tap_counts counts;
	VEC(uint32_t) modules;        /* images of modules that samples were in */
	struct estream_place *places; /* depth + 1 */
};

static bool event_tap_has_file(const struct image *image)
{
	return image->kind == IMAGE_FILE || image->kind == IMAGE_VDSO ||
	       (image->kind == IMAGE_JIT && image->path[0] == '/');
}

/*
 * The kernel does not report the modules that it loads. So a reader gets a module at its first
 * sample, when the address is needed.
 */
static void meet_module(struct event_tap *t, image_id module)
{
	vec_foreach (&t->modules, met)
		if (*met == module.n)
			return;
	vec_push(&t->modules, module.n);
	event_buffer_put_modules(t->buffer);
}

/* False: the place has no address or cookie. */
static bool event_tap_place_of(struct event_tap *t, struct code_addr code,
			       struct estream_place *out)
{
	const struct image *image = image_get(machine_images(t->machine), code.image);
	uint64_t base;

	switch (image->kind) {
	case IMAGE_KERNEL:
	case IMAGE_MODULE:
	case IMAGE_BPF:
		if (!machine_kernel_base(t->machine, code.image, &base))
			return false;
		if (image->kind == IMAGE_MODULE)
			meet_module(t, code.image);
		*out = (struct estream_place){ .is_kernel = true, .offset = base + code.offset };
		return true;
	case IMAGE_FILE:
	case IMAGE_VDSO:
	case IMAGE_JIT:
		*out = (struct estream_place){
			.cookie = event_tap_has_file(image) ? t->cookie_base + code.image.n
							    : COOKIE_ANONYMOUS,
			.offset = code.offset,
		};
		return true;
	default:
		return false;
	}
}

static uint32_t find_places(struct event_tap *t, const struct sample *s)
{
	uint32_t n = 0;

	while (n < s->n_frames && n <= t->depth &&
	       event_tap_place_of(t, s->frames[n], &t->places[n]))
		n++;
	return n;
}

/* The application's cookie. As in OProfile, kernel threads and unknown applications have none. */
static uint64_t app_cookie(const struct event_tap *t, image_id app)
{
	return event_tap_has_file(image_get(machine_images(t->machine), app))
		       ? t->cookie_base + app.n
		       : COOKIE_ANONYMOUS;
}

static void see(void *context, const struct sample *s)
{
	struct event_tap *t = context;
	struct estream_sample out = { .cpu = s->class.cpu,
				      .tid = s->class.tid,
				      .tgid = s->class.pid,
				      .counter = s->class.counter,
				      .is_traced = t->depth > 0 };
	uint64_t n = MIN(s->samples, (uint64_t)MAX_REPEATS);

	if (!t->machine)
		return;
	out.n_places = find_places(t, s);
	if (!out.n_places) {
		t->counts.lost_no_mapping += s->samples;
		return;
	}
	out.places = t->places;
	out.app = app_cookie(t, s->class.app);
	t->counts.lost_overflow += s->samples - n;
	for (uint64_t i = 0; i < n; i++)
		t->counts.lost_overflow += !event_buffer_put(t->buffer, &out);
}

struct event_tap *event_tap_new(struct event_buffer *buffer, uint32_t backtrace_depth)
{
	struct event_tap *t = xcalloc(1, sizeof(*t));

	t->tap = (struct sample_tap){ see, t };
	t->buffer = buffer;
	t->depth = MIN(backtrace_depth, (uint32_t)RECORD_MAX_CALLERS);
	t->places = xcalloc(t->depth + 1, sizeof(*t->places));
	return t;
}

void event_tap_free(struct event_tap *t)
{
	if (!t)
		return;
	buf_fini(&t->old_cookies);
	vec_fini(&t->modules);
	free(t->places);
	free(t);
}

const struct sample_tap *event_tap_samples(const struct event_tap *t)
{
	return &t->tap;
}

static void event_tap_put_path(struct buf *out, const char *path)
{
	for (; *path; path++)
		if ((unsigned char)*path < ' ' || *path == '\\')
			buf_printf(out, "\\%03o", (unsigned char)*path);
		else
			buf_u8(out, (uint8_t)*path);
}

static void put_cookies(const struct event_tap *t, struct buf *out)
{
	const struct image_table *images = machine_images(t->machine);

	for (uint32_t i = 0; i < image_count(images); i++) {
		const struct image *image = image_get(images, (image_id){ i });

		if (!event_tap_has_file(image))
			continue;
		buf_printf(out, "%" PRIu64 " ", t->cookie_base + i);
		event_tap_put_path(out, image->path);
		buf_u8(out, '\n');
	}
}

void event_tap_cookies(const struct event_tap *t, struct buf *out)
{
	buf_bytes(out, t->old_cookies.data, t->old_cookies.len);
	if (t->machine)
		put_cookies(t, out);
}

void event_tap_set_machine(struct event_tap *t, struct machine *machine)
{
	if (t->machine == machine)
		return;
	if (t->machine) {
		put_cookies(t, &t->old_cookies);
		t->cookie_base += image_count(machine_images(t->machine));
		t->modules.n = 0;
	}
	t->machine = machine;
}

struct event_tap_counts event_tap_counts(const struct event_tap *t)
{
	return t->counts;
}
