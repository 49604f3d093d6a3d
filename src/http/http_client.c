/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_client.h"

/* Without its macros, which would not work with pointers to its functions. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/lazy_library.h"
#include "config.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

#define FUNCTIONS(X)          \
	X(curl_easy_init)     \
	X(curl_easy_cleanup)  \
	X(curl_easy_setopt)   \
	X(curl_easy_getinfo)  \
	X(curl_easy_perform)  \
	X(curl_easy_reset)    \
	X(curl_easy_strerror) \
	X(curl_slist_append)  \
	X(curl_slist_free_all)

static struct {
	FUNCTIONS(LAZY_POINTER)
} curl;

#define ROW(function) { #function, &curl.function },
static const struct lazy_function functions[] = { FUNCTIONS(ROW) };

#define CONNECT_S    10
#define SILENT_S     30
#define ANSWER_BYTES ((size_t)1 << 20)

struct http_client {
	CURL *easy;
	struct http_client_options options; /* with copies of its texts */
	struct buf *body;                   /* of the answer that is being read */
	bool is_too_long;
	char message[CURL_ERROR_SIZE];
};

static const struct {
	CURLcode code;
	int error;
} errors[] = {
	{ CURLE_URL_MALFORMAT, -EINVAL },
	{ CURLE_UNSUPPORTED_PROTOCOL, -EINVAL },
	{ CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH },
	{ CURLE_COULDNT_RESOLVE_PROXY, -EHOSTUNREACH },
	{ CURLE_COULDNT_CONNECT, -ECONNREFUSED },
	{ CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT },
	{ CURLE_ABORTED_BY_CALLBACK, -EINTR },
	{ CURLE_OUT_OF_MEMORY, -ENOMEM },
	{ CURLE_SSL_CONNECT_ERROR, -EPROTO },
	{ CURLE_SSL_CERTPROBLEM, -EPROTO },
	{ CURLE_SSL_CACERT_BADFILE, -EPROTO },
	{ CURLE_PEER_FAILED_VERIFICATION, -EPROTO },
};

void http_reply_fini(struct http_reply *reply)
{
	buf_fini(&reply->body);
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *context)
{
	struct http_client *c = context;

	n *= size;
	c->is_too_long = n > c->options.answer_bytes - c->body->len;
	if (c->is_too_long)
		return 0;
	buf_bytes(c->body, bytes, n);
	return n;
}

static int ask_stops(void *context, curl_off_t down, curl_off_t down_now, curl_off_t up,
		     curl_off_t up_now)
{
	const struct http_client *c = context;

	(void)down, (void)down_now, (void)up, (void)up_now;
	return c->options.stops(c->options.context);
}

static int check_file(const char *path, struct error *err)
{
	return !path || access(path, R_OK) == 0 ? 0 : error_errno(err, -errno, "'%s'", path);
}

/*
 * Before each request. libcurl counts how often a kept connection turned out to be dead, over all
 * requests: without curl_easy_reset(), the sixth time is an error. Kept connections stay.
 */
static void set_options(struct http_client *c)
{
	const struct http_client_options *o = &c->options;
	CURL *easy = c->easy;

	curl.curl_easy_reset(easy);
	curl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl.curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, c->message);
	curl.curl_easy_setopt(easy, CURLOPT_USERAGENT, "assay/" ASSAY_VERSION);
	curl.curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl.curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	curl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, c);
	curl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)o->connect_s);
	curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)o->silent_s);
	curl.curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)o->whole_s);
	curl.curl_easy_setopt(easy, CURLOPT_MAX_SEND_SPEED_LARGE, (curl_off_t)o->upload_bytes_s);
	if (o->is_direct)
		curl.curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	if (o->ca) {
		curl.curl_easy_setopt(easy, CURLOPT_CAINFO, o->ca);
		/* Without it, the issuers that the system trusts would do, too. */
		curl.curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	curl.curl_easy_setopt(easy, CURLOPT_SSLCERT, o->certificate);
	curl.curl_easy_setopt(easy, CURLOPT_SSLKEY, o->key);
	if (o->stops) {
		curl.curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, ask_stops);
		curl.curl_easy_setopt(easy, CURLOPT_XFERINFODATA, c);
		curl.curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	}
}

