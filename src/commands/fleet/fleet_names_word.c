/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay fleet names: finds names of functions that no host could send. The fleet gets the indexes
 * of debug files that this machine has, or that servers of debuginfod send. Reports have them at
 * once, and ClickHouse after the next `load`.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_names.h"
#include "fleet/fleet_open.h"
#include "store/history/history.h"
#include "store/session.h"
#include "symbol/cache.h"
#include "symbol/debuginfod.h"
#include "symbol/symbols.h"

#define LIMIT_S 3600 /* of all requests to servers */

/* The sender of these indexes. No host has such a name. */
#define SENDER "(assay fleet names)"

struct names_word {
	const char *fleet;
	char *cache; /* for the indexes of this run: those of earlier ones asked no server */
	struct session *session;
	struct debuginfod *servers;
	struct symbolizer *symbols;
	VEC(struct build_id) known; /* builds that were looked for */
	uint32_t n_new;
};

static bool is_known(struct names_word *w, const struct build_id *id)
{
	vec_foreach (&w->known, known)
		if (build_id_equal(known, id))
			return true;
	vec_push(&w->known, *id);
	return false;
}

static void print_sentence(const char *sentence)
{
	log_info("%s", sentence);
}

/* Gives the fleet the index that the symbolizer has made, if it is a better one. */
static int take_index(struct names_word *w, const struct image *image, struct error *err)
{
	struct index_header *block = NULL;
	struct index index;
	int r = 0;

	if (cache_read_foreign(w->cache, &image->build_id, &block, &index))
		r = fleet_names_take(w->fleet, SENDER, &image->build_id, block, index.size, err);
	free(block);
	w->n_new += r > 0;
	if (r == -EEXIST) {
		log_warning("the names of %s stay as they are: %s", image->path, err->text);
		r = 0;
	}
	return MIN(r, 0);
}

static int find_names(struct names_word *w, const struct image *image, struct error *err)
{
	if (image->kind != IMAGE_FILE || !image->build_id.len || is_known(w, &image->build_id) ||
	    !fleet_names_want(w->fleet, SENDER, &image->build_id, SYMBOL_DEBUG_FILE))
		return 0;
	symbolizer_table(w->symbols, image, NULL, 0);
	return take_index(w, image, err);
}

static int find_all(struct names_word *w, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->session->n_segments; i++) {
		const struct segment *s = w->session->segments[i];

		for (uint32_t k = 0; k < s->n_images && r >= 0; k++)
			r = find_names(w, &s->images[k], err);
	}
	return r;
}

static int open_all(struct names_word *w, struct error *err)
{
	const struct history_request request = { .window = TIME_WINDOW_ALL,
						 .overview_ns = UINT64_MAX };
	struct symbolizer_config config = { 0 };
	int r = fleet_open(w->fleet, NULL, &request, true, &w->session, err);

	w->cache = xasprintf("%s/" HISTORY_NAMES_DIR "/.found-%d", w->fleet, (int)getpid());
	r = r < 0 ? r : file_mkdirs(w->cache, 0750, err);
	if (r < 0)
		return r;
	w->servers = debuginfod_new(
		&(struct debuginfod_config){ .limit_s = LIMIT_S, .report = print_sentence });
	config.cache_dir = w->cache;
	config.debuginfod = w->servers;
	w->symbols = symbolizer_new(&config);
	return 0;
}

static void close_all(struct names_word *w)
{
	symbolizer_free(w->symbols);
	debuginfod_free(w->servers);
	session_close(w->session);
	vec_fini(&w->known);
	if (w->cache)
		file_remove_tree(w->cache, NULL);
	free(w->cache);
}

int fleet_names_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	struct names_word w = { 0 };
	int r = fleet_operand(operands, &w.fleet, err);

	(void)args;
	r = r < 0 ? r : open_all(&w, err);
	r = r < 0 ? r : find_all(&w, err);
	if (r >= 0)
		printf("%" PRIu32 " of %zu file%s of the fleet %s new names\n", w.n_new, w.known.n,
		       plural_s(w.known.n), plural(w.n_new, "has", "have"));
	close_all(&w);
	return MIN(r, 0);
}
