/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an OProfile session is made of: a sample file, else a name, else an abi file. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "oprofile/store/sample_file.h"
#include "oprofile/store/sample_name.h"

static void read_file(const uint8_t *data, size_t size)
{
	struct sample_file_view view;
	uint64_t key;
	uint32_t n;

	if (sample_file_parse(data, size, NULL, &view, NULL) < 0)
		return;
	for (uint32_t i = 0; i < view.n_nodes; i++)
		sample_file_node(&view, i, &key, &n);
}

/* A name that is understood is written and read again as the same. */
static void read_name(const char *text)
{
	struct sample_name name, again;
	struct buf out = { 0 }, out_again = { 0 };

	if (sample_name_parse(text, &name, NULL) < 0)
		return;
	sample_name_write(&name, &out);
	if (sample_name_parse(buf_cstr(&out), &again, NULL) == 0) {
		sample_name_write(&again, &out_again);
		if (strcmp(buf_cstr(&out), buf_cstr(&out_again)) != 0)
			abort();
		sample_name_fini(&again);
	}
	sample_name_fini(&name);
	buf_fini(&out);
	buf_fini(&out_again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct sample_file_abi abi;

	read_file(data, size);
	read_name(text);
	if (sample_file_abi_parse(text, &abi, NULL) == 0) {
		struct sample_file_view view;

		sample_file_parse(data, size, &abi, &view, NULL);
	}
	free(text);
	return 0;
}
