/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has the jitdumps of living processes read on threads; samples wait for that. */
#include <stdlib.h>

#include "base/clock.h"
#include "machine/jit_reader.h"
#include "pipeline/pipeline_state.h"

struct dump_job {
	struct file_job job;
	struct pipeline *pipeline;
	image_id unread; /* machine_read_dumps_by() */
	struct jit_reader *reader;
};

static void dump_run(struct file_job *job)
{
	jit_reader_read(((struct dump_job *)job)->reader);
}

static void dump_done(struct file_job *job)
{
	struct dump_job *j = (struct dump_job *)job;

	if (job->is_refused)
		jit_reader_refuse(j->reader, LOSS_FILE_BUDGET);
	pipeline_forget_pending(j->pipeline, j->unread);
	machine_dump_is_read(j->pipeline->machine, j->unread, take_ptr(j->reader));
}

static void dump_free(struct file_job *job)
{
	struct dump_job *j = (struct dump_job *)job;

	jit_reader_free(j->reader);
	free(j);
}

static void begin_dump(void *context, image_id unread, struct jit_reader *reader)
{
	struct pipeline *p = context;
	struct dump_job *j = xcalloc(1, sizeof(*j));

	if (reader->user == UINT32_MAX)
		reader->user = file_jobs_user(reader->proc, reader->pid);
	j->job = (struct file_job){
		.user = reader->user, .run = dump_run, .done = dump_done, .free = dump_free
	};
	j->pipeline = p;
	j->unread = unread;
	j->reader = reader;
	*pipeline_canonical(p, unread) = IMAGE_UNREAD;
	vec_push(&p->pending,
		 (struct pending_look){ .id = unread,
					.user = reader->user,
					.until_ns = clock_monotonic_ns() + LOOK_WAIT_NS });
	file_jobs_add(p->jobs, &j->job);
}

void pipeline_begin_dumps(struct pipeline *p)
{
	machine_read_dumps_by(p->machine, &(struct machine_dump_reader){ begin_dump, p });
}
