/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/foreign.h"

#define FACT_BYTES 4096

void foreign_facts_fini(struct foreign_facts *f)
{
	free(f->hostname);
	free(f->release);
	free(f->arch);
	free(f->cpu_model);
	free(f->command);
	free(f->tool);
	*f = (struct foreign_facts){ 0 };
}

void foreign_facts_bad_line(struct foreign_facts *f, uint64_t line, struct slice text)
{
	if (f->n_bad++)
		return;
	f->bad_line = line;
	text.len = MIN(text.len, sizeof(f->bad_text) - 1);
	for (size_t i = 0; i < text.len; i++) /* it goes to a terminal */
		f->bad_text[i] = text.at[i] >= ' ' && text.at[i] < 0x7f ? text.at[i] : '?';
	f->bad_text[text.len] = '\0';
}

void foreign_fact_set(char **fact, struct slice text)
{
	text = slice_trim(text);
	if (!*fact && text.len)
		*fact = xstrndup(text.at, MIN(text.len, (size_t)FACT_BYTES));
}

bool foreign_is_kernel_file(struct slice file, uint64_t addr)
{
	if (!file.len)
		return addr >> 63;
	return slice_starts(file, SLICE("[kernel")) || slice_ends(file, SLICE("/vmlinux")) ||
	       slice_equal(file, SLICE("vmlinux")) || slice_ends(file, SLICE(".ko"));
}

static bool can_be_name(struct slice name)
{
	static const char not_in_filters[] = "=*?[]\\\"\n,: ";

	if (!name.len || name.len > FOREIGN_LABEL_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++)
		if (!name.at[i] || strchr(not_in_filters, name.at[i]))
			return false;
	return true;
}

static struct slice cut_value(struct slice value)
{
	if (value.len <= FOREIGN_LABEL_VALUE_MAX)
		return value;
	value.len = FOREIGN_LABEL_VALUE_MAX;
	while (value.len && ((unsigned char)value.at[value.len] & 0xc0) == 0x80)
		value.len--;
	return value;
}

void foreign_labels_add(struct foreign_labels *to, struct slice name, struct slice value,
			struct foreign_facts *facts)
{
	for (uint32_t i = 0; i < to->n; i++)
		if (slice_equal(to->label[i].name, name))
			return;
	if (!value.len || !can_be_name(name) || to->n == FOREIGN_LABELS_MAX) {
		facts->n_labels++;
		return;
	}
	to->label[to->n++] = (struct foreign_label){ name, cut_value(value) };
}

bool foreign_is_count_of(struct slice name, struct slice next)
{
	static const struct slice word = { "samples", 7 };

	if (slice_equal(name, word))
		return true;
	return name.len == next.len + 1 + word.len && slice_starts(name, next) &&
	       name.at[next.len] == ' ' && slice_ends(name, word);
}
