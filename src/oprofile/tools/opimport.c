/* SPDX-License-Identifier: GPL-2.0-or-later */
/* opimport: one sample file of another machine's layout as one of this machine's. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "oprofile/store/append.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/tools/compat.h"

struct opimport_args {
	struct compat_args compat;
	const char *abi, *output;
	bool force;
};

#define FIELD(f) offsetof(struct opimport_args, f)
static const struct option_spec opimport_options[] = {
	{ 'a', "abi", "FILE", OPT_STRING, FIELD(abi), NULL,
	  "the abi file, which describes the other machine's layout" },
	{ 'o', "output", "FILE", OPT_STRING, FIELD(output), NULL, "the file to write" },
	{ 'f', "force", NULL, OPT_FLAG, FIELD(force), NULL,
	  "convert although the layouts are the same" },
	COMPAT_OPTIONS(opimport_args, 0),
	COMPAT_HELP(opimport_args),
};

static const struct compat_obsolete obsolete[] = { COMPAT_VERBOSE(opimport_args), { 0 } };

static int opimport_read_abi(const struct opimport_args *a, struct sample_file_abi *out,
			     struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	struct buf own = { 0 };
	size_t size;
	int r = file_read_all(a->abi, 1 << 16, &text, &size);

	if (r < 0)
		return error_errno(err, r, "%s", a->abi);
	r = sample_file_abi_parse(text, out, err);
	if (r < 0)
		return error_wrap(err, r, "%s", a->abi);
	sample_file_abi_write(&own);
	if (!a->force && !strcmp(text, buf_cstr(&own)))
		r = error_set(
			err, -EEXIST,
			"%s has this machine's own layout already; -f converts it all the same",
			a->abi);
	buf_fini(&own);
	return r;
}

static int convert(const struct opimport_args *a, const struct option_list *operands,
		   struct error *err)
{
	struct sample_file_abi abi;
	struct sample_file_view view;
	struct file_mapping map = { 0 };
	int r;

	if (!a->abi || !a->output || operands->n != 1)
		return error_set(err, -EINVAL, "give --abi, --output and one sample file");
	if (access(a->output, F_OK) == 0)
		return error_set(err, -EEXIST, "%s is there already", a->output);
	r = opimport_read_abi(a, &abi, err);
	r = r < 0 ? r : file_map(operands->data[0], &map, err);
	if (r < 0)
		return r;
	r = sample_file_parse(map.base, map.size, &abi, &view, err);
	r = r < 0 ? error_wrap(err, r, "%s", operands->data[0])
		  : oprofile_add_counts(&view, a->output, err);
	file_unmap(&map);
	return r;
}

static int opimport_run(const struct command *self, int argc, char **argv)
{
	struct opimport_args args = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status < 0) {
		compat_tell_obsolete(obsolete, &args);
		status = EXIT_OK;
		if (convert(&args, &operands, &err) < 0) {
			log_error("%s", err.text);
			status = EXIT_FAILED;
		}
	}
	option_list_fini(&operands);
	return status;
}

static const struct command_example opimport_examples[] = {
	{ "opimport -a abi -o out CPU_CLK_UNHALTED.100000.0.all.all.all", "one file" },
	{ "assay import /mnt/oprofile_data -o there.assay", "a whole session, of whatever layout" },
	{ NULL },
};

const struct command opimport_command = {
	.name = "opimport",
	.is_program = true,
	.summary = "convert a sample file of another machine, in OProfile's way",
	.synopsis = "-a FILE -o FILE [-f] FILE",
	.description =
		"OProfile's *opimport*, for scripts: every command of assay reads sessions of "
		"other machines as they are.",
	.options = OPTIONS(opimport_options),
	.examples = opimport_examples,
	.run = opimport_run,
};
