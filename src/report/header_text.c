/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "profile/missing_labels.h"
#include "report/header_facts.h"
#include "report/names.h"
#include "report/style.h"
#include "store/session_join.h"

/* From so many rare notes on, they share a line. Rare: less than this share of the samples. */
#define RARE_NOTES 4
#define RARE_SHARE 0.005

struct printer {
	const struct report *r;
	const struct text_style *style;
	FILE *out;
	struct buf text; /* of the line at hand */
};

/* How the command ended, if it was not well. */
static void put_exit(struct buf *text, const struct session *s)
{
	int status = s->end.exit_status;

	if (!s->has_end || status == -1)
		return;
	if (WIFSIGNALED(status))
		buf_printf(text, "; killed by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		buf_printf(text, "; exit status %d", WEXITSTATUS(status));
}

/* Prints the gathered text behind its label, and begins anew. */
static void end_styled_line(struct printer *pr, const char *label, enum text_style_id style)
{
	struct buf clean = { 0 };

	utf8_append_visible(&clean, buf_cstr(&pr->text));
	fprintf(pr->out, "%s%-9s%s %s\n", style_code(pr->style, style), label,
		style_code(pr->style, STYLE_NONE), buf_cstr(&clean));
	buf_fini(&clean);
	pr->text.len = 0;
}

static void header_end_line(struct printer *pr, const char *label)
{
	end_styled_line(pr, label, STYLE_DIM);
}

/* A session whose description is damaged knows no rates. */
static void put_rate(struct buf *text, const struct counter_info *c)
{
	if (c->freq_hz)
		buf_printf(text, ", %" PRIu64 " samples a second", c->freq_hz);
	else if (c->count)
		buf_printf(text, ", a sample every %" PRIu64 " %s", c->count, c->unit);
	if (c->in_user || c->in_kernel)
		buf_printf(text, ", %s%s%s", c->in_user ? "user" : "",
			   c->in_user && c->in_kernel ? " and " : "", c->in_kernel ? "kernel" : "");
	if (c->in_user != c->in_kernel)
		buf_str(text, " only");
}

static void header_print_events(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	for (uint32_t i = 0; i < info->n_counters; i++) {
		buf_str(&pr->text, info->counters[i].name);
		put_rate(&pr->text, &info->counters[i]);
		header_end_line(pr, i ? "" : "event");
	}
}

static void print_target(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	/* A compiler's command line may fill a page: two lines are enough, --wide has all. */
	name_append_cut(&pr->text, info->command, 2 * (size_t)pr->style->width,
			text_ellipsis(pr->style));
	if (*info->target && strcmp(info->target, "command"))
		buf_printf(&pr->text, *info->command ? " (%s)" : "%s", info->target);
	put_exit(&pr->text, pr->r->profile->session);
	if (pr->text.len)
		header_end_line(pr, *info->command ? "command" : "target");
}

/* Of a fleet, how much of it the answer covers. */
static void print_hosts(struct printer *pr)
{
	const struct session *s = pr->r->profile->session;

	buf_printf(&pr->text, "%" PRIu32 " of %" PRIu32 " have samples here", s->n_hosts,
		   s->n_hosts_asked);
	header_end_line(pr, "hosts");
}

static void header_print_machine(struct printer *pr)
{
	const struct session_info *info = &pr->r->profile->session->info;

	if (pr->r->profile->session->n_hosts_asked) {
		print_hosts(pr);
		return;
	}
	if (!*info->hostname && !*info->os_release)
		return;
	buf_printf(&pr->text, "%s, %s, %" PRIu32 " CPU%s, %s %s", info->hostname,
		   *info->cpu_model ? info->cpu_model : "unknown processor", info->n_cpus,
		   info->n_cpus == 1 ? "" : "s", info->os_release, info->arch);
	header_end_line(pr, "machine");
}

/* Of a daemon that runs, an hour that is over needs no end. */
static void put_missing_end(struct buf *text, const struct session *s)
{
	uint64_t now_ns = clock_wall_ns();

	if (!s->is_live)
		buf_str(text, "; no end: the recorder was killed, or still runs");
	else if (!s->has_window || s->window.to_ns >= now_ns)
		buf_str(text, "; still runs");
}

/* Of a processor trace there often are some milliseconds. */
static void header_put_duration(struct buf *text, double seconds)
{
	if (seconds > 0 && seconds < 0.1)
		buf_printf(text, ", %.3f ms", seconds * 1000);
	else
		buf_printf(text, ", %.1f s", seconds);
}

/* Of less than a second, exact times are of interest. */
static void header_put_shown(struct buf *text, const struct profile *p)
{
	int digits = p->last_ns - p->first_ns < NS_PER_SECOND ? 6 : 1;

	buf_printf(text, "; shown: %.*f to %.*f s", digits,
		   header_seconds_since_start(p->session, p->first_ns), digits,
		   header_seconds_since_start(p->session, p->last_ns));
}

static void header_print_time(struct printer *pr)
{
	const struct profile *p = pr->r->profile;

	if (p->session->info.start_wall_ns) {
		header_put_start(&pr->text, p->session, "%Y-%m-%d %H:%M:%S");
		header_put_duration(&pr->text, header_duration_seconds(p->session));
	} else {
		buf_str(&pr->text, "not known");
	}
	if (query_has(pr->r->query, FILTER_TIME))
		header_put_shown(&pr->text, p);
	if (!p->session->has_end)
		put_missing_end(&pr->text, p->session);
	header_end_line(pr, "time");
}

/* "a minute", "an hour": a merged history's blocks. */
static void put_block_length(struct buf *text, uint64_t block_ns)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 86400000000000, "a day" },
		      { 3600000000000, "an hour" },
		      { 60000000000, "a minute" } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (block_ns == units[i].ns) {
			buf_str(text, units[i].name);
			return;
		}
	buf_printf(text, "%.0f s", MAX((double)block_ns / 1e9, 1.0));
}

