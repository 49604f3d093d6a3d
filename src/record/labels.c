/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/labels.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"
#include "collect/bpf/label_name.h"
#include "collect/bpf/shared.h"

void record_labels_fini(struct record_labels *l)
{
	vec_foreach (&l->words, word)
		free(*word);
	vec_fini(&l->words);
	vec_fini(&l->in_program);
	vec_fini(&l->in_session);
}

static const char *name_in_program(const char *name)
{
	static const char *const pairs[][2] = { { "trace", "trace_id" }, { "span", "span_id" } };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!strcmp(name, pairs[i][0]))
			return pairs[i][1];
	return name;
}

static bool has_label(const struct record_labels *l, const char *name)
{
	vec_foreach (&l->in_session, known)
		if (!strcmp(*known, name))
			return true;
	return false;
}

static int add_label(struct record_labels *l, char *name, struct error *err)
{
	size_t len = strlen(name);

	vec_push(&l->words, name);
	if (!len || len > LABEL_NAME_MAX || strpbrk(name, "=*?[]\\\"\n"))
		return error_set(
			err, -EINVAL,
			"--labels: '%s' is no name of a label: 1 to %d characters, without "
			"= * ? [ ] and quotation marks",
			name, LABEL_NAME_MAX);
	if (has_label(l, name))
		return 0;
	if (l->in_session.n == LABELS_MAX)
		return error_set(err, -EINVAL, "--labels: at most %d labels are recorded",
				 LABELS_MAX);
	vec_push(&l->in_session, name);
	vec_push(&l->in_program, name_in_program(name));
	return 0;
}

int record_labels_parse(const struct option_list *lists, struct record_labels *out,
			struct error *err)
{
	int r = 0;

	vec_foreach (lists, list)
		for (const char *at = *list; r >= 0 && *at;) {
			size_t len = strcspn(at, ",");

			r = add_label(out, xstrndup(at, len), err);
			at += len + (at[len] == ',');
		}
	return r;
}