static const char *copy_of(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

int http_client_new(const struct http_client_options *options, struct http_client **out,
		    struct error *err)
{
	const char *const files[] = { options->ca, options->certificate, options->key };
	struct http_client *c;
	int r = curl.curl_easy_init
			? 0
			: lazy_library_load(CURL_SONAMES, functions, ARRAY_SIZE(functions), err);

	for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
		r = check_file(files[i], err);
	if (r < 0)
		return r;
	c = xcalloc(1, sizeof(*c));
	c->options = *options;
	c->options.ca = copy_of(options->ca);
	c->options.certificate = copy_of(options->certificate);
	c->options.key = copy_of(options->key);
	c->options.connect_s = options->connect_s ? options->connect_s : CONNECT_S;
	c->options.silent_s = options->silent_s ? options->silent_s : SILENT_S;
	c->options.answer_bytes = options->answer_bytes ? options->answer_bytes : ANSWER_BYTES;
	c->easy = curl.curl_easy_init();
	if (!c->easy) {
		http_client_free(c);
		return error_set(err, -ENOMEM, "libcurl does not start");
	}
	*out = c;
	return 0;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	if (c->easy)
		curl.curl_easy_cleanup(c->easy);
	free((char *)c->options.ca);
	free((char *)c->options.certificate);
	free((char *)c->options.key);
	free(c);
}

static bool has_line_break(const char *text)
{
	return text[strcspn(text, "\r\n")] != '\0';
}

/*
 * The headers as curl's list, which the caller frees. Without a header "Expect", curl asks first if
 * a body is large.
 */
static int make_headers(const struct http_question *q, struct curl_slist **out, struct error *err)
{
	struct curl_slist *list =
		curl.curl_slist_append(NULL, q->asks_first ? "Expect: 100-continue" : "Expect:");
	struct buf line = { 0 };
	int r = 0;

	for (size_t i = 0; i < q->n_headers && r == 0; i++) {
		struct curl_slist *longer;

		if (has_line_break(q->headers[i].name) || has_line_break(q->headers[i].value)) {
			r = error_set(err, -EINVAL, "a header of a request has a line break");
			break;
		}
		line.len = 0;
		buf_printf(&line, "%s: %s", q->headers[i].name, q->headers[i].value);
		longer = curl.curl_slist_append(list, buf_cstr(&line));
		if (!longer)
			r = error_set(err, -ENOMEM, "no memory for the headers of a request");
		else
			list = longer;
	}
	buf_fini(&line);
	*out = list;
	return r;
}

static void set_body(struct http_client *c, const struct http_question *q)
{
	if (q->body || strcmp(q->method, "GET") != 0) {
		curl.curl_easy_setopt(c->easy, CURLOPT_POST, 1L);
		curl.curl_easy_setopt(c->easy, CURLOPT_POSTFIELDSIZE_LARGE,
				      (curl_off_t)q->body_size);
		curl.curl_easy_setopt(c->easy, CURLOPT_POSTFIELDS, q->body ? q->body : "");
	}
	curl.curl_easy_setopt(c->easy, CURLOPT_CUSTOMREQUEST, q->method);
}

static void read_answer(struct http_client *c, struct http_reply *reply)
{
	curl_off_t retry_after = 0;
	const char *type = NULL;
	long status = 0;

	curl.curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	curl.curl_easy_getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after);
	curl.curl_easy_getinfo(c->easy, CURLINFO_CONTENT_TYPE, &type);
	reply->status = (unsigned int)status;
	reply->retry_after_s =
		retry_after > 0 ? (uint32_t)MIN(retry_after, HTTP_RETRY_AFTER_MOST_S) : 0;
	reply->type[0] = '\0';
	if (type && strlen(type) < sizeof(reply->type))
		memcpy(reply->type, type, strlen(type) + 1);
}

static int explain(struct http_client *c, CURLcode code, const char *url, struct error *err)
{
	const char *why = c->message[0] ? c->message : curl.curl_easy_strerror(code);

	if (c->is_too_long)
		return error_set(err, -EMSGSIZE, "the answer of '%s' has more than %zu bytes", url,
				 c->options.answer_bytes);
	/* CURLOPT_LOW_SPEED_TIME; other timeouts have other texts */
	if (code == CURLE_OPERATION_TIMEDOUT && !strncmp(why, "Operation too slow", 18))
		return error_set(err, -ETIMEDOUT, "'%s' sent nothing for %u seconds", url,
				 c->options.silent_s);
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (errors[i].code == code)
			return error_set(err, errors[i].error, "'%s': %s", url, why);
	return error_set(err, -EIO, "'%s': %s", url, why);
}

int http_client_ask(struct http_client *c, const struct http_question *question,
		    struct http_reply *reply, struct error *err)
{
	struct curl_slist *headers = NULL;
	CURLcode code;
	int r = http_url_check(question->url, err);

	reply->body.len = 0;
	if (r == 0)
		r = make_headers(question, &headers, err);
	if (r == 0) {
		c->body = &reply->body;
		c->is_too_long = false;
		c->message[0] = '\0';
		set_options(c);
		set_body(c, question);
		curl.curl_easy_setopt(c->easy, CURLOPT_URL, question->url);
		curl.curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, headers);
		code = curl.curl_easy_perform(c->easy);
		if (code == CURLE_OK)
			read_answer(c, reply);
		else
			r = explain(c, code, question->url, err);
	}
	curl.curl_slist_free_all(headers);
	return r;
}
