/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/ship_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "cli/command.h"
#include "commands/ship_post.h"
#include "fleet/fleet_store.h"
#include "fleet/kubelet.h"
#include "fleet/ship.h"
#include "machine/container_names.h"

int ship_parse_labels(const struct option_list *labels, struct buf *out, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < labels->n; i++) {
		cleanup(free_at_exit) char *list = xstrdup(labels->data[i]);
		char *rest = list, *label;

		while ((label = strsep(&rest, ","))) {
			if (!fleet_label_is_valid(label))
				return error_set(err, -EINVAL,
						 "--labels '%.80s': write NAME=VALUE, of %d bytes "
						 "at most",
						 label, FLEET_LABEL_BYTES_MAX);
			if (++n > FLEET_LABELS_MAX)
				return error_set(err, -EINVAL, "--labels: a host has %d at most",
						 FLEET_LABELS_MAX);
			buf_printf(out, "%s\n", label);
		}
	}
	return 0;
}

void ship_parse_leaves(const struct option_list *leaves, struct buf *out)
{
	for (size_t i = 0; i < leaves->n; i++) {
		cleanup(free_at_exit) char *list = xstrdup(leaves->data[i]);
		char *rest = list, *service;

		while ((service = strsep(&rest, ",")))
			buf_printf(out, "%s\n", service);
	}
}

int ship_parse_drop(const struct option_list *drop, struct ship_config *config, struct error *err)
{
	const struct {
		const char *word;
		bool *is_dropped;
	} words[] = { { "comm", &config->without_comm }, { "cgroup", &config->without_cgroup } };

	for (size_t i = 0; i < drop->n; i++) {
		cleanup(free_at_exit) char *list = xstrdup(drop->data[i]);
		char *rest = list, *word;

		while ((word = strsep(&rest, ","))) {
			size_t w = 0;

			while (w < ARRAY_SIZE(words) && strcmp(words[w].word, word) != 0)
				w++;
			if (w == ARRAY_SIZE(words))
				return error_set(err, -EINVAL, "--drop '%s': write comm or cgroup",
						 word);
			*words[w].is_dropped = true;
		}
	}
	return 0;
}

int ship_check_host(const char *host, struct error *err)
{
	if (strcmp(host, FLEET_PUSHED_HOST) != 0)
		return 0;
	return error_set(err, -EINVAL,
			 "'%s' is the name of the host with the profiles that programs push: "
			 "choose another one (--host)",
			 host);
}

int ship_check_words(const char *to, const struct option_list *leaves,
		     const struct option_list *labels, struct error *err)
{
	const char *word = leaves->n ? "--leaves" : labels->n ? "--labels" : NULL;

	return word && ship_post_takes(to)
		       ? error_set(err, -EINVAL, "%s is for a fleet: dir:PATH or https://HOST",
				   word)
		       : 0;
}

void ship_print_round(const struct ship_result *r, bool quiet)
{
	if (r->n_sent && !quiet)
		log_info("%" PRIu32 " block%s sent: %" PRIu64 " sample%s, %" PRIu64
			 " lost, %" PRIu64 " bytes",
			 r->n_sent, plural_s(r->n_sent), r->samples, plural_s(r->samples), r->lost,
			 r->bytes);
	if (r->expired)
		log_warning("%" PRIu64 " sample%s cannot be sent: the history's retention removed "
			    "%s, or merged %s with others that had been sent",
			    r->expired, plural_s(r->expired), plural(r->expired, "it", "them"),
			    plural(r->expired, "it", "them"));
}

/* Who records writes each second. */
#define SILENT_NS (120 * NS_PER_SECOND)

