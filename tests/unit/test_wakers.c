/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wakers of waits, as keys: a session has them behind the wait's own frames. */
#include <inttypes.h>

#include "store_world.h"

#include "profile/profile.h"
#include "profile/query.h"
#include "profile/rows.h"
#include "symbol/symbols.h"

enum { WAIT, WAIT_CALLER, WAKE, WAKE_CALLER, PROGRAM, IRQ, N_CODES };
static const char *const names[N_CODES] = { "wait_here", "app_main", "try_to_wake_up",
					    "sys_write", "notify",   "asm_sysvec_apic_timer" };

struct waker_world {
	struct world w;
	struct code_addr code[N_CODES], mark, owner, device;
};

/* Kernel code has no names in a session, so all images are of kinds that have. */
static struct code_addr named_code(struct waker_world *x, const char *image, enum image_kind kind,
				   uint32_t i)
{
	const struct image of = { .kind = kind, .path = image };
	struct code_addr code = { image_intern(x->w.images, &of), 0x1000 * (i + 1) };
	const struct code_symbol symbol = {
		.image = code.image, .offset = code.offset, .size = 0x100, .name = names[i]
	};

	native_store.name_code(x->w.store, &symbol);
	code.offset += 8;
	return code;
}

static void waker_world_init(struct waker_world *x)
{
	world_init(&x->w);
	for (uint32_t i = 0; i < N_CODES; i++)
		x->code[i] =
			named_code(x,
				   i == WAIT || i == WAKE || i == WAKE_CALLER || i == IRQ ? "prog"
											  : "app",
				   i == WAKE || i == WAKE_CALLER || i == IRQ ? IMAGE_BPF
									     : IMAGE_NAMED,
				   i);
	x->mark.image = image_intern(x->w.images, &(struct image){ .kind = IMAGE_NAMED,
								   .path = "[woken by] server" });
	x->owner.image =
		image_intern(x->w.images, &(struct image){ .kind = IMAGE_NAMED,
							   .path = "[lock of] worker (12)" });
	x->device.image = image_intern(x->w.images, &(struct image){ .kind = IMAGE_NAMED,
								     .path = "[I/O on] sda" });
}

static void add_wait(struct waker_world *x, const struct code_addr *waker, uint32_t n_waker,
		     uint64_t ms)
{
	struct code_addr frames[8];
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_waker; i++)
		frames[n++] = waker[i];
	if (n_waker)
		frames[n++] = x->mark;
	frames[n++] = x->code[WAIT];
	frames[n++] = x->code[WAIT_CALLER];
	add_weighted(&x->w, 100 * SECOND, 7, 0, frames, n, ms, ms * 1000000);
}

static void finish_world(struct waker_world *x, struct session **out)
{
	const struct session_end end = { .end_ns = 101 * SECOND };
	uint64_t n_unwritten;

	assert_int_equal(native_store.close(x->w.store, &end, &n_unwritten, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, out, &x->w.err), 0);
}

/* "VALUE VALUE …=SAMPLES " of each row */
static void put_rows(const struct session *s, const char *keys, const char *filter,
		     bool with_wakers, char *out, size_t size)
{
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ 0 });
	struct query q = { 0 };
	struct profile_request request = { .session = s,
					   .symbols = symbols,
					   .query = &q,
					   .with_functions = true,
					   .with_wakers = with_wakers };
	struct rows rows = { 0 };
	struct profile *p;

	assert_int_equal(key_list_parse(&request.keys, keys, NULL), 0);
	if (filter)
		assert_int_equal(query_add(&q, filter, NULL), 0);
	p = profile_load(&request);
	profile_collate(p, &request.keys, false, &rows);
	*out = '\0';
	for (uint32_t i = 0; i < rows.list.n; i++) {
		for (size_t k = 0; k < request.keys.n; k++) {
			char scratch[KEY_TEXT_SIZE];

			snprintf(out + strlen(out), size - strlen(out), "%s%s", k ? "," : "",
				 profile_key_text(p, request.keys.key[k],
						  rows.list.data[i].value[request.keys.key[k]],
						  scratch));
		}
		snprintf(out + strlen(out), size - strlen(out), "=%" PRIu64 " ",
			 rows_cells(&rows, i)->self.samples);
	}
	rows_fini(&rows);
	profile_free(p);
	query_fini(&q);
	symbolizer_free(symbols);
}

