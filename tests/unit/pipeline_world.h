/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipeline whose store writes down its calls, and whose processes' files are in a folder. */
#pragma once

#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "event/text.h"
#include "pipeline/pipeline.h"

/* A store that writes down its calls. */
struct store {
	const struct image_table *images;
	const struct strings *strings;
	struct buf text;
	uint64_t losses[N_LOSS_REASONS];
	bool is_disk_full;
};

static struct store kept;

static int noting_open(const char *dir, const struct session_info *info,
		       const struct image_table *images, const struct strings *strings,
		       struct store **out, struct error *err)
{
	(void)dir, (void)info, (void)err;
	kept.images = images;
	kept.strings = strings;
	*out = &kept;
	return 0;
}

static int noting_add(struct store *s, const struct sample *sample, struct error *err)
{
	(void)err;
	buf_printf(&s->text, "%s %s", strings_get(s->strings, sample->class.comm),
		   image_get(s->images, sample->class.app)->path);
	for (uint32_t i = 0; i < sample->n_frames; i++)
		buf_printf(&s->text, " %s+%lx", image_get(s->images, sample->frames[i].image)->path,
			   sample->frames[i].offset);
	buf_str(&s->text, "\n");
	return 0;
}

static void noting_lose(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)counter;
	s->losses[reason] += n;
}

static void noting_name_code(struct store *s, const struct code_symbol *symbol)
{
	buf_printf(&s->text, "code %s+%lx %s\n", image_get(s->images, symbol->image)->path,
		   symbol->offset, symbol->name);
}

static int noting_flush(struct store *s, uint64_t until_ns, struct error *err)
{
	buf_printf(&s->text, "flush %lu\n", until_ns / 1000000000);
	return s->is_disk_full ? error_set(err, -ENOSPC, "no space") : 0;
}

static int noting_close(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			struct error *err)
{
	(void)end, (void)err;
	*n_unwritten = s->is_disk_full;
	return 0;
}

static const struct store_ops noting_store = {
	.name = "noting",
	.open = noting_open,
	.add = noting_add,
	.lose = noting_lose,
	.name_code = noting_name_code,
	.flush = noting_flush,
	.close = noting_close,
};

struct fixture {
	struct machine *machine;
	struct pipeline *pipeline;
	char root[64];
};

static struct fixture fx;

static int setup(void **state)
{
	static const struct session_info info = { .start_ns = 500000000 };
	struct pipeline_config c = { .ops = &noting_store, .info = &info, .dir = "" };
	struct machine_config m;
	char proc[80];

	(void)state;
	strcpy(fx.root, "pipeline-XXXXXX");
	if (!mkdtemp(fx.root))
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", fx.root);
	m = (struct machine_config){ proc, fx.root };
	kept = (struct store){ 0 };
	fx.machine = machine_new(&m);
	c.machine = fx.machine;
	c.proc = proc;
	fx.pipeline = pipeline_open(&c, NULL);
	return fx.pipeline ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	if (fx.pipeline)
		pipeline_close(fx.pipeline, NULL, NULL, NULL);
	machine_free(fx.machine);
	buf_fini(&kept.text);
	return file_remove_tree(fx.root, NULL);
}

/* Until no sample waits for the look at a file. */
static void wait_for_looks(void)
{
	for (; pipeline_is_looking(fx.pipeline); usleep(100))
		pipeline_take_looks(fx.pipeline);
}

static void push(const char *text)
{
	struct error err = { 0 };

	if (event_parse_text(text, pipeline_sink(fx.pipeline), &err) < 0)
		fail_msg("%s", err.text);
}

static void given(const char *text)
{
	push(text);
	wait_for_looks();
}

static void put(const char *name, const void *bytes, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fx.root, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(file_mkdirs(path, 0777, NULL), 0);
	path[strlen(path)] = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	fclose(f);
}

#define APP                                                                  \
	"0.6 cpu0 41/41 comm exec name=\"app\"\n"                            \
	"0.6 cpu0 41/41 mmap start=0x1000 size=0x1000 off=0 path=\"/app\"\n" \
	"0.6 cpu0 41/41 mmap start=0x8000 size=0x1000 off=0 path=\"//anon\"\n"
