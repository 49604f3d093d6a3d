/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/retain_blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/opening.h"
#include "open/input.h"
#include "store/history/blocks.h"

struct blocks {
	const struct retain_blocks_args *args;
	struct block_config config;
	uint32_t n_made;
	struct block_sums sums; /* of those made */
};

static int make_block(struct blocks *b, const char *part, const char *part_name, uint64_t bucket,
		      struct error *err)
{
	char name[HISTORY_NAME_SIZE];
	cleanup(free_at_exit) char *to = NULL, *hidden = NULL;
	struct block_sums sums;
	int r;

	block_name(bucket, part_name, name);
	to = xasprintf("%s/%s", b->args->output, name);
	hidden = xasprintf("%s/.merge-%s", b->args->output, name);
	r = part_block(part, bucket, &b->config, hidden, &sums, err);
	if (r >= 0 && rename(hidden, to) < 0)
		r = error_errno(err, -errno, "cannot rename %s", hidden);
	if (r < 0)
		return r;
	b->n_made++;
	b->sums.samples += sums.samples;
	b->sums.cut += sums.cut;
	b->sums.lost += sums.lost;
	b->sums.bytes += sums.bytes;
	return 0;
}

static int blocks_of_part(struct blocks *b, const char *dir, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *part = xasprintf("%s/%s", dir, name);
	struct block_buckets buckets = { 0 };
	struct error why = { 0 };
	int r = part_buckets(part, b->config.bucket_ns, &buckets, &why);

	if (r < 0) {
		log_warning("a part is left out: %s", why.text);
		r = 0;
	}
	for (size_t i = 0; i < buckets.n && r >= 0; i++)
		r = make_block(b, part, name, buckets.data[i].start_ns, err);
	vec_fini(&buckets);
	return r;
}

static void print_blocks(const struct blocks *b)
{
	log_info("%" PRIu32 " block%s made", b->n_made, plural_s(b->n_made));
	if (b->n_made)
		log_info("%" PRIu64 " sample%s, %" PRIu64 " lost, in %" PRIu64
			 " bytes: %.2f bytes a sample",
			 b->sums.samples, plural_s(b->sums.samples), b->sums.lost, b->sums.bytes,
			 (double)b->sums.bytes / (double)MAX(b->sums.samples, (uint64_t)1));
	if (b->sums.cut)
		log_info("%" PRIu64 " sample%s of rare stacks %s in [other]", b->sums.cut,
			 plural_s(b->sums.cut), plural(b->sums.cut, "is", "are"));
}

static int sync_output(const char *output, struct error *err)
{
	cleanup(close_at_exit) int fd = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return error_errno(err, -errno, "cannot write %s to the disk", output);
	return 0;
}

/*
 * A new directory: after the history was merged, its blocks have other names, so they would be
 * there twice.
 */
static int make_output(const char *output, struct error *err)
{
	if (mkdir(output, 0777) == 0)
		return 0;
	if (errno == EEXIST)
		return error_set(err, -EEXIST, "%s is there already: name a new directory", output);
	return error_errno(err, -errno, "cannot make %s", output);
}

int retain_blocks(const struct retain_blocks_args *args, struct error *err)
{
	struct blocks b = { .args = args, .config = { .bucket_ns = BLOCK_BUCKET_NS } };
	cleanup(free_at_exit) char *dir = history_dir(args->path);
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct history_names names = { 0 };
	int r = input_new(&opening_config, &in, err);

	if (r >= 0 && !dir)
		r = error_set(err, -ENOENT, "%s is no history: there are no parts in it",
			      args->path);
	if (r >= 0)
		r = make_output(args->output, err);
	if (r >= 0)
		r = history_list(dir, &names);
	b.config.symbols = r < 0 ? NULL : input_symbolizer(in, args->path, NULL);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		r = blocks_of_part(&b, dir, names.data[i], err);
	r = r < 0 ? r : sync_output(args->output, err);
	if (r >= 0 && !args->quiet)
		print_blocks(&b);
	symbolizer_free(b.config.symbols);
	history_names_fini(&names);
	return r;
}
