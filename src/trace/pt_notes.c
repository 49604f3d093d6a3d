/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about a trace's code that could not be read, and about the cost of that. */
#include <inttypes.h>

#include "trace/pt_modules.h"
#include "trace/pt_trace.h"
#include "trace/pt_view.h"

static bool is_of_code(const struct pt_event *e)
{
	return e->error.reason == PT_ERR_NO_CODE || e->error.reason == PT_ERR_MISMATCH ||
	       e->error.reason == PT_ERR_LOOP;
}

void pt_trace_count_error(struct pt_trace *t, const struct pt_span *span, const struct pt_event *e)
{
	const struct address_space *maps = queue_given_maps(t, span->queue);
	const struct pt_module *module;
	const struct mapping *m;

	if (!is_of_code(e) || !maps)
		return;
	if (span->is_guest) {
		t->guest_errors += e->error.ip >> 63;
		t->guest_user_errors += !(e->error.ip >> 63);
		return;
	}
	if (e->error.ip >> 63) {
		module = pt_history_module(&t->history, e->error.ip);
		if (module)
			t->module_errors[module - t->history.modules.data]++;
		else
			t->kernel_errors++;
		return;
	}
	m = address_space_find(maps, e->error.ip);
	if (m)
		pt_images_count_error(t->images, m->image);
}

static void note_module(const struct pt_trace *t, size_t i,
			void (*note)(void *context, const char *sentence), void *context)
{
	cleanup(free_at_exit) char *text = pt_modules_note(t->modules, i), *errors = NULL;

	if (text)
		note(context, text);
	if (!t->module_errors[i])
		return;
	errors = xasprintf("%" PRIu64 " errors in the code of the kernel's module %s: only a copy "
			   "of /proc/kcore has all of it as it ran (perf record --kcore)",
			   t->module_errors[i], t->history.modules.data[i].name);
	note(context, errors);
}

static void note_doubts(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
			void *context)
{
	cleanup(free_at_exit) char *text = NULL;
	struct pt_flow_stats stats;

	pt_trace_stats(t, &stats);
	if (!stats.doubtful_insns)
		return;
	text = xasprintf("%" PRIu64 " of %" PRIu64 " instructions are not verified (%.3g %%): they "
			 "come between the PSB before an error and the PSB behind it, and some of "
			 "them may not have run",
			 stats.doubtful_insns, stats.insns,
			 100 * (double)stats.doubtful_insns / (double)stats.insns);
	note(context, text);
}

static void note_steps(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
		       void *context)
{
	cleanup(free_at_exit) char *text =
		xasprintf("the processor's clock (TSC) goes back in the trace (%" PRIu64 " times): "
			  "behind each place, times go on from the time before it, and do not fit "
			  "those of other events",
			  t->n_steps);

	if (t->n_steps)
		note(context, text);
}

static void note_guests(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
			void *context)
{
	bool has_code = pt_images_have_guest_code(t->images);
	const struct {
		uint64_t n;
		const char *text;
	} errors[] = {
		{ t->guest_errors, "in the code of guests' kernels" },
		{ t->guest_user_errors,
		  has_code ? "in the code that guests run in user mode"
			   : "in programs of guests: a trace of the host has no mappings of "
			     "them. If they are code of the process that runs the guest, use "
			     "--guest-code" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		cleanup(free_at_exit) char *text =
			xasprintf("%" PRIu64 " errors %s", errors[i].n, errors[i].text);

		if (errors[i].n)
			note(context, text);
	}
}

void pt_trace_notes(const struct pt_trace *t, void (*note)(void *context, const char *sentence),
		    void *context)
{
	pt_images_notes(t->images, note, context);
	if (t->info.lacks_tnt)
		note(context, "the trace has no directions of branches (notnt), so only the places "
			      "that it tells itself are decoded, as with --itrace=q");
	note_doubts(t, note, context);
	note_steps(t, note, context);
	note_guests(t, note, context);
	for (size_t i = 0; i < t->history.modules.n; i++)
		note_module(t, i, note, context);
	if (t->kernel_errors && pt_images_find_built_kernel(t->images)) {
		cleanup(free_at_exit) char *text =
			xasprintf("%" PRIu64 " errors in the kernel's code: it comes from vmlinux, "
				  "as it was built. Later "
				  "patches by the kernel (alternatives, static calls, ftrace) are "
				  "only in a copy "
				  "of /proc/kcore (perf record --kcore)",
				  t->kernel_errors);

		note(context, text);
	}
}