/*
 * The wanted window and the shown window. They differ because blocks count as a whole
 * (store/history/history.h).
 */
static void print_window(struct printer *pr)
{
	const struct profile *p = pr->r->profile;
	const struct session *s = p->session;

	if (!s->has_window)
		return;
	time_window_print(&pr->text, &s->window);
	buf_str(&pr->text, "; samples are of ");
	time_point_print(&pr->text, session_wall_ns(&s->info, p->first_ns));
	buf_str(&pr->text, " to ");
	time_point_print(&pr->text, session_wall_ns(&s->info, p->last_ns));
	if (s->block_ns > NS_PER_SECOND) {
		buf_str(&pr->text, ", in blocks of up to ");
		put_block_length(&pr->text, s->block_ns);
		buf_str(&pr->text, ": one counts if its middle is in the window");
	}
	header_end_line(pr, "window");
}

static void print_samples(struct printer *pr)
{
	const struct profile *p = pr->r->profile;

	buf_printf(&pr->text, "%" PRIu64, p->n_selected);
	if (p->n_selected != p->n_stored)
		buf_printf(&pr->text, " of %" PRIu64, p->n_stored);
	if (p->n_idle)
		buf_printf(&pr->text, "; %" PRIu64 " idle, not shown (--idle)", p->n_idle);
	if (p->n_filtered) {
		buf_printf(&pr->text, "; %" PRIu64 " left out by ", p->n_filtered);
		header_put_filters(&pr->text, pr->r->query);
	}
	if (pr->r->query->frames != FRAMES_BOTH)
		buf_printf(&pr->text, "; %s frames alone",
			   shown_frames_words[pr->r->query->frames]);
	header_end_line(pr, "samples");
}

/*
 * A stack that is worse than it could be, in few of the samples. Notes that count processes, files
 * or missing samples never are: one of these can explain a whole report.
 */
static bool is_rare_note(const struct profile *p, int reason)
{
	const char stacks[] = "stacks ";

	return p->losses[reason] && loss_texts[reason].kind == LOSS_NOTE &&
	       !strncmp(loss_texts[reason].text, stacks, strlen(stacks)) &&
	       (double)p->losses[reason] < RARE_SHARE * (double)p->n_stored;
}

static void print_loss(struct printer *pr, int reason, uint64_t n_lost)
{
	static const char *const labels[] = { "lost", "unknown", "note" };
	const struct profile *p = pr->r->profile;
	enum loss_kind kind = loss_texts[reason].kind;

	buf_printf(&pr->text, "%" PRIu64, p->losses[reason]);
	if (kind == LOSS_LOST)
		buf_printf(&pr->text, " (%.2f %%)",
			   100.0 * (double)p->losses[reason] / (double)(p->n_stored + n_lost));
	buf_printf(&pr->text, ": %s", loss_texts[reason].text);
	end_styled_line(pr, labels[kind], kind == LOSS_LOST ? STYLE_HOT : STYLE_DIM);
}

