/* SPDX-License-Identifier: GPL-2.0-or-later */
/* op-check-perfevents: whether the processor's cycles can be counted, as an exit status. */
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "collect/perf_system.h"
#include "oprofile/tools/compat.h"

#define EXIT_CHECK_USAGE 255 /* the original's */

struct check_args {
	struct compat_args compat;
	bool help, verbose;
};

#define FIELD(f) offsetof(struct check_args, f)
static const struct option_spec check_options[] = {
	{ 'v', "verbose", NULL, OPT_FLAG, FIELD(verbose), NULL, "name the error" },
	COMPAT_HELP(check_args),
};

/* The errno of an attempt to sample cycles of this process on CPU 0; 0: it works. */
static int probe_cycles(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_type = PERF_SAMPLE_IP,
	};
	int fd = perf_system.open(perf_system.context, &attr, getpid(), 0, -1, 0);

	if (fd < 0)
		return -fd;
	perf_system.close(perf_system.context, fd);
	return 0;
}

static int op_check_perfevents_run(const struct command *self, int argc, char **argv)
{
	struct check_args args = { 0 };
	struct option_list operands = { 0 };
	int status = compat_begin(self, false, argc, argv, &args, &operands);

	if (status >= 0) {
		status = status == EXIT_OK ? EXIT_OK : EXIT_CHECK_USAGE;
	} else {
		status = probe_cycles();
		if (args.verbose)
			log_info("perf_event_open: %s", status ? strerror(status) : "it works");
	}
	option_list_fini(&operands);
	return status;
}

static const struct command_section check_sections[] = {
	{ "EXIT STATUS",
	  "The errno of perf_event_open(2): 0 if cycles can be sampled, 2 (_ENOENT_) without "
	  "counters, 13 (_EACCES_) if this user may not. 255 for wrong usage. "
	  "Without counters, *operf* and *assay* sample by the kernel's timer." },
	{ NULL, NULL },
};

static const struct command_example check_examples[] = {
	{ "op-check-perfevents -v", "whether this processor's counters can be used" },
	{ NULL },
};

const struct command op_check_perfevents_command = {
	.name = "op-check-perfevents",
	.is_program = true,
	.summary = "tell scripts whether the processor's counters work, in OProfile's way",
	.synopsis = "[-v]",
	.description =
		"OProfile's *op-check-perfevents*, for scripts. *assay doctor* explains more.",
	.options = OPTIONS(check_options),
	.sections = check_sections,
	.examples = check_examples,
	.run = op_check_perfevents_run,
};
