/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that the words of `assay annotate` mean: [FILE:]FUNCTION, a whole name, its end, or
 * a glob.
 */
#pragma once

#include "annotate/annotate.h"
#include "cli/options.h"

/* A function, chosen by weight, or a source file. */
struct chosen {
	uint32_t id;
	uint64_t weight;
};
struct choice {
	struct chosen *data;
	size_t n, cap;
};

/* The heaviest first. */
void sort_choice(struct choice *c);

/*
 * Appends all functions with samples that the word means. If none has its own, these are functions
 * of languages that called some; else native ones that did.
 */
void choose_functions(const struct annotation *a, const char *word, struct choice *out);

/*
 * Appends the function of each word, and all of a glob. If a word means none or several, the error
 * lists others: -ENOENT, -EINVAL.
 */
int choose_by_words(const struct annotation *a, const struct option_list *words, struct choice *out,
		    struct error *err);

/*
 * Makes *profile the one of frames of languages alone, if each word means functions of them: there,
 * a line also has the samples of the native functions that it calls. Else it stays.
 */
int prefer_language(struct profile_request *request, const struct option_list *words,
		    struct profile **profile, struct error *err);
