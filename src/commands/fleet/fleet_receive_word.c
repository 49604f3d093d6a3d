/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay fleet receive: carries out one request of a host, with the body in standard input. `assay
 * serve --fleet` runs it, after it has checked the token. The answer is a line with the status of
 * HTTP, and then JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_receive.h"
#include "fleet/fleet_store.h"
#include "guard/parser.h"

/* Memory of the process that reads the bytes of a host. */
#define PARSER_BYTES ((uint64_t)512 << 20)

/* What to do, and how many operands it has: KIND FLEET HOST BOOT … */
static const struct receive_kind {
	const char *name;
	size_t n_operands;
	void (*run)(const struct receive_request *q, struct receive_answer *out);
} kinds[] = {
	{ "block", 7, receive_block }, /* PART SECONDS ENCODING */
	{ "containers", 4, receive_containers }, { "host", 4, receive_host },
	{ "images", 4, receive_images },         { "join", 4, receive_join },
	{ "leaves", 7, receive_leaves }, /* as a block */
	{ "names", 6, receive_names },   /* BUILDID ENCODING */
};

static const struct receive_kind *find_kind(const struct option_list *operands)
{
	for (size_t i = 0; operands->n && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, operands->data[0]) && kinds[i].n_operands == operands->n)
			return &kinds[i];
	return NULL;
}

static bool parse_bucket(const char *text, uint64_t *bucket)
{
	size_t n = strspn(text, "0123456789");

	if (!n || n > 10 || text[n])
		return false;
	*bucket = strtoull(text, NULL, 10) * NS_PER_SECOND;
	return true;
}

static int print_answer(const struct receive_answer *a, struct error *err)
{
	struct buf out = { 0 };
	int r;

	buf_printf(&out, "%u\n", a->status);
	buf_bytes(&out, a->json.data, a->json.len);
	r = output_whole("-", out.data, out.len, err);
	buf_fini(&out);
	return r;
}

int fleet_receive_run(const struct fleet_args *args, const struct option_list *operands,
		      struct error *err)
{
	const struct receive_kind *kind = find_kind(operands);
	struct receive_answer answer = { 0 };
	struct receive_request q = { 0 };
	struct file_mapping body = { 0 };
	int r = 0;

	(void)args;
	if (!kind)
		return error_set(err, -EINVAL,
				 "receive: write block (or leaves) FLEET HOST BOOT PART SECONDS "
				 "zstd|identity, "
				 "or names FLEET HOST BOOT BUILDID zstd|identity; also containers, "
				 "host, images and join with FLEET HOST BOOT");
	q.fleet = operands->data[1];
	q.host = operands->data[2];
	q.boot = operands->data[3];
	if (kind->run == receive_names) {
		q.is_packed = !strcmp(operands->data[5], "zstd");
		if (!build_id_parse(operands->data[4], &q.build) || !q.build.len)
			return error_set(err, -EINVAL, "receive: '%s' is no build id",
					 operands->data[4]);
	}
	if (kind->run == receive_block || kind->run == receive_leaves) {
		q.part = operands->data[4];
		q.is_packed = !strcmp(operands->data[6], "zstd");
		if (!parse_bucket(operands->data[5], &q.bucket))
			return error_set(err, -EINVAL, "receive: '%s' is no time of a block",
					 operands->data[5]);
	}
	r = fleet_require(q.fleet, err);
	if (r < 0)
		return r;
	/* One process reads the bytes, and has no rights. This one keeps the block. */
	parser_use_children(PARSER_BYTES);
	r = file_hold_fd(dup(STDIN_FILENO), "the body", &body, err);
	r = r < 0 ? r : file_map_held(&body, "the body", err);
	if (r >= 0) {
		q.body = &body;
		kind->run(&q, &answer);
		r = print_answer(&answer, err);
	}
	receive_answer_fini(&answer);
	file_unmap(&body);
	return r < 0 ? r : EXIT_OK;
}