/* Samples that wait, and from when on they go. */
static void print_waiting(const struct ship_growing *g, uint64_t now_ns)
{
	char ready[FLEET_TIME_SIZE], written[FLEET_TIME_SIZE], over[FLEET_TIME_SIZE];

	fleet_time_text(g->ready_ns, ready);
	fleet_time_text(g->written_ns, written);
	fleet_time_text(g->over_ns, over);
	if (g->written_ns + SILENT_NS < now_ns)
		log_info("nothing to send yet: %" PRIu64 " sample%s wait%s, and nobody wrote to "
			 "the history since %s, as if no daemon ran; if none does, they go from "
			 "%s on",
			 g->samples, plural_s(g->samples), plural(g->samples, "s", ""), written,
			 over);
	else if (g->ready_ns > now_ns)
		log_info("nothing to send yet: %" PRIu64 " sample%s wait%s until their ten minutes "
			 "are over; they go from %s on",
			 g->samples, plural_s(g->samples), plural(g->samples, "s", ""), ready);
	else
		log_info("nothing to send yet: %" PRIu64
			 " sample%s wait%s; %s when the history has "
			 "the next ones",
			 g->samples, plural_s(g->samples), plural(g->samples, "s", ""),
			 plural(g->samples, "it goes", "they go"));
}

void ship_print_nothing(const struct ship_result *r, uint64_t now_ns)
{
	const struct ship_growing *g = &r->growing;
	char written[FLEET_TIME_SIZE];

	fleet_time_text(g->written_ns, written);
	if (g->samples)
		print_waiting(g, now_ns);
	else if (r->n_covered)
		log_info("nothing to send: %" PRIu32 " block%s of the history %s sent before, and "
			 "the samples of %" PRIu32 " went with others or expired",
			 r->n_known, plural_s(r->n_known), plural(r->n_known, "was", "were"),
			 r->n_covered);
	else if (r->n_known)
		log_info("nothing to send: %s%" PRIu32 " block%s of the history %s sent before",
			 plural(r->n_known, "the ", "all "), r->n_known, plural_s(r->n_known),
			 plural(r->n_known, "was", "were"));
	else if (g->n_parts && g->written_ns + SILENT_NS < now_ns)
		log_info("nothing to send: the history has no samples, and nobody wrote to it "
			 "since %s, as if no daemon ran",
			 written);
	else
		log_info("nothing to send: the history has no samples yet");
}

/* Blocks do not wait for the kubelet. */
static void ask_kubelet(void *context, struct buf *lines)
{
	struct error err = { 0 };

	int r = kubelet_ask(context, lines, &err);

	if (r < 0 && r != -EINTR)
		log_warning("names of pods are not asked for: %s", err.text);
}

int ship_open_kubelet(const struct kubelet_config *kubelet, struct ship_config *config,
		      struct kubelet **out, struct error *err)
{
	int r;

	if (!kubelet->url && (kubelet->token_file || kubelet->ca))
		return error_set(err, -EINVAL, "name the kubelet, too: --kubelet URL");
	if (!kubelet->url)
		return 0;
	r = kubelet_new(kubelet, out, err);
	config->more_containers = ask_kubelet;
	config->more_context = *out;
	return r;
}

/* What a fleet knows of a host, to another one that is made. */
int ship_copy_host(const char *from, const char *to, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *keys = xasprintf("%s/%s/.keys", from, name);
	cleanup(free_at_exit) char *own = xasprintf("%s/%s/.keys", to, name);
	cleanup(free_at_exit) char *containers = fleet_containers_file(from, name);
	cleanup(free_at_exit) char *copy = fleet_containers_file(to, name);
	cleanup(free_at_exit) char *known = NULL, *names = NULL;
	struct fleet_host *host = NULL;
	size_t size = 0;
	int r = fleet_make(to, err);

	r = r < 0 ? r : fleet_host_open(to, name, &host, err);
	fleet_host_close(host);
	if (r >= 0 && file_read_all(keys, UINT32_MAX, &known, &size) == 0)
		r = file_replace(own, known, size, err);
	if (r >= 0 && file_read_all(containers, CONTAINER_TEXT_MAX, &names, &size) == 0)
		r = file_replace(copy, names, size, err);
	return r;
}