static void check_rows(const struct session *s, const char *keys, const char *filter,
		       const char *const *wanted, size_t n)
{
	char text[1024];
	size_t length = 0;

	put_rows(s, keys, filter, false, text, sizeof(text));
	for (size_t i = 0; i < n; i++) {
		if (!strstr(text, wanted[i]))
			fail_msg("no '%s' in '%s'", wanted[i], text);
		length += strlen(wanted[i]);
	}
	assert_int_equal(strlen(text), length);
}

#define check(s, keys, filter, ...)                                  \
	check_rows(s, keys, filter, (const char *[]){ __VA_ARGS__ }, \
		   sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *))

static void wakers_are_keys_and_the_wait_is_where_it_was(void **state)
{
	struct waker_world x;
	struct session *s;

	(void)state;
	waker_world_init(&x);
	/* outermost first, as they lie in a session */
	add_wait(&x, (struct code_addr[]){ x.code[PROGRAM], x.code[WAKE_CALLER], x.code[WAKE] }, 3,
		 30);
	add_wait(&x, (struct code_addr[]){ x.code[PROGRAM], x.code[IRQ], x.code[WAKE] }, 3, 20);
	add_wait(&x, (struct code_addr[]){ x.code[WAKE_CALLER], x.code[WAKE] }, 2, 5);
	add_wait(&x, NULL, 0, 10);
	finish_world(&x, &s);
	check(s, "symbol", NULL, "wait_here=65 ");
	check(s, "waker", NULL, "server=35 ", "[interrupt]=20 ", "[none]=10 ");
	check(s, "waker-symbol", NULL, "notify=30 ", "asm_sysvec_apic_timer=20 ", "sys_write=5 ",
	      "[none]=10 ");
	check(s, "waker,symbol", NULL, "server,wait_here=35 ", "[interrupt],wait_here=20 ",
	      "[none],wait_here=10 ");
	check(s, "waker-stack", NULL, "notify;sys_write;try_to_wake_up=30 ",
	      "notify;asm_sysvec_apic_timer;try_to_wake_up=20 ", "sys_write;try_to_wake_up=5 ",
	      "[none]=10 ");
	check(s, "symbol", "waker:ser*", "wait_here=35 ");
	check(s, "symbol", "waker:[[]none]", "wait_here=10 ");
	session_close(s);
	world_fini(&x.w);
}

#define add_frames(x, ms, ...)                                                                   \
	add_weighted(&(x)->w, 100 * SECOND, 7, 0, (struct code_addr[]){ __VA_ARGS__ },           \
		     sizeof((struct code_addr[]){ __VA_ARGS__ }) / sizeof(struct code_addr), ms, \
		     (ms)*1000000ULL)

/* What a wait is for lies between its waker and its own frames; a thread that still waits has no
 * waker. */
static void owners_and_devices_are_keys(void **state)
{
	struct waker_world x;
	struct session *s;

	(void)state;
	waker_world_init(&x);
	add_frames(&x, 30, x.code[PROGRAM], x.code[WAKE], x.mark, x.owner, x.code[WAIT]);
	add_frames(&x, 20, x.code[PROGRAM], x.code[IRQ], x.mark, x.device, x.code[WAIT]);
	add_frames(&x, 7, x.owner, x.code[WAIT]);
	add_wait(&x, NULL, 0, 10);
	finish_world(&x, &s);
	check(s, "symbol", NULL, "wait_here=67 ");
	check(s, "owner", NULL, "worker (12)=37 ", "[none]=30 ");
	check(s, "device", NULL, "sda=20 ", "[none]=47 ");
	check(s, "waker", NULL, "server=30 ", "[interrupt]=20 ", "[none]=17 ");
	check(s, "waker-stack", "owner:worker*", "notify;try_to_wake_up=30 ", "[none]=7 ");
	check(s, "symbol", "device:sd?", "wait_here=20 ");
	session_close(s);
	world_fini(&x.w);
}

