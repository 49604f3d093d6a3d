/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "counter/draft.h"
#include "counter/pmu.h"
#include "counter/sources.h"

/*
 * perf's letters. Those that are not taken are in the table too, so that the
 * refusal can say why.
 */
struct modifier {
	char letter;
	const char *refusal; /* NULL: taken */
};
static const struct modifier modifiers[] = {
	{ 'u', NULL },
	{ 'k', NULL },
	{ 'h', NULL },
	{ 'G', NULL },
	{ 'H', NULL },
	{ 'I', NULL },
	{ 'p', NULL },
	{ 'P', NULL },
	{ 'D', NULL },
	{ 'e', NULL },
	{ 'S', "samples the leader of a group alone; here each event of a group samples" },
	{ 'W', "lets a group fall apart; here it is counted at once or not at all" },
	{ 'b', "counts in BPF and takes no samples" },
	{ 'R', "asks for retire latency, which is not recorded here" },
};

static const struct modifier *modifiers_find(char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(modifiers); i++)
		if (modifiers[i].letter == letter)
			return &modifiers[i];
	return NULL;
}

bool modifiers_only(const char *word)
{
	for (const char *at = word; *at; at++)
		if (!modifiers_find(*at))
			return false;
	return *word != '\0';
}

int modifiers_check(const char *letters, const char *spec, struct error *err)
{
	for (const char *at = letters; *at; at++) {
		const struct modifier *m = modifiers_find(*at);

		if (!m)
			return error_set(
				err, -EINVAL,
				"event '%s': unknown modifier '%c'; allowed are u k h (user, "
				"kernel, hypervisor) G H (guest, host) I (not idle) p pp ppp P "
				"(precise) D (pinned) e (exclusive)",
				spec, *at);
		if (m->refusal)
			return error_set(err, -EINVAL, "event '%s': modifier '%c' %s", spec, *at,
					 m->refusal);
	}
	return 0;
}

int modifiers_apply(const char *letters, const char *spec, struct draft *d, struct error *err)
{
	bool u = strchr(letters, 'u'), k = strchr(letters, 'k'), h = strchr(letters, 'h');
	bool guest = strchr(letters, 'G'), host = strchr(letters, 'H');
	unsigned int precise = 0;
	int r = modifiers_check(letters, spec, err);

	if (r < 0)
		return r;
	for (const char *at = letters; *at; at++)
		precise += *at == 'p' ? 1 : *at == 'P' ? 3 : 0;
	if (precise > 3)
		return error_set(err, -EINVAL, "event '%s': at most ppp (or P alone)", spec);
	if (u || k || h) {
		d->has_mode = true;
		d->attr.exclude_user = !u;
		d->attr.exclude_kernel = !k;
		d->attr.exclude_hv = !h;
	}
	if (guest || host) {
		d->has_machine = true;
		d->attr.exclude_guest = !guest;
		d->attr.exclude_host = !host;
	}
	d->attr.exclude_idle |= strchr(letters, 'I') != NULL;
	d->attr.pinned |= strchr(letters, 'D') != NULL;
	d->attr.exclusive |= strchr(letters, 'e') != NULL;
	if (precise)
		d->attr.precise_ip = precise & 3;
	return 0;
}

bool attr_is_rare(const struct perf_event_attr *attr)
{
	static const uint64_t rare[] = {
		PERF_COUNT_SW_PAGE_FAULTS,      PERF_COUNT_SW_PAGE_FAULTS_MIN,
		PERF_COUNT_SW_PAGE_FAULTS_MAJ,  PERF_COUNT_SW_CPU_MIGRATIONS,
		PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS
	};

	for (size_t i = 0; attr->type == PERF_TYPE_SOFTWARE && i < ARRAY_SIZE(rare); i++)
		if (attr->config == rare[i])
			return true;
	return false;
}

bool counter_is_rare(const struct counter *c)
{
	return attr_is_rare(&c->attr) && !c->attr.freq && c->attr.sample_period == 1;
}

bool attr_is_clock(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
						    attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

/*
 * A user who may not sample the kernel gets user mode, because the kernel would refuse the rest
 * (perf_event_open(2), EACCES). The name then ends with ":u". Not if the event has no user mode.
 */
static bool falls_to_user(const struct counter_sources *sources, const struct draft *d)
{
	return !d->has_mode && !attr_in_kernel(&d->attr) && !sources_may_kernel(sources);
}

static char *counter_name(const char *name, const char *letters, bool adds_user)
{
	size_t len = strlen(name);
	bool is_pmu = len && name[len - 1] == '/'; /* cpu/event=0x3c/u: no colon */

	if (!*letters && !adds_user)
		return xstrdup(name);
	return xasprintf("%s%s%s%s", name, is_pmu ? "" : ":", letters, adds_user ? "u" : "");
}

struct counter draft_finish(const struct counter_sources *sources, const struct draft *d,
			    const char *name, const char *letters, const char *spec)
{
	struct counter c = { .attr = d->attr,
			     .unit_mask = d->unit_mask,
			     .set_config = d->set_config,
			     .is_trace = d->is_trace,
			     .event_code = d->event_code,
			     .ext = d->ext };
	bool user_only = falls_to_user(sources, d);

	assert(name && spec);
	c.attr.size = sizeof(c.attr);
	if (user_only)
		c.attr.exclude_kernel = c.attr.exclude_hv = 1;
	/* PEBS can't tell a guest's addresses from ours; without G they are not wanted anyway. */
	if (d->is_core && !d->has_machine)
		c.attr.exclude_guest = 1;
	if (attr_has_modes(&c.attr))
		c.attr.config2 |= d->filter;
	c.name = counter_name(name, letters, user_only);
	c.spec = xstrdup(spec);
	c.cpus = pmu_cpus(sources, d->pmu);
	if (d->probed) {
		c.probed = xstrdup(d->probed);
		c.attr.uprobe_path = (uintptr_t)c.probed;
	}
	c.unit = attr_is_clock(&c.attr) ? "ns" : "events";
	return c;
}
