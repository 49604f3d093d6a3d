/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BOLT's pre-aggregated profile, for `perf2bolt -pa` (llvm-project, bolt/docs and
 * DataAggregator.h). Places are hexadecimal addresses as in the file's headers; X:0 is a place in
 * another image:
 *
 *   B FROM TO COUNT MISPREDICTED    branches
 *   F FROM TO COUNT                 ranges that ran without a branch taken
 *   f FROM TO COUNT                 the same, entered from another image
 *
 * A session has samples alone, for `perf2bolt -nl -pa` of LLVM 21 and newer:
 *
 *   E EVENT                         their event
 *   S ADDRESS COUNT                 samples
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "export/branches.h"
#include "export/export.h"
#include "export/leaves.h"
#include "machine/image_look.h"
#include "replay/replay.h"
#include "store/session.h"
#include "symbol/finder.h"

/* The address of an offset by the file's headers; the offset itself if no segment has it. */
static uint64_t link_addr(const struct image_look *look, uint64_t file_off)
{
	uint64_t addr = file_off;

	image_look_address(look, 0, file_off, &addr);
	return addr;
}

static void put_end(struct buf *out, const struct image_look *look, uint64_t file_off)
{
	if (file_off == NOT_HERE)
		buf_str(out, " X:0");
	else
		buf_printf(out, " %" PRIx64, link_addr(look, file_off));
}

static void put_lists(const struct branches *b, const struct image_look *look, struct sink *out)
{
	vec_foreach (&b->branches, n) {
		buf_u8(&out->buf, 'B');
		put_end(&out->buf, look, n->from);
		put_end(&out->buf, look, n->to);
		buf_printf(&out->buf, " %" PRIu64 " %" PRIu64 "\n", n->count, n->mispredicted);
		sink_step(out);
	}
	vec_foreach (&b->ranges, n) {
		buf_u8(&out->buf, n->is_from_elsewhere ? 'f' : 'F');
		put_end(&out->buf, look, n->from);
		put_end(&out->buf, look, n->to);
		buf_printf(&out->buf, " %" PRIu64 "\n", n->count);
		sink_step(out);
	}
}

/* Samples of no event have no lane of one. */
static const char *event_of(const struct profile *p)
{
	uint32_t counter = p->lanes[0].counter;

	return counter < p->session->info.n_counters ? p->session->info.counters[counter].name
						     : "cycles";
}

static void put_samples(const struct branches *b, const char *event, const struct image_look *look,
			struct sink *out)
{
	buf_printf(&out->buf, "E %.*s\n", (int)strcspn(event, ": ,"), event);
	vec_foreach (&b->addresses, n) {
		buf_printf(&out->buf, "S %" PRIx64 " %" PRIu64 "\n", link_addr(look, n->from),
			   n->count);
		sink_step(out);
	}
}

static int bolt_open(const struct export *x, const struct image *image, struct image_place *place,
		     struct file_mapping *file, struct error *err)
{
	return x->replay ? finder_open(replay_finder(x->replay), image, place, file, err)
			 : symbolizer_map_image(x->profile->symbols, image, file, NULL, err);
}

static int bolt_look(const struct export *x, const struct branches *b, struct image_look *look,
		     struct error *err)
{
	static const struct image_look_wish wish = { IMAGE_HIDDEN, LOOK_SEGMENTS, 0 };
	const struct image image = { .kind = IMAGE_FILE, .path = b->path, .build_id = b->build_id };
	struct file_mapping file = { 0 };
	struct image_place place = { 0 };
	int r = bolt_open(x, &image, &place, &file, err);

	free(place.path);
	if (r == -ESTALE)
		return error_set(err, r,
				 "%s is another build than the one that was recorded (bolt needs "
				 "the addresses in the recorded one's headers)",
				 b->path);
	if (r >= 0)
		r = image_look(&file, &wish, look, err);
	file_unmap(&file);
	return r < 0 ? error_wrap(err, r, "bolt needs the addresses in the headers of the binary")
		     : 0;
}

static int write_bolt(const struct export *x, struct sink *out, struct error *err)
{
	struct image_look look = { 0 };
	struct branches b = { 0 };
	int r = branches_of_export(x, &b, err);

	if (r >= 0)
		r = bolt_look(x, &b, &look, err);
	if (r >= 0 && x->replay)
		put_lists(&b, &look, out);
	else if (r >= 0)
		put_samples(&b, event_of(x->profile), &look, out);
	image_look_fini(&look);
	branches_fini(&b);
	return r;
}

const struct export_ops export_bolt = {
	.target = EXPORT_STREAM,
	.from_recording = true,
	.from_session = true,
	.with_places = true,
	.of_samples = true,
	.itrace = "i100usle",
	.write = write_bolt,
};
