/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "open/client.h"

const struct request_row request_rows[N_REQUESTS] = {
#define REQUEST(name, effect, words, help, ...) { #name, REQUEST_##effect, help, { __VA_ARGS__ } },
#include "daemon/requests.def"
#undef REQUEST
};

/* In the order of the rows. */
static const size_t handler_offsets[N_REQUESTS] = {
#define REQUEST(name, ...) offsetof(struct control_handlers, name),
#include "daemon/requests.def"
#undef REQUEST
};

const struct request_row *request_find(const char *name)
{
	for (size_t i = 0; i < N_REQUESTS; i++)
		if (!strcmp(request_rows[i].name, name))
			return &request_rows[i];
	return NULL;
}

static size_t n_arguments(const struct request_row *row)
{
	size_t n = 0;

	while (n < REQUEST_MAX_ARGUMENTS && row->arguments[n].key)
		n++;
	return n;
}

/* NULL: the request has no such argument. */
static const struct request_argument *find_argument(const struct request_row *row, const char *key)
{
	for (size_t i = 0; i < n_arguments(row); i++)
		if (!strcmp(row->arguments[i].key, key))
			return &row->arguments[i];
	return NULL;
}

/* ---- checks ---- */

static int refuse_name(const char *name, struct error *err)
{
	struct buf names = { 0 };
	int r;

	for (size_t i = 0; i < N_REQUESTS; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", request_rows[i].name);
	r = error_set(err, -EINVAL, "there is no request '%.40s'; there are %s", name,
		      buf_cstr(&names));
	buf_fini(&names);
	return r;
}

static bool request_is_text(const char *text, size_t len)
{
	if (!len || len > REQUEST_TEXT_MAX || strlen(text) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == '\x7f')
			return false;
	return true;
}

static int check_value(const struct request_row *row, const struct request_argument *a,
		       const json_t *value, struct error *err)
{
	if (a->kind == REQUEST_TEXT) {
		if (json_is_string(value) &&
		    request_is_text(json_string_value(value), json_string_length(value)))
			return 0;
		return error_set(err, -EINVAL,
				 "%s: \"%s\" must be a text of 1 to %d bytes without control "
				 "characters",
				 row->name, a->key, REQUEST_TEXT_MAX);
	}
	if (json_is_integer(value) && json_integer_value(value) >= 1 &&
	    json_integer_value(value) <= REQUEST_NUMBER_MAX)
		return 0;
	return error_set(err, -EINVAL, "%s: \"%s\" must be a whole number from 1 to %d", row->name,
			 a->key, REQUEST_NUMBER_MAX);
}

/* "name=NAME", or "rate=HZ or events=EVENTS". */
static void name_arguments(const struct request_row *row, struct buf *out)
{
	for (size_t i = 0; i < n_arguments(row); i++)
		buf_printf(out, "%s%s=%s", i ? " or " : "", row->arguments[i].key,
			   row->arguments[i].value);
}

static int refuse_arguments(const struct request_row *row, const char *what, struct error *err)
{
	struct buf names = { 0 };
	int r;

	name_arguments(row, &names);
	r = error_set(err, -EINVAL, "%s: %s; it takes %s", row->name, what,
		      names.len ? buf_cstr(&names) : "none");
	buf_fini(&names);
	return r;
}

static int check_arguments(const struct request_row *row, json_t *request, struct error *err)
{
	size_t n_given = 0;
	const char *key;
	json_t *value;

	json_object_foreach(request, key, value)
	{
		const struct request_argument *a = find_argument(row, key);
		int r;

		if (!strcmp(key, "request"))
			continue;
		if (!a)
			return refuse_arguments(row, "an argument that it has not", err);
		r = check_value(row, a, value, err);
		if (r < 0)
			return r;
		n_given++;
	}
	if (n_arguments(row) && !n_given)
		return refuse_arguments(row, "an argument is missing", err);
	for (size_t i = 0; i < n_arguments(row); i++)
		if (row->arguments[i].is_required &&
		    !json_object_get(request, row->arguments[i].key))
			return refuse_arguments(row, "an argument is missing", err);
	return 0;
}

static int check_request(json_t *request, const struct request_row **row, struct error *err)
{
	const char *name = json_string_value(json_object_get(request, "request"));

	if (!name)
		return error_set(err, -EINVAL,
				 "a request is a JSON object such as {\"request\":\"status\"}");
	*row = request_find(name);
	return *row ? check_arguments(*row, request, err) : refuse_name(name, err);
}

/* Parses a line. The caller calls json_decref() on *out. */
static int request_parse(const char *line, size_t len, const struct request_row **row, json_t **out,
			 struct error *err)
{
	const struct request_row *found = NULL;
	json_error_t why;
	json_t *request = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	int r;

	if (!request)
		return error_set(err, -EINVAL, "the line is no JSON: %s", why.text);
	r = check_request(request, &found, err);
	if (r < 0) {
		json_decref(request);
		return r;
	}
	*row = found;
	*out = request;
	return 0;
}

/* ---- words of a command line ---- */

static int value_from_word(const struct request_row *row, const struct request_argument *a,
			   const char *word, json_t **out, struct error *err)
{
	char *end = NULL;

	if (a->kind == REQUEST_TEXT) {
		*out = json_string(word);
		return *out ? 0
			    : error_set(err, -EINVAL, "%s: %s is no UTF-8", row->name, a->value);
	}
	errno = 0;
	*out = json_integer(strtoll(word, &end, 10));
	return *word && !*end && !errno ? 0
					: error_set(err, -EINVAL, "%s: '%s' is not a number for %s",
						    row->name, word, a->key);
}

/* Finds the argument and the value of a word: "rate=49", or a value for the next unset argument. */
static const struct request_argument *argument_of_word(const struct request_row *row,
						       const char **word, json_t *request)
{
	const char *equals = strchr(*word, '=');

	for (size_t i = 0; i < n_arguments(row); i++) {
		const struct request_argument *a = &row->arguments[i];

		if (equals && (size_t)(equals - *word) == strlen(a->key) &&
		    !strncmp(*word, a->key, strlen(a->key))) {
			*word = equals + 1;
			return a;
		}
	}
	for (size_t i = 0; i < n_arguments(row); i++)
		if (row->arguments[i].is_required &&
		    !json_object_get(request, row->arguments[i].key))
			return &row->arguments[i];
	return NULL;
}

int request_from_words(const struct request_row *row, const char *const *words, size_t n,
		       json_t **out, struct error *err)
{
	json_t *request = json_pack("{s:s}", "request", row->name);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		const char *word = words[i];
		const struct request_argument *a = argument_of_word(row, &word, request);
		json_t *value = NULL;

		if (!a || json_object_get(request, a->key)) {
			cleanup(free_at_exit) char *what =
				xasprintf("'%s' is %s", word, a ? "given twice" : "no argument");

			r = refuse_arguments(row, what, err);
			break;
		}
		r = value_from_word(row, a, word, &value, err);
		json_object_set_new(request, a->key, value);
	}
	r = r < 0 ? r : check_arguments(row, request, err);
	if (r < 0)
		json_decref(request);
	else
		*out = request;
	return r;
}