/* A variable without a file has the name of its memory; a file that is not there has no names. */
static void accesses_are_keys_with_and_without_wakers(void **state)
{
	struct waker_world x;
	struct code_addr heap = { 0 }, gone = { .offset = 16 }, l1 = { .offset = 0x268100142 }, na;
	struct code_addr cut = { 0 };
	struct session *s;
	char text[256];

	(void)state;
	waker_world_init(&x);
	heap.image =
		image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED, .path = "[heap]" });
	gone.image = image_intern(x.w.images,
				  &(struct image){ .kind = IMAGE_FILE, .path = "/gone/lib.so" });
	l1.image = image_intern(x.w.images,
				&(struct image){ .kind = IMAGE_NAMED, .path = IMAGE_ACCESS_PATH });
	cut.image = image_intern(x.w.images,
				 &(struct image){ .kind = IMAGE_NAMED, .path = IMAGE_CUT_PATH });
	na = (struct code_addr){ l1.image, 0 };
	add_frames(&x, 30, heap, l1, x.code[WAIT], x.code[WAIT_CALLER]);
	add_frames(&x, 20, gone, na, x.code[WAIT]);
	add_frames(&x, 4, l1, x.code[WAIT]);
	add_frames(&x, 3, l1, x.code[WAIT], cut);
	add_wait(&x, NULL, 0, 10);
	finish_world(&x, &s);
	check(s, "symbol", NULL, "wait_here=67 ");
	check(s, "mem", NULL, "L1 hit=37 ", "N/A=20 ", "[none]=10 ");
	check(s, "tlb", NULL, "L1 or L2 hit=37 ", "N/A=20 ", "[none]=10 ");
	check(s, "snoop", NULL, "None=37 ", "N/A=20 ", "[none]=10 ");
	check(s, "data-symbol", NULL, "[heap]=30 ", "(no symbols)=20 ", "[none]=17 ");
	check(s, "data-image", NULL, "[heap]=30 ", "lib.so=20 ", "[none]=17 ");
	check(s, "symbol", "mem:L1*", "wait_here=37 ");
	check(s, "symbol", "data-image:lib.so", "wait_here=20 ");
	put_rows(s, "symbol", NULL, true, text, sizeof(text));
	assert_string_equal(text, "wait_here=67 ");
	session_close(s);
	world_fini(&x.w);
}

static void with_wakers_they_are_below_the_wait(void **state)
{
	struct waker_world x;
	struct session *s;
	char text[256];

	(void)state;
	waker_world_init(&x);
	add_wait(&x, (struct code_addr[]){ x.code[PROGRAM], x.code[WAKE] }, 2, 30);
	add_wait(&x, NULL, 0, 10);
	finish_world(&x, &s);
	put_rows(s, "symbol", NULL, true, text, sizeof(text));
	assert_non_null(strstr(text, "notify=30 "));
	assert_non_null(strstr(text, "wait_here=10 "));
	session_close(s);
	world_fini(&x.w);
}

/* Nothing but the mark, a mark as the outermost frame, two marks. */
static void marks_at_odd_places_are_no_harm(void **state)
{
	struct waker_world x;
	struct session *s;
	struct code_addr two[4], access;

	(void)state;
	waker_world_init(&x);
	access.image = image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED,
								 .path = IMAGE_ACCESS_PATH });
	access.offset = UINT64_MAX;
	add_weighted(&x.w, 100 * SECOND, 7, 0, &x.mark, 1, 1, 1000000);
	add_weighted(&x.w, 100 * SECOND, 7, 0, &access, 1, 1, 1000000);
	two[0] = two[2] = x.mark;
	two[1] = x.code[WAKE];
	two[3] = x.code[WAIT];
	add_weighted(&x.w, 100 * SECOND, 7, 0, two, 4, 2, 2000000);
	/* a wait's mark inside of an access, and the other way round */
	add_frames(&x, 4, x.code[WAKE], x.mark, access, x.code[WAIT]);
	add_frames(&x, 8, x.code[WAKE], access, access, x.owner, x.code[WAIT]);
	finish_world(&x, &s);
	/* a wait without a frame is no sample of a function */
	check(s, "waker", NULL, "server=2 ", "[none]=12 ");
	check(s, "owner", NULL, "worker (12)=8 ", "[none]=6 ");
	check(s, "symbol", NULL, "wait_here=14 ");
	session_close(s);
	world_fini(&x.w);
}

static uint64_t all_periods(const struct session *s)
{
	struct query q = { 0 };
	const struct profile_request request = { .session = s, .query = &q };
	struct profile *p = profile_load(&request);
	uint64_t period = p->lanes[0].total.period;

	profile_free(p);
	return period;
}

