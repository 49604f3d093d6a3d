/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/kubelet.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "fleet/gateway.h"
#include "http/http_client.h"
#include "machine/container_names.h"

#define ANSWER_BYTES ((size_t)16 << 20)
#define ANSWER_S     20 /* of the whole request */
#define TOKEN_BYTES  65536

struct kubelet {
	char *url, *token_file;
	struct http_client *http;
	bool (*stops)(void);
};

static bool kubelet_stops(void *context)
{
	const struct kubelet *k = context;

	return k->stops && k->stops();
}

int kubelet_new(const struct kubelet_config *config, struct kubelet **out, struct error *err)
{
	cleanup(kubelet_free_at_exit) struct kubelet *k = xcalloc(1, sizeof(*k));
	const struct http_client_options options = { .ca = config->ca,
						     .answer_bytes = ANSWER_BYTES,
						     .whole_s = ANSWER_S,
						     .is_direct = true,
						     .stops = kubelet_stops,
						     .context = k };
	size_t n = strlen(config->url);
	int r = gateway_check_url(config->url, err);

	while (n && config->url[n - 1] == '/')
		n--;
	k->url = xasprintf("%.*s/pods", (int)n, config->url);
	k->token_file = config->token_file ? xstrdup(config->token_file) : NULL;
	k->stops = config->stops;
	r = r < 0 ? r : http_client_new(&options, &k->http, err);
	if (r >= 0)
		*out = take_ptr(k);
	return r;
}

void kubelet_free(struct kubelet *k)
{
	if (!k)
		return;
	http_client_free(k->http);
	free(k->url);
	free(k->token_file);
	free(k);
}

/* ---- the answer ---- */

/* Names of others than assay: container_names_put() judges them again where they are read. */
static bool put_name(struct buf *lines, const char *id, const char *space, const char *name)
{
	if (!id || !*id || !name || !*name || id[strcspn(id, " \r\n#")] ||
	    name[strcspn(name, "\r\n")] || space[strcspn(space, "\r\n")] ||
	    strlen(id) + strlen(space) + strlen(name) >= CONTAINER_NAME_SIZE)
		return false;
	buf_printf(lines, "%s %s%s%s\n", id, space, *space ? "/" : "", name);
	return true;
}

/* "containerd://ID", "cri-o://ID", "docker://ID". */
static void put_containers(struct buf *lines, const json_t *statuses)
{
	const json_t *status;
	size_t i;

	json_array_foreach(statuses, i, status)
	{
		const char *id = json_string_value(json_object_get(status, "containerID"));
		const char *colon = id ? strstr(id, "://") : NULL;

		put_name(lines, colon ? colon + 3 : NULL, "",
			 json_string_value(json_object_get(status, "name")));
	}
}

static void put_pod(struct buf *lines, const json_t *pod)
{
	static const char *const lists[] = { "initContainerStatuses", "containerStatuses",
					     "ephemeralContainerStatuses" };
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *status = json_object_get(pod, "status");
	const char *space = json_string_value(json_object_get(meta, "namespace"));

	put_name(lines, json_string_value(json_object_get(meta, "uid")), space ? space : "",
		 json_string_value(json_object_get(meta, "name")));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		put_containers(lines, json_object_get(status, lists[i]));
}

int kubelet_parse_pods(const char *json, size_t size, struct buf *lines)
{
	json_t *list = json_loadb(json, size, 0, NULL);
	const json_t *pods = json_object_get(list, "items"), *pod;
	bool is_list = json_is_array(pods) || json_is_null(pods); /* Go writes null for no pods */
	size_t i;

	json_array_foreach(pods, i, pod) put_pod(lines, pod);
	json_decref(list);
	return is_list ? 0 : -EBADMSG;
}

/* ---- the question ---- */

/* "Bearer TOKEN". A token of a pod is replaced by another one from time to time. */
static int read_token(const struct kubelet *k, char **out, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	size_t size;
	int r = file_read_all(k->token_file, TOKEN_BYTES, &text, &size);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", k->token_file);
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text)
		return error_set(err, -EINVAL, "%s has no token in its first line", k->token_file);
	*out = xasprintf("Bearer %s", text);
	explicit_bzero(text, size);
	return 0;
}

static int judge_answer(const struct kubelet *k, const struct http_reply *reply, struct buf *lines,
			struct error *err)
{
	if (reply->status == 401 || reply->status == 403)
		return error_set(err, -EACCES,
				 "%s answers with status %u: give a token with the right to get "
				 "nodes/proxy (--kubelet-token-file)",
				 k->url, reply->status);
	if (reply->status != 200)
		return error_set(err, -EPROTO, "%s answers with status %u", k->url, reply->status);
	if (kubelet_parse_pods((const char *)reply->body.data, reply->body.len, lines) < 0)
		return error_set(err, -EBADMSG, "%s answers with something that is no list of pods",
				 k->url);
	return 0;
}

int kubelet_ask(struct kubelet *k, struct buf *lines, struct error *err)
{
	cleanup(free_at_exit) char *token = NULL;
	int r = k->token_file ? read_token(k, &token, err) : 0;
	const struct http_field headers[] = { { "Accept", "application/json" },
					      { "Authorization", token } };
	const struct http_question question = {
		.method = "GET", .url = k->url, .headers = headers, .n_headers = token ? 2 : 1
	};
	struct http_reply reply = { 0 };

	r = r < 0 ? r : http_client_ask(k->http, &question, &reply, err);
	r = r < 0 ? r : judge_answer(k, &reply, lines, err);
	if (token)
		explicit_bzero(token, strlen(token));
	http_reply_fini(&reply);
	return r;
}
