/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of Grafana: the first byte is the method, and the rest its message. If that makes a
 * command, the bytes behind the first NUL are the command's answer.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "serve/grafana.h"
#include "serve/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(const struct api_call *call, const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	struct buf answer = { 0 }, message = { 0 };

	if (nul)
		buf_bytes(&answer, nul + 1, size - (size_t)(nul + 1 - data));
	call->convert(call, &answer, &message);
	buf_fini(&answer);
	buf_fini(&message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const methods[] = {
		"ProfileTypes",           "LabelNames", "LabelValues", "SelectSeries",
		"SelectMergeStacktraces", "nothing"
	};
	static char name[] = "s", path[] = ".";
	struct sources sources = { 0 };
	struct grafana_result result;
	struct buf message = { 0 };
	struct error err = { 0 };

	if (!size)
		return 0;
	vec_push(&sources.list, (struct source){ .name = name, .path = path });
	buf_bytes(&message, data + 1, size - 1);
	if (grafana_call(methods[data[0] % ARRAY_SIZE(methods)], &message, &sources, NULL, &result,
			 &err) < 0) {
		if (!err.text[0])
			abort(); /* a refusal without a reason */
	} else if (!result.has_answer) {
		convert(&result.call, data, size);
	}
	buf_fini(&result.answer);
	api_call_fini(&result.call);
	buf_fini(&message);
	vec_fini(&sources.list);
	return 0;
}
