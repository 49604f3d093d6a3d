/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter/intel_pt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "counter/pmu.h"
#include "counter/sources.h"

#define USUAL_PERIOD 3         /* of PSBs and MTCs, where the processor has it */
#define CPUINFO_MAX  (1 << 20) /* of one processor is enough */

/* Terms that name one of some values; a bit of `values` for each that is valid, 0 always is. */
static const struct {
	const char *term, *values, *needs;
} choices[] = {
	{ "cyc_thresh", "caps/cycle_thresholds", "caps/psb_cyc" },
	{ "mtc_period", "caps/mtc_periods", "caps/mtc" },
	{ "psb_period", "caps/psb_periods", "caps/psb_cyc" },
};

/* Terms that switch something on that not every processor has. */
static const struct {
	const char *term, *needs, *what;
} switches[] = {
	{ "mtc", "caps/mtc", "MTC packets" },
	{ "cyc", "caps/psb_cyc", "CYC packets" },
	{ "ptw", "caps/ptwrite", "PTWRITE packets" },
	{ "fup_on_ptw", "caps/ptwrite", "PTWRITE packets" },
	{ "pwr_evt", "caps/power_event_trace", "power events" },
	{ "event", "caps/event_trace", "event trace" },
	{ "notnt", "caps/tnt_disable", "a way to leave out TNT packets" },
};

static bool cap(const struct counter_sources *sources, const char *file, uint64_t *out)
{
	return pmu_file_number(sources, INTEL_PT, file, 16, out);
}

/* A file that is not there is of a kernel that knows no such limit. */
static bool lacks(const struct counter_sources *sources, const char *file)
{
	uint64_t v = 1;

	return cap(sources, file, &v) && !v;
}

uint64_t intel_pt_bits(const struct counter_sources *sources, const char *term)
{
	return pmu_format_bits(sources, INTEL_PT, term);
}

static void set_term(const struct counter_sources *sources, const char *term, uint64_t value,
		     struct perf_event_attr *attr)
{
	uint64_t bits = intel_pt_bits(sources, term);

	if (bits)
		attr->config = (attr->config & ~bits) | ((value << __builtin_ctzll(bits)) & bits);
}

/* The usual value, or the nearest lower one that is valid. */
static uint64_t nearest_lower(uint64_t valid)
{
	uint64_t below = (valid | 1) & ((2ULL << USUAL_PERIOD) - 1);

	return 63 - (uint64_t)__builtin_clzll(below);
}

void intel_pt_defaults(const struct counter_sources *sources, struct perf_event_attr *attr)
{
	uint64_t mtcs = 0, psbs = 0;

	set_term(sources, "tsc", 1, attr);
	if (!lacks(sources, "caps/mtc") && cap(sources, "caps/mtc_periods", &mtcs) && mtcs) {
		set_term(sources, "mtc", 1, attr);
		set_term(sources, "mtc_period", nearest_lower(mtcs), attr);
		if (!lacks(sources, "caps/psb_cyc") && cap(sources, "caps/psb_periods", &psbs) &&
		    psbs)
			set_term(sources, "psb_period", nearest_lower(psbs), attr);
	}
	if (intel_pt_bits(sources, "pt") && intel_pt_bits(sources, "branch")) {
		set_term(sources, "pt", 1, attr);
		set_term(sources, "branch", 1, attr);
	}
}

/* 0x3f → "0-5", 0x249 → "0,3,6,9" */
static void intel_pt_put_values(struct buf *out, uint64_t valid)
{
	for (unsigned int i = 0; i < 64; i++) {
		unsigned int last = i;

		if (!(valid >> i & 1))
			continue;
		while (last < 63 && valid >> (last + 1) & 1)
			last++;
		buf_printf(out, "%s%u", out->len ? "," : "", i);
		if (last > i)
			buf_printf(out, "-%u", last);
		i = last;
	}
}

static int check_choice(const struct counter_sources *sources, size_t i, uint64_t config,
			struct error *err)
{
	uint64_t bits = intel_pt_bits(sources, choices[i].term), valid = 0, value;
	struct buf values = { 0 };
	int r;