static void header_print_losses(struct printer *pr)
{
	const struct profile *p = pr->r->profile;
	uint64_t n_lost = losses_of_kind(p->losses, LOSS_LOST), n_rare = 0;
	int rare_notes = 0;

	if (!n_lost) {
		buf_str(&pr->text, "0");
		header_end_line(pr, "lost");
	}
	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (is_rare_note(p, i)) {
			n_rare += p->losses[i];
			rare_notes++;
		}
	for (int i = 0; i < N_LOSS_REASONS; i++)
		if (p->losses[i] && (rare_notes < RARE_NOTES || !is_rare_note(p, i)))
			print_loss(pr, i, n_lost);
	if (rare_notes < RARE_NOTES)
		return;
	buf_printf(
		&pr->text,
		"%" PRIu64
		": stacks that are cut or lack frames, by %d rarer reasons (assay info lists them)",
		n_rare, rare_notes);
	header_end_line(pr, "note");
}

static void put_image_share(struct printer *pr, struct buf *names,
			    const struct profile_image *image)
{
	buf_printf(names, "%s%s (%.0f %%)", names->len ? ", " : "", image->name,
		   100.0 * (double)image->samples / (double)pr->r->profile->n_selected);
}

/* Code that runtimes made and did not name: a line for each runtime. */
static void print_unnamed_jit(struct printer *pr, const struct named_images *list)
{
	const char *last = NULL;

	for (size_t i = 0; i < list->n; i++) {
		const char *text = header_unnamed_jit(pr->r, list->image[i]);
		struct buf names = { 0 };

		for (size_t j = i; text && text != last && j < list->n; j++)
			if (header_unnamed_jit(pr->r, list->image[j]) == text)
				put_image_share(pr, &names, list->image[j]);
		if (names.len) {
			buf_printf(&pr->text, "%s: %s", buf_cstr(&names), text);
			header_end_line(pr, "symbols");
			last = text;
		}
		buf_fini(&names);
	}
}

/* The images that lack the same thing: one has its own sentence, several share a line. */
static void print_incomplete(struct printer *pr, const struct named_images *list,
			     enum symbol_status status)
{
	struct buf names = { 0 };
	const char *detail = "";
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct profile_image *image = list->image[i];

		if (symbol_table_status(image->table) != status || header_unnamed_jit(pr->r, image))
			continue;
		detail = symbol_table_detail(image->table);
		put_image_share(pr, &names, image);
		n++;
	}
	if (n == 1)
		buf_str(&pr->text, detail);
	else
		buf_printf(&pr->text, "%s: %s", symbol_status_texts[status], buf_cstr(&names));
	if (n)
		header_end_line(pr, "symbols");
	pr->text.len = 0;
	buf_fini(&names);
}

static void print_notes(struct printer *pr)
{
	const struct session *s = pr->r->profile->session;
	const struct named_images list = header_incomplete_images(pr->r, header_missing_symbols);
	const struct named_images without_lines =
		header_incomplete_images(pr->r, header_missing_lines);

	if (*s->info.note) {
		buf_str(&pr->text, s->info.note);
		header_end_line(pr, "note");
	}
	put_missing_labels(s, &pr->r->keys, pr->r->query, &pr->text);
	if (pr->text.len)
		header_end_line(pr, "labels");
	vec_foreach (&s->warnings, w) {
		buf_str(&pr->text, *w);
		end_styled_line(pr, "warning", STYLE_HOT);
	}
	for (int status = 0; status < N_SYMBOL_STATUSES; status++)
		print_incomplete(pr, &list, (enum symbol_status)status);
	print_unnamed_jit(pr, &list);
	for (size_t i = 0; i < without_lines.n; i++) {
		buf_str(&pr->text, header_missing_lines(pr->r, without_lines.image[i]));
		header_end_line(pr, "lines");
	}
}

void header_print(const struct report *r, const struct text_style *style, FILE *out)
{
	struct printer pr = { .r = r, .style = style, .out = out };

	print_target(&pr);
	header_print_events(&pr);
	header_print_machine(&pr);
	header_print_time(&pr);
	print_window(&pr);
	print_samples(&pr);
	header_print_losses(&pr);
	print_notes(&pr);
	buf_fini(&pr.text);
	fputc('\n', out);
}
