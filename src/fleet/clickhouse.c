/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/clickhouse.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/files/secret_file.h"
#include "base/reader.h"
#include "http/http_client.h"

#define SHARDS_MAX   1024
#define LOGIN_MAX    4096
#define ANSWER_BYTES ((size_t)1 << 30)
#define CONNECT_S    5
#define SILENT_S     60 /* a question may take this long before its answer begins */

#define INSERT_QUERY "&query=INSERT%20INTO%20"

/* Of a database. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

struct shard {
	char *address;  /* as given */
	char *base;     /* "http://HOST:PORT" */
	char *database; /* "default" */
	enum clickhouse_dialect dialect;
	char version[32];
	bool is_checked; /* its version is known, and its tables are right */
	struct http_client *http;
	struct error trouble;
};

struct clickhouse {
	VEC(struct shard) shards;
	char *user, *password; /* NULL: none */
	bool is_new;           /* as of struct clickhouse_options … */
	bool (*stops)(void);   /* … and likewise */
};

/* ---- texts for SQL and URLs ---- */

void sql_put_text(struct buf *out, const char *text)
{
	buf_u8(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_u8(out, '\\');
		buf_u8(out, (uint8_t)*text);
	}
	buf_u8(out, '\'');
}

void sql_put_time(struct buf *out, uint64_t seconds)
{
	buf_printf(out, "toDateTime(%" PRIu64 ")", seconds);
}

static void url_put_text(struct buf *out, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("-_.", *text))
			buf_u8(out, (uint8_t)*text);
		else
			buf_printf(out, "%%%02X", (unsigned char)*text);
}

/* ---- requests ---- */

/* The first line of an answer, as a sentence for people. */
static const char *answer_line(struct buf *body, char line[static 400])
{
	snprintf(line, 400, "%s", buf_cstr(body));
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			*c = '\0';
			break;
		}
	return *line ? line : "no reason is given";
}

/* Whether the text of a refusal has one of the server's codes. */
static bool has_code(const char *text, const unsigned long *codes, size_t n)
{
	const char *code = strstr(text, "Code: ");

	for (size_t i = 0; code && i < n; i++)
		if (strtoul(code + strlen("Code: "), NULL, 10) == codes[i])
			return true;
	return false;
}

/*
 * The error of an insert that was refused. It may be stored, or will be, if the server's time was
 * over (159), its state is unknown (319), it was cancelled (394), or Keeper was lost (999); or if a
 * proxy had no answer. Another one would be refused as well if there are too many queries (202), no
 * memory (241), no right to write (242), no room (243), or too many parts (252).
 */
static int insert_error(unsigned int status, const char *text)
{
	static const unsigned long unknown[] = { 159, 319, 394, 999 };
	static const unsigned long of_all[] = { 202, 241, 242, 243, 252 };

	if (has_code(text, unknown, ARRAY_SIZE(unknown)) || status == 502 || status == 504)
		return -EIO;
	return has_code(text, of_all, ARRAY_SIZE(of_all)) ? -EBUSY : -EREMOTEIO;
}

bool clickhouse_is_broken(const char *refusal)
{
	/* Codes of files that are cut, gone, or of wrong checksums. */
	static const unsigned long codes[] = { 32, 33, 40, 107, 117, 226, 246, 271 };

	return has_code(refusal, codes, ARRAY_SIZE(codes));
}

static int shard_exchange(const struct clickhouse *ch, struct shard *s, const char *parameters,
			  const void *body, size_t size, struct buf *answer, struct error *err)
{
	cleanup(free_at_exit) char *url = xasprintf("%s/?%s", s->base, parameters);
	const struct http_field login[] = { { "X-ClickHouse-User", ch->user },
					    { "X-ClickHouse-Key", ch->password } };
	const struct http_question question = { .method = "POST",
						.url = url,
						.headers = login,
						.n_headers = ch->user ? ARRAY_SIZE(login) : 0,
						.body = body,
						.body_size = size };
	struct http_reply reply = { 0 };
	const char *is_insert = strstr(parameters, INSERT_QUERY);
	const char *table = is_insert ? is_insert + strlen(INSERT_QUERY) : "";
	char line[400];
	int r;

	s->trouble = (struct error){ 0 };
	r = http_client_ask(s->http, &question, &reply, &s->trouble);
	if (r < 0)
		error_wrap(&s->trouble, r, "%s", s->address);
	else if (reply.status / 100 != 2)
		r = error_set(&s->trouble,
			      is_insert ? insert_error(reply.status, buf_cstr(&reply.body))
					: -EREMOTEIO,
			      "%s answers with status %u: %s", s->address, reply.status,
			      answer_line(&reply.body, line));
	/* The answer to an insert is empty. An error behind the status, or a page of a proxy, is
	 * not. */
	else if (is_insert && reply.body.len)
		r = error_set(&s->trouble, -EIO, "%s takes no rows of %.*s: %s", s->address,
			      (int)strcspn(table, "%"), table, answer_line(&reply.body, line));
	else if (answer)
		buf_bytes(answer, reply.body.data, reply.body.len);
	http_reply_fini(&reply);
	if (r < 0 && err)
		*err = s->trouble;
	return r;
}

