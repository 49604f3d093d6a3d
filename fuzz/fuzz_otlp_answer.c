/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a receiver of OTLP answers to profiles. Its text goes to a terminal. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "export/otlp_answer.h"

const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 64,
					 .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_answer answer;
	size_t length;

	otlp_answer_parse(data, size, &answer);
	length = strnlen(answer.why, sizeof(answer.why));
	if (length == sizeof(answer.why))
		abort();
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)answer.why[i] < ' ' || answer.why[i] == 0x7f)
			abort();
	return 0;
}