static uint64_t sum_of_latencies(const struct session *s)
{
	struct query q = { 0 };
	const struct profile_request request = { .session = s,
						 .query = &q,
						 .latency_weight = true };
	struct profile *p = profile_load(&request);
	uint64_t period = p->lanes[0].total.period;

	assert_false(p->lacks_latency);
	profile_free(p);
	return period;
}

static void latencies_are_summed_and_their_marks_cut_off(void **state)
{
	struct waker_world x;
	struct code_addr heap = { 0 }, access = { .offset = 0x268100142 },
			 latency = { .offset = 7 };
	struct session *s;

	(void)state;
	waker_world_init(&x);
	heap.image =
		image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED, .path = "[heap]" });
	access.image = image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED,
								 .path = IMAGE_ACCESS_PATH });
	latency.image = image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED,
								  .path = IMAGE_LATENCY_PATH });
	add_frames(&x, 30, latency, heap, access, x.code[WAIT], x.code[WAIT_CALLER]);
	latency.offset = 1000;
	add_frames(&x, 2, latency, access, x.code[WAIT]);
	add_frames(&x, 3, latency, x.code[WAIT]); /* without an access */
	add_frames(&x, 5, heap, access, x.code[WAIT]);
	add_wait(&x, NULL, 0, 10);
	finish_world(&x, &s);
	assert_int_equal(sum_of_latencies(s), 30 * 7 + 5 * 1000);
	assert_int_equal(all_periods(s), 50 * 1000000);
	check(s, "symbol", NULL, "wait_here=50 ");
	check(s, "mem", NULL, "L1 hit=37 ", "[none]=13 ");
	check(s, "data-symbol", NULL, "[heap]=35 ", "[none]=15 ");
	session_close(s);
	world_fini(&x.w);
}

/* A mark of a latency alone, below a wait's, and one whose sum is beyond 64 bits. */
static void latencies_at_odd_places_are_no_harm(void **state)
{
	struct waker_world x;
	struct code_addr latency = { .offset = UINT64_MAX };
	struct session *s;

	(void)state;
	waker_world_init(&x);
	latency.image = image_intern(x.w.images, &(struct image){ .kind = IMAGE_NAMED,
								  .path = IMAGE_LATENCY_PATH });
	add_frames(&x, 3, latency, x.code[WAIT]);
	add_weighted(&x.w, 100 * SECOND, 7, 0, &latency, 1, 1, 1000000);
	add_frames(&x, 4, x.code[WAKE], latency, x.mark, x.code[WAIT]);
	add_frames(&x, 5, latency, latency, x.code[WAIT]);
	finish_world(&x, &s);
	check(s, "symbol", NULL, "wait_here=12 ");
	check(s, "mem", NULL, "[none]=12 ");
	session_close(s);
	world_fini(&x.w);
}

/* 10^9 waits of four seconds in each of two rows: the sums are beyond 32 and 53 bits. */
static void a_thousand_million_waits_add_up(void **state)
{
	struct waker_world x = { 0 };
	struct session *s;
	char got[1024];

	(void)state;
	waker_world_init(&x);
	for (uint64_t second = 100; second < 102; second++)
		add_weighted(&x.w, second * SECOND, 7, 0, &x.code[WAIT], 1, 4000000000000,
			     4000000000000000000);
	finish_world(&x, &s);
	put_rows(s, "symbol", NULL, true, got, sizeof(got));
	assert_string_equal(got, "wait_here=8000000000000 ");
	assert_int_equal(all_periods(s), 8000000000000000000);
	session_close(s);
	world_fini(&x.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wakers_are_keys_and_the_wait_is_where_it_was),
		cmocka_unit_test(owners_and_devices_are_keys),
		cmocka_unit_test(accesses_are_keys_with_and_without_wakers),
		cmocka_unit_test(with_wakers_they_are_below_the_wait),
		cmocka_unit_test(marks_at_odd_places_are_no_harm),
		cmocka_unit_test(latencies_are_summed_and_their_marks_cut_off),
		cmocka_unit_test(latencies_at_odd_places_are_no_harm),
		cmocka_unit_test(a_thousand_million_waits_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