/*
 * ClickHouse 18.16 takes a body that a lost connection cuts for a whole one. So rows before the cut
 * would be stored, and the whole body again later. A block of its native compression says how long
 * it is. This one is not compressed, and its checksum is not asked for.
 * (CompressedReadBufferBase.cpp: 16 bytes of checksum, method, length with these 9 bytes, length.)
 */
#define WHOLE_PARAMETERS \
	"decompress=1&http_native_compression_disable_checksumming_on_decompress=1&"
#define WHOLE_CHECKSUM 16
#define WHOLE_HEAD     9
#define WHOLE_PLAIN    0x02

static void put_whole(struct buf *out, const void *body, size_t size)
{
	static const uint8_t no_checksum[WHOLE_CHECKSUM];

	buf_reserve(out, WHOLE_CHECKSUM + WHOLE_HEAD + size);
	buf_bytes(out, no_checksum, sizeof(no_checksum));
	buf_u8(out, WHOLE_PLAIN);
	buf_u32(out, (uint32_t)(size + WHOLE_HEAD));
	buf_u32(out, (uint32_t)size);
	buf_bytes(out, body, size);
}

/* The same of a body that changes something: the server takes it as a whole, or not at all. */
static int shard_change(const struct clickhouse *ch, struct shard *s, const char *parameters,
			const void *body, size_t size, struct buf *answer, struct error *err)
{
	struct buf all = { 0 }, whole = { 0 };
	int r;

	if (s->dialect == CLICKHOUSE_TODAY)
		return shard_exchange(ch, s, parameters, body, size, answer, err);
	buf_printf(&all, WHOLE_PARAMETERS "%s", parameters);
	put_whole(&whole, body, size);
	r = shard_exchange(ch, s, buf_cstr(&all), whole.data, whole.len, answer, err);
	buf_fini(&whole);
	buf_fini(&all);
	return r;
}

/* Users that only read can't change settings. */
static bool is_question(const char *sql)
{
	return !strncmp(sql, "SELECT", 6);
}

/*
 * With wait_end_of_query, the server ends the question before it begins the answer. So an error on
 * the way has its own status, and is no text behind the first rows.
 */
static int shard_ask(const struct clickhouse *ch, struct shard *s, const char *sql,
		     struct buf *answer, struct error *err)
{
	struct buf parameters = { 0 };
	int r;

	buf_str(&parameters, "wait_end_of_query=1&database=");
	url_put_text(&parameters, s->database);
	r = (is_question(sql) ? shard_exchange : shard_change)(ch, s, buf_cstr(&parameters), sql,
							       strlen(sql), answer, err);
	buf_fini(&parameters);
	return r;
}

static int shard_find_version(const struct clickhouse *ch, struct shard *s, struct error *err)
{
	struct buf answer = { 0 };
	int r = shard_ask(ch, s, "SELECT version() FORMAT TabSeparated", &answer, err);

	if (r >= 0) {
		snprintf(s->version, sizeof(s->version), "%s", buf_cstr(&answer));
		s->version[strcspn(s->version, "\r\n")] = '\0';
		if (!clickhouse_dialect_of(s->version, &s->dialect))
			r = error_set(
				err, -EPROTONOSUPPORT,
				"%s is no ClickHouse that assay knows: 18.16, or 23 and newer",
				s->address);
	}
	buf_fini(&answer);
	return r;
}

