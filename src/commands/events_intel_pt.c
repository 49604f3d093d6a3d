/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/events_intel_pt.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "counter/intel_pt.h"
#include "counter/intel_pt_caps.h"
#include "counter/probe.h"
#include "report/header.h"

bool is_intel_pt_itself(const char *name)
{
	size_t n = strlen(INTEL_PT);

	return !strncmp(name, INTEL_PT, n) && !name[n + strspn(name + n, "/")];
}

static void print_cap(void *context, const struct intel_pt_cap *cap)
{
	fprintf(context, "  %-3s  %-36s %s\n", cap->has ? "yes" : "no", cap->title, cap->text);
}

static void print_text(const struct counter_sources *sources, const struct finding *f, FILE *out)
{
	fprintf(out,
		"intel_pt (Intel Processor Trace: every branch that is taken, with its time)\n");
	if (intel_pt_is_there(sources)) {
		fprintf(out, "  yes  %-36s %s\n", "time stamps", "always: tsc");
		fprintf(out, "  yes  %-36s %s\n", "uncompressed returns", "always: noretcomp");
	}
	intel_pt_each_cap(sources, print_cap, out);
	if (f->state == PROBE_MISSING)
		fprintf(out, "in the way: %s\n", f->text);
	else
		fprintf(out, "record it: assay record -e intel_pt//u -- COMMAND; assay trace "
			     "--on-symbol "
			     "FUNCTION -- COMMAND\n");
	if (*f->meaning)
		fprintf(out, "%s\n", f->meaning);
	if (*f->command)
		fprintf(out, "$ %s\n", f->command);
}

static void add_cap(void *context, const struct intel_pt_cap *cap)
{
	json_array_append_new(context, json_pack("{s:s, s:s, s:b, s:s}", "cap", cap->key, "title",
						 cap->title, "has", cap->has, "text", cap->text));
}

static void print_json(const struct counter_sources *sources, const struct finding *f, FILE *out)
{
	json_t *caps = json_array(), *top;

	intel_pt_each_cap(sources, add_cap, caps);
	top = json_pack("{s:s, s:b, s:s, s:s, s:o, s:o, s:o}", "pmu", INTEL_PT, "can_be_recorded",
			f->state != PROBE_MISSING, "state", probe_state_keys[f->state], "meaning",
			f->meaning, "finding", json_text(f->text), "command", json_text(f->command),
			"caps", caps);
	json_dumpf(top, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	fputc('\n', out);
	json_decref(top);
}

int explain_intel_pt(const struct counter_sources *sources, bool as_json, FILE *out,
		     struct error *err)
{
	struct probe_machine machine;
	struct finding f = { 0 };

	probe_machine_init(&machine, sources);
	probe_intel_pt(&machine, &f);
	(as_json ? print_json : print_text)(sources, &f, out);
	return f.state == PROBE_MISSING
		       ? error_set(err, -ENODEV, INTEL_PT " can't be recorded here: %s", f.text)
		       : 0;
}
