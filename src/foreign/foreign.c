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
