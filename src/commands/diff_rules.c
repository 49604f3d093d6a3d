/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_rules.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"

static bool is_other_machine(const struct session_info *a, const struct session_info *b)
{
	return strcmp(a->cpu_model, b->cpu_model) != 0 || strcmp(a->arch, b->arch) != 0 ||
	       a->n_cpus != b->n_cpus;
}

int diff_check_machines(const struct diff_setup *s, const struct diff_source *old,
			struct error *err)
{
	const struct session_info *a = &old->session->info, *b = &s->sides[DIFF_NEW].session->info;

	if (!is_other_machine(a, b) || s->args.any_machine)
		return 0;
	for (size_t i = 0; i < s->n_rules; i++)
		if (gate_rule_is_absolute(&s->rules[i]))
			return error_set(err, -ENOTSUP,
					 "--fail-if '%s': %s is of another machine than %s (%s "
					 "with %u CPUs, %s with %u). Write a rule for points of "
					 "share, or add --any-machine",
					 s->rules[i].text, diff_source_name(old),
					 diff_source_name(&s->sides[DIFF_NEW]), a->cpu_model,
					 a->n_cpus, b->cpu_model, b->n_cpus);
	log_warning("diff: %s and %s are of different machines: their CPU times do not compare",
		    diff_source_name(old), diff_source_name(&s->sides[DIFF_NEW]));
	return 0;
}

int diff_check_units(const struct diff_setup *s, bool counts_time, const char *event,
		     struct error *err)
{
	for (size_t i = 0; i < s->n_rules; i++)
		if (s->rules[i].unit == GATE_SECONDS && !counts_time)
			return error_set(err, -ENOTSUP,
					 "--fail-if '%s': the event %s counts no time; write a "
					 "rule in percent, or choose another event with event:",
					 s->rules[i].text, event);
	return 0;
}

static void log_findings(const struct gate_result *r, bool counts_time)
{
	vec_foreach (&r->findings, f) {
		struct buf text = { 0 };

		gate_finding_print(&text, r->rule, f, counts_time);
		if (f->is_significant)
			log_error("diff: --fail-if '%s': %s", r->rule->text, buf_cstr(&text));
		else if (strcmp(r->rule->glob ? r->rule->glob : "", "*") != 0)
			log_warning("diff: --fail-if '%s': %s", r->rule->text, buf_cstr(&text));
		buf_fini(&text);
	}
	if (r->verdict == GATE_UNMATCHED)
		log_error("diff: --fail-if '%s': no function of either side has such a name",
			  r->rule->text);
}

void diff_check_rules(struct diff_setup *s, const struct gate_input *in, int *status)
{
	s->results = xcalloc(s->n_rules + 1, sizeof(*s->results));
	for (size_t i = 0; i < s->n_rules; i++) {
		gate_check(in, &s->rules[i], &s->results[i]);
		log_findings(&s->results[i], in->counts_time);
		if (s->results[i].verdict == GATE_UNMATCHED)
			*status = EXIT_USAGE;
		else if (s->results[i].verdict == GATE_BROKEN && *status == EXIT_OK)
			*status = EXIT_FAILED;
	}
}
