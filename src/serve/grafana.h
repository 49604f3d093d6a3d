/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of Grafana's data source for Pyroscope, by the Connect protocol: a POST of a message in
 * protocol buffers, and an answer of the same kind. Each call is a request to the API, whose answer
 * in JSON becomes the message. The label service_name is the name of a source.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "serve/api.h"

struct error;
struct sources;

#define GRAFANA_PATH "/querier.v1.QuerierService/"
#define GRAFANA_TYPE "application/proto"

/* A call that is answered now (`answer`), or by a command (`call`). */
struct grafana_result {
	bool has_answer;
	struct buf answer;
	struct api_call call;
};

/*
 * `name`: the method. `message`: the bytes of the request. `filters`: as of api_call(). -ENOENT: no
 * such method or source. -EINVAL: the message, or its selector, is wrong.
 */
int grafana_call(const char *name, const struct buf *message, const struct sources *sources,
		 const char *filters, struct grafana_result *out, struct error *err);

/* The row of all its commands. */
extern const struct api_row grafana_row;