/* The tables are of this version, and this is the shard of that number. */
static int shard_check_place(const struct clickhouse *ch, struct shard *s, struct error *err)
{
	struct buf answer = { 0 };
	struct reader rows;
	uint32_t version, shard, n, want = (uint32_t)(s - ch->shards.data);
	int r = shard_ask(ch, s,
			  "SELECT version, shard, shards FROM schema_version WHERE version > 0 "
			  "ORDER BY version DESC LIMIT 1 FORMAT RowBinary",
			  &answer, err);

	rows = reader_over(answer.data, answer.len);
	version = reader_u32(&rows);
	shard = reader_u32(&rows);
	n = reader_u32(&rows);
	buf_fini(&answer);
	if (r == -EREMOTEIO || (r >= 0 && rows.bad))
		return error_set(err, -ENODATA,
				 "%s has no tables of a fleet: run 'assay fleet init --clickhouse "
				 "URL,…' (%s)",
				 s->address, r < 0 ? s->trouble.text : "schema_version is empty");
	if (r < 0)
		return r;
	if (version > CLICKHOUSE_SCHEMA_VERSION || !version)
		return error_set(err, -EPROTONOSUPPORT,
				 "%s has tables of version %" PRIu32 ", and this assay knows %d",
				 s->address, version, CLICKHOUSE_SCHEMA_VERSION);
	if (shard != want || n != ch->shards.n)
		return error_set(err, -EINVAL,
				 "%s is shard %" PRIu32 " of %" PRIu32 ", and not %" PRIu32
				 " of %zu: name all addresses in the order of 'assay fleet init'",
				 s->address, shard + 1, n, want + 1, ch->shards.n);
	if (version < CLICKHOUSE_SCHEMA_VERSION)
		return error_set(
			err, -ESTALE,
			"%s has tables of version %" PRIu32
			": run 'assay fleet init --clickhouse URL,…' (with --replicated "
			"PATH, if they are replicated), which makes them tables of version %d",
			s->address, version, CLICKHOUSE_SCHEMA_VERSION);
	return 0;
}

/* A server that was away at the start may have other tables, or none. */
static int shard_check(struct clickhouse *ch, struct shard *s, struct error *err)
{
	int r = s->is_checked ? 0 : shard_find_version(ch, s, err);

	if (r >= 0 && !s->is_checked && !ch->is_new)
		r = shard_check_place(ch, s, err);
	s->is_checked = r >= 0;
	return r;
}

int clickhouse_check_place(struct clickhouse *ch, uint32_t shard, struct error *err)
{
	assert(shard < ch->shards.n);
	return shard_check_place(ch, &ch->shards.data[shard], err);
}

int clickhouse_ask(struct clickhouse *ch, uint32_t shard, const char *sql, struct buf *answer,
		   struct error *err)
{
	struct shard *s = &ch->shards.data[shard];
	int r;

	assert(shard < ch->shards.n);
	r = shard_check(ch, s, err);
	return r < 0 ? r : shard_ask(ch, s, sql, answer, err);
}

int clickhouse_insert(struct clickhouse *ch, uint32_t shard, enum clickhouse_table table,
		      const char *token, const struct buf *rows, struct error *err)
{
	struct shard *s = &ch->shards.data[shard];
	struct buf parameters = { 0 };
	int r;

	assert(shard < ch->shards.n);
	r = shard_check(ch, s, err);
	if (r < 0)
		return r;
	buf_str(&parameters, "database=");
	url_put_text(&parameters, s->database);
	/* Rows of names may be other ones the next time: from a file that was found since. */
	if (s->dialect == CLICKHOUSE_TODAY && clickhouse_tables[table].receipt) {
		buf_str(&parameters, "&insert_deduplication_token=");
		url_put_text(&parameters, token);
	}
	buf_str(&parameters, INSERT_QUERY);
	buf_printf(&parameters, "%s%%20(", clickhouse_tables[table].name);
	clickhouse_print_columns(table, &parameters);
	buf_str(&parameters, ")%20FORMAT%20RowBinary");
	r = shard_change(ch, s, buf_cstr(&parameters), rows->data, rows->len, NULL, err);
	buf_fini(&parameters);
	return r;
}

/* ---- servers ---- */

uint32_t clickhouse_n_shards(const struct clickhouse *ch)
{
	return (uint32_t)ch->shards.n;
}

uint32_t clickhouse_shard_of(const struct clickhouse *ch, const char *host)
{
	return (uint32_t)(XXH3_64bits(host, strlen(host)) % ch->shards.n);
}

const char *clickhouse_address(const struct clickhouse *ch, uint32_t shard)
{
	return ch->shards.data[shard].address;
}

const char *clickhouse_database(const struct clickhouse *ch, uint32_t shard)
{
	return ch->shards.data[shard].database;
}