/* ---- answers ---- */

void request_refuse(struct buf *out, const char *text, bool again)
{
	buf_str(out, "{\"ok\":false");
	json_put_text(out, "error", text);
	buf_str(out, again ? ",\"again\":true}\n" : "}\n");
}

void request_put_text(json_t *object, const char *key, const char *text)
{
	struct buf clean = { 0 };

	utf8_append(&clean, text);
	json_object_set_new(object, key, json_string(buf_cstr(&clean)));
	buf_fini(&clean);
}

static int request_append(const char *bytes, size_t n, void *data)
{
	struct buf *out = data;

	if (out->len + n > REQUEST_ANSWER_MAX)
		return -1;
	buf_bytes(out, bytes, n);
	return 0;
}

static int handle(const struct control_handlers *handlers, void *context, struct request_outcome *o,
		  json_t *reply)
{
	size_t offset = handler_offsets[o->row - request_rows];
	control_handler *handler = *(control_handler *const *)((const char *)handlers + offset);

	if (!handler)
		return error_set(&o->err, -EOPNOTSUPP, "this daemon does not support '%s'",
				 o->row->name);
	return handler(context, o->request, reply, &o->err);
}

void request_answer(const struct control_handlers *handlers, void *context, const char *line,
		    size_t len, struct buf *out, struct request_outcome *outcome)
{
	json_t *reply;

	*outcome = (struct request_outcome){ 0 };
	outcome->result = request_parse(line, len, &outcome->row, &outcome->request, &outcome->err);
	if (outcome->result < 0) {
		request_refuse(out, outcome->err.text, false);
		return;
	}
	reply = json_pack("{s:b}", "ok", 1);
	outcome->result = handle(handlers, context, outcome, reply);
	if (outcome->result >= 0) {
		struct buf text = { 0 };

		if (json_dump_callback(reply, request_append, &text, JSON_COMPACT) < 0)
			outcome->result =
				error_set(&outcome->err, -EMSGSIZE,
					  "the answer has more than %d bytes", REQUEST_ANSWER_MAX);
		else
			buf_bytes(out, text.data, text.len);
		buf_fini(&text);
	}
	if (outcome->result < 0)
		request_refuse(out, outcome->err.text[0] ? outcome->err.text : "it failed",
			       outcome->result == -EAGAIN);
	else
		buf_u8(out, '\n');
	json_decref(reply);
}

int request_send(const char *dir, const char *name, const char *argument, json_t **reply,
		 struct error *err)
{
	json_t *request = NULL, *answer = NULL;
	int r = request_from_words(request_find(name), &argument, argument != NULL, &request, err);

	r = r < 0 ? r : client_ask(dir, request, CLIENT_PATIENCE, &answer, err);
	json_decref(request);
	if (reply && r >= 0)
		*reply = json_incref(answer);
	json_decref(answer);
	return r;
}
