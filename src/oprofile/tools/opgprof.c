/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opgprof: a profile of one image for gprof, done by `assay export --format gmon`. */
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "export/export.h"
#include "oprofile/oprofile.h"
#include "oprofile/tools/postproc.h"

struct opgprof_args {
	struct postproc_args post;
	const char *output;
};

#define FIELD(f) offsetof(struct opgprof_args, f)
static const struct option_spec opgprof_options[] = {
	{ 'o', "output-filename", "FILE", OPT_STRING, FIELD(output), "gmon.out",
	  "the file to write" },
	POSTPROC_THRESHOLD(opgprof_args),
	POSTPROC_OPTIONS(opgprof_args),
};

/* gprof's format has one program: refuses more than one image with samples. */
static int check_one(const struct profile *p, struct error *err)
{
	struct buf names = { 0 };
	uint32_t n = 0;
	int r = 0;

	vec_foreach (&p->images, image)
		if (image->samples && !image->is_merged && image->image->kind == IMAGE_FILE)
			buf_printf(&names, "%s%s", n++ ? ", " : "", image->image->path);
	if (n != 1)
		r = error_set(err, -EINVAL,
			      n ? "samples are in %" PRIu32
				  " images; choose one with image:, of %.500s"
				: "samples are in %" PRIu32 " executable files%s",
			      n, buf_cstr(&names));
	else if (p->n_lanes != 1)
		r = error_set(err, -EINVAL,
			      "samples are of %" PRIu32 " events; choose one with event:",
			      p->n_lanes);
	buf_fini(&names);
	return r;
}

static int opgprof_load(struct postproc *pp, const struct opgprof_args *a,
			const struct option_list *specs, struct error *err)
{
	struct postproc_args post = a->post;
	const struct export_format *gmon = export_find("gmon");
	int r = -ENOENT;

	/* The program alone if it has samples; a library by itself is a dependent. */
	for (int with_dependents = 0; with_dependents < 2 && r == -ENOENT; with_dependents++) {
		struct profile_request request = { 0 };
		uint32_t merge = MERGE_ALL & ~(uint32_t)MERGE_LIB;

		postproc_fini(pp);
		post.no_dependents = !with_dependents;
		export_request(gmon, &request);
		request.with_functions = true;
		r = postproc_load(pp, &post, specs->data, specs->n, merge, &request, err);
	}
	return r < 0 ? r : check_one(pp->profile, err);
}

static int opgprof_run(const struct command *self, int argc, char **argv)
{
	const struct export_options options = { .on_temporary = oprofile_commands.on_temporary };
	struct opgprof_args args = { 0 };
	struct option_list operands = { 0 };
	struct postproc pp = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		uint64_t n_bytes;
		int r;

		postproc_tell_obsolete(&args.post);
		r = opgprof_load(&pp, &args, &operands, &err);
		if (r >= 0)
			r = export_write(export_find("gmon"), &options, pp.profile, args.output,
					 &n_bytes, &err);
		if (r < 0)
			log_error("%s", err.text);
		status = r < 0 || pp.is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	postproc_fini(&pp);
	option_list_fini(&operands);
	return status;
}

static const struct command_example opgprof_examples[] = {
	{ "opgprof image:./app && gprof ./app",
	  "the flat profile, and calls where there are stacks" },
	{ NULL },
};

static const struct command_section opgprof_sections[] = {
	{ "EXIT STATUS", "0; 1 where there is not exactly one image and event, on failure, and for "
			 "wrong usage." },
	{ NULL },
};

const struct command opgprof_command = {
	.name = "opgprof",
	.is_program = true,
	.summary = "write a profile for gprof, in OProfile's way",
	.synopsis = "[OPTIONS] [SPECIFICATION…]",
	.description =
		"OProfile's *opgprof*: writes the samples of one image as _gmon.out_. It uses "
		"*assay export*.",
	.options = OPTIONS(opgprof_options),
	.sections = opgprof_sections,
	.examples = opgprof_examples,
	.run = opgprof_run,
};