enum clickhouse_dialect clickhouse_dialect(const struct clickhouse *ch, uint32_t shard)
{
	return ch->shards.data[shard].dialect;
}

const char *clickhouse_version(const struct clickhouse *ch, uint32_t shard)
{
	return ch->shards.data[shard].version;
}

const char *clickhouse_trouble(const struct clickhouse *ch, uint32_t shard)
{
	return ch->shards.data[shard].trouble.text;
}

void clickhouse_close(struct clickhouse *ch)
{
	if (!ch)
		return;
	vec_foreach (&ch->shards, s) {
		free(s->address);
		free(s->base);
		free(s->database);
		http_client_free(s->http);
	}
	vec_fini(&ch->shards);
	free(ch->user);
	free(ch->password);
	free(ch);
}

static int shard_add(struct clickhouse *ch, const char *url, struct error *err)
{
	const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
	struct shard *s;
	int r = http_url_check(url, err);

	if (r < 0)
		return r;
	if (strpbrk(url, "?&") || (slash && slash[1 + strspn(slash + 1, NAME_CHARACTERS)]))
		return error_set(err, -EINVAL, "'%s': write http://HOST:PORT/DATABASE", url);
	if (ch->shards.n == SHARDS_MAX)
		return error_set(err, -EINVAL, "more than %d addresses", SHARDS_MAX);
	s = vec_add(&ch->shards);
	s->address = xstrdup(url);
	s->base = slash ? xstrndup(url, (size_t)(slash - url)) : xstrdup(url);
	s->database = xstrdup(slash && slash[1] ? slash + 1 : "default");
	return 0;
}

static int clickhouse_add_shards(struct clickhouse *ch, const char *urls, struct error *err)
{
	cleanup(free_at_exit) char *list = xstrdup(urls);
	char *rest = list, *url;
	int r = 0;

	while (r >= 0 && (url = strsep(&rest, ",")))
		r = shard_add(ch, url, err);
	return r;
}

static int clickhouse_read_login(struct clickhouse *ch, const char *path, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	struct stat st;
	char *colon;
	size_t size;
	int r = file_read_all(path, LOGIN_MAX, &text, &size);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	if (stat(path, &st) == 0 && st.st_mode & secret_file_forbidden_bits(&st))
		return error_set(err, -EPERM, "%s has a password: run 'chmod 600 %s'", path, path);
	text[strcspn(text, "\r\n")] = '\0';
	colon = strchr(text, ':');
	if (!colon || colon == text)
		return error_set(err, -EINVAL, "%s: the line USER:PASSWORD is missing", path);
	ch->user = xstrndup(text, (size_t)(colon - text));
	ch->password = xstrdup(colon + 1);
	explicit_bzero(text, size);
	return 0;
}

/* Whether another shard may answer. */
static bool is_no_answer(int code)
{
	return code == -EHOSTUNREACH || code == -ECONNREFUSED || code == -ETIMEDOUT || code == -EIO;
}

static bool clickhouse_stops(void *context)
{
	const struct clickhouse *ch = context;

	return ch->stops();
}

static int clickhouse_connect(struct clickhouse *ch, struct error *err)
{
	const struct http_client_options http = { .connect_s = CONNECT_S,
						  .silent_s = SILENT_S,
						  .answer_bytes = ANSWER_BYTES,
						  .stops = ch->stops ? clickhouse_stops : NULL,
						  .context = ch };
	size_t n_answers = 0;
	struct error why = { 0 };

	vec_foreach (&ch->shards, s) {
		int r = http_client_new(&http, &s->http, err);

		if (r < 0)
			return r;
		r = shard_check(ch, s, &why);
		if (r < 0 && !is_no_answer(r)) {
			if (err)
				*err = why;
			return r;
		}
		n_answers += r >= 0;
	}
	if (n_answers)
		return 0;
	if (err)
		*err = why;
	return why.code;
}

int clickhouse_open(const struct clickhouse_options *options, struct clickhouse **out,
		    struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = xcalloc(1, sizeof(*ch));
	int r = clickhouse_add_shards(ch, options->urls, err);

	ch->is_new = options->is_new;
	ch->stops = options->stops;
	if (r >= 0 && options->login)
		r = clickhouse_read_login(ch, options->login, err);
	r = r < 0 ? r : clickhouse_connect(ch, err);
	if (r >= 0)
		*out = take_ptr(ch);
	return r;
}