	if (!bits)
		return 0;
	if (!cap(sources, choices[i].values, &valid) || lacks(sources, choices[i].needs))
		valid = 0;
	valid |= 1;
	value = (config & bits) >> __builtin_ctzll(bits);
	if (value < 64 && valid >> value & 1)
		return 0;
	intel_pt_put_values(&values, valid);
	r = error_set(err, -EINVAL, "Invalid %s for " INTEL_PT ". Valid values are: %s",
		      choices[i].term, buf_cstr(&values));
	buf_fini(&values);
	return r;
}

int intel_pt_check(const struct counter_sources *sources, const char *spec, struct draft *d,
		   struct error *err)
{
	int r = 0;

	/* With it `branch` means something; kernels before had branches always. */
	set_term(sources, "pt", 1, &d->attr);
	for (size_t i = 0; i < ARRAY_SIZE(switches) && !r; i++)
		if (d->attr.config & intel_pt_bits(sources, switches[i].term) &&
		    lacks(sources, switches[i].needs))
			r = error_set(err, -EOPNOTSUPP,
				      "event '%s': the Intel PT of this processor has no %s (%s is "
				      "0): leave '%s' out",
				      spec, switches[i].what, switches[i].needs, switches[i].term);
	for (size_t i = 0; i < ARRAY_SIZE(choices) && !r; i++)
		r = check_choice(sources, i, d->attr.config, err);
	/* There are no samples of it; the period that perf gives says nothing. */
	d->is_trace = true;
	d->has_freq = false;
	d->has_count = true;
	d->count = 1;
	return r;
}

static const struct {
	const char *letters, *reason;
} refusals[] = {
	{ "hGH", "is for virtualization, which Intel PT does not support" },
	{ "pP", "makes samples precise, and Intel PT takes none" },
	{ "IDe", "is for events that count" },
};

int intel_pt_modifiers(const char *letters, const char *spec, struct error *err)
{
	for (const char *at = letters; *at; at++)
		for (size_t i = 0; i < ARRAY_SIZE(refusals); i++)
			if (strchr(refusals[i].letters, *at))
				return error_set(err, -EINVAL,
						 "event '%s': modifier '%c' %s; u (user) and k "
						 "(kernel) mean something to it",
						 spec, *at, refusals[i].reason);
	return 0;
}

/* Does a line of /proc/cpuinfo that begins with `key` have the word? */
static bool intel_pt_has_word(const char *text, const char *key, const char *word)
{
	const char *line = strstr(text, key);
	size_t len = line ? strcspn(line, "\n") : 0, n = strlen(word);

	for (const char *at = line; at && (at = strstr(at, word)) && at + n <= line + len; at += n)
		if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\n' || !at[n]))
			return true;
	return false;
}

void intel_pt_absence(const struct counter_sources *sources, struct buf *out)
{
	char *path = xasprintf("%s/cpuinfo", sources_proc(sources)), *text = NULL;
	size_t size;

	if (file_read_all(path, CPUINFO_MAX, &text, &size) < 0)
		text = xstrdup("");
	free(path);
	if (intel_pt_has_word(text, "flags", INTEL_PT))
		buf_str(out,
			"the processor has Intel PT, but the kernel's driver did not start: the "
			"BIOS "
			"may have switched it off or taken it, or the kernel is built without it; "
			"'dmesg' may say more");
	else if (intel_pt_has_word(text, "flags", "hypervisor"))
		buf_str(out,
			"this is a virtual machine, and its hypervisor does not pass Intel PT on "
			"(KVM "
			"can: kvm_intel.pt_mode=1 and '-cpu host'); record on the host, or on a "
			"physical machine");
	else if (*text && strstr(text, "vendor_id") &&
		 !intel_pt_has_word(text, "vendor_id", "GenuineIntel"))
		buf_str(out, "this processor is not Intel's, and has none; 'assay record' without "
			     "-e samples it");
	else
		buf_str(out, "this processor has none (Intel's have, from Core M and the 5th "
			     "generation of Core on), or the BIOS has switched it off");
	free(text);
}

void intel_pt_for_samples(const struct counter_sources *sources, struct counter *c)
{
	if (!(c->set_config & intel_pt_bits(sources, "psb_period")))
		set_term(sources, "psb_period", 0, &c->attr);
}

uint64_t intel_pt_psb_bytes(const struct counter_sources *sources, const struct counter *c)
{
	uint64_t bits = intel_pt_bits(sources, "psb_period");

	return bits ? 2048ULL << ((c->attr.config & bits) >> __builtin_ctzll(bits)) : 0;
}
