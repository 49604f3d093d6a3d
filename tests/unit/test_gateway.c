/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a gateway of a fleet takes: blocks, machines and tokens. */
#include "histories.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fleet/block_check.h"
#include "fleet/block_take.h"
#include "base/pieces.h"
#include "fleet/body_pack.h"
#include "fleet/body_unpack.h"
#include "fleet/fleet_names.h"
#include "fleet/fleet_receive.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"
#include "fleet/gateway.h"
#include "fleet/host_facts.h"
#include "fleet/names_check.h"
#include "fleet/ship.h"
#include "store/format.h"
#include "store/history/blocks.h"
#include "symbol/cache.h"

#define FLEET "fleet"
#define HOST  "web1"

static void fleet_init(void)
{
	file_remove_tree(FLEET, NULL);
	assert_int_equal(fleet_make(FLEET, NULL), 0);
}

/* The bytes of the first block of a history, and its samples. The caller frees. */
static uint8_t *first_block(size_t *size, uint64_t *samples)
{
	struct ship_result result;
	struct fleet_keys keys;
	struct history h;
	char name[HISTORY_NAME_SIZE];
	char *bytes;

	history_init(&h);
	fleet_init();
	history_part(&h, MIDNIGHT, 900, true);
	{
		const struct ship_config config = { .history = h.dir,
						    .fleet = FLEET,
						    .host = HOST };
		struct ship *ship = ship_new(&config);

		assert_int_equal(ship_round(ship, &result, NULL), 0);
		ship_free(ship);
	}
	assert_int_equal(fleet_keys_read(FLEET, HOST, &keys, NULL), 0);
	assert_int_equal(keys.n, 2);
	block_name(keys.data[0].bucket, keys.data[0].part, name);
	{
		cleanup(free_at_exit) char *block = xasprintf(FLEET "/" HOST "/%s", name);
		cleanup(free_at_exit) char *segment = block_segment(block);

		assert_int_equal(file_read_all(segment, 1 << 20, &bytes, size), 0);
	}
	*samples = keys.data[0].samples;
	vec_fini(&keys);
	history_fini(&h);
	return (uint8_t *)bytes;
}

static struct block_facts check(const uint8_t *bytes, size_t size, uint64_t bucket)
{
	const struct file_mapping file = { .base = bytes, .size = size };
	struct buf request = { 0 };
	const struct parser_question q = { .row = &block_check_row,
					   .file = &file,
					   .request = &request };
	struct parser_answer answer;
	struct block_facts facts;

	buf_u64(&request, bucket);
	buf_u8(&request, 0);
	assert_int_equal(parser_ask_here(&q, &answer, NULL), 0);
	memcpy(&facts, answer.bytes, sizeof(facts));
	parser_answer_fini(&answer);
	buf_fini(&request);
	return facts;
}

static void a_changed_byte_changes_no_sum(void **state)
{
	uint64_t samples, refused = 0;
	size_t size;
	uint8_t *bytes = first_block(&size, &samples);
	struct block_facts facts = check(bytes, size, MIDNIGHT * NS_PER_SECOND);

	(void)state;
	assert_int_equal(facts.result, 0);
	assert_int_equal(facts.samples, samples);
	assert_int_equal(facts.size, size);
	for (size_t i = 0; i < size; i += 1 + size / 2000) {
		bytes[i] ^= 0x15;
		facts = check(bytes, size, MIDNIGHT * NS_PER_SECOND);
		refused += facts.result < 0;
		assert_true(facts.result < 0 || facts.samples == samples);
		bytes[i] ^= 0x15;
	}
	assert_true(refused > 10);
	/* Each beginning of it is torn. */
	for (size_t n = 0; n < size; n += 1 + size / 500)
		assert_true(check(bytes, n, MIDNIGHT * NS_PER_SECOND).result < 0);
	free(bytes);
}

static void a_newer_format_is_told_from_damage(void **state)
{
	uint64_t samples;
	size_t size;
	uint8_t *bytes = first_block(&size, &samples);
	struct segment_header header;
	struct buf newer = { 0 };

	(void)state;
	assert_int_equal(segment_header_parse(bytes, size, &header), 0);
	header.version = SEGMENT_VERSION_MAX + 1;
	segment_header_write(&newer, &header);
	memcpy(bytes, newer.data, newer.len);
	assert_int_equal(check(bytes, size, MIDNIGHT * NS_PER_SECOND).result, -EPROTONOSUPPORT);
	buf_fini(&newer);
	free(bytes);
}

static void a_block_belongs_to_its_bucket(void **state)
{
	uint64_t samples;
	size_t size;
	uint8_t *bytes = first_block(&size, &samples);

	(void)state;
	assert_int_equal(check(bytes, size, (MIDNIGHT + 600) * NS_PER_SECOND).result, -ERANGE);
	assert_int_equal(check(bytes, size, (MIDNIGHT - 600) * NS_PER_SECOND).result, -ERANGE);
	assert_int_equal(check(bytes, size, (MIDNIGHT + 1) * NS_PER_SECOND).result, -ERANGE);
	free(bytes);
}

/* ---- machines ---- */

/* The answer to a block with the key `known`, at a host with this skew, by this clock of the fleet.
 */
static int offer(const uint8_t *bytes, size_t size, const struct fleet_key *known, int64_t skew_ms,
		 uint64_t now_s)
{
	const struct file_mapping body = { .base = bytes, .size = size };
	const struct host_facts facts = { .skew_ms = skew_ms };
	const struct block_offer o = { .facts = &facts,
				       .known = known,
				       .part = "p",
				       .bucket = MIDNIGHT * NS_PER_SECOND,
				       .now_ns = now_s * NS_PER_SECOND,
				       .body = &body };
	struct block_check block;
	int r = block_take_check(&o, &block, NULL);

	block_check_fini(&block);
	return r;
}

static void a_wrong_clock_and_another_block_of_a_key_are_refused(void **state)
{
	uint64_t samples;
	size_t size;
	uint8_t *bytes = first_block(&size, &samples);
	struct fleet_key known = { .part = "p", .hash = 1, .samples = samples };

	(void)state;
	known.lost = check(bytes, size, MIDNIGHT * NS_PER_SECOND).lost;
	assert_int_equal(offer(bytes, size, NULL, 0, MIDNIGHT), 0);
	assert_int_equal(offer(bytes, size, NULL, 0, MIDNIGHT - 600), 0);
	assert_int_equal(offer(bytes, size, NULL, 0, MIDNIGHT - 601), -ETIME);
	assert_int_equal(offer(bytes, size, NULL, 1000, MIDNIGHT - 601), 0);
	assert_int_equal(offer(bytes, size, NULL, 3600000, MIDNIGHT), 0);
	assert_int_equal(offer(bytes, size, NULL, 3600001, MIDNIGHT), -ETIME);
	assert_int_equal(offer(bytes, size, NULL, -3600001, MIDNIGHT), -ETIME);
	/* A block that the fleet has may come from any clock. */
	assert_int_equal(offer(bytes, size, &known, 3600001, MIDNIGHT - 601), 1);
	known.samples++;
	assert_int_equal(offer(bytes, size, &known, 0, MIDNIGHT), -ENOTUNIQ);
	known.samples--;
	known.lost++;
	assert_int_equal(offer(bytes, size, &known, 0, MIDNIGHT), -ENOTUNIQ);
	known.hash = 0;
	assert_int_equal(offer(bytes, size, &known, 0, MIDNIGHT), 1);
	assert_int_equal(offer(bytes, size / 2, &known, 0, MIDNIGHT), -EBADMSG);
	free(bytes);
}

static void two_machines_at_once_are_clones_and_a_restart_is_none(void **state)
{
	const struct host_facts first = { .boot = "11111111-2222-3333-4444-555555555555",
					  .boot_s = 1000,
					  .seen_s = 5000 };
	struct host_facts other = { .boot = "21111111-2222-3333-4444-555555555555",
				    .boot_s = 4000,
				    .seen_s = 5010 };

	(void)state;
	assert_true(host_facts_are_cloned(&first, &other, 30));
	other.boot_s = 4980; /* it may have begun when the first one ended */
	assert_false(host_facts_are_cloned(&first, &other, 30));
	other.boot_s = 4000;
	other.seen_s = 5000 + 3600; /* the first one was silent for an hour */
	assert_false(host_facts_are_cloned(&first, &other, 30));
	assert_false(host_facts_are_cloned(&first, &first, 30));
	assert_false(host_facts_are_cloned(&(struct host_facts){ 0 }, &other, 30));
}

static void facts_are_read_as_written_and_damage_is_refused(void **state)
{
	struct host_facts facts = { .boot = "11111111-2222-3333-4444-555555555555",
				    .version = "1.2",
				    .skew_ms = -5,
				    .seen_s = UINT64_MAX,
				    .refusal = "two\nlines" };
	struct host_facts got;

	(void)state;
	fleet_init();
	assert_int_equal(mkdir(FLEET "/" HOST, 0700), 0);
	assert_int_equal(host_facts_read(FLEET, HOST, &got, NULL), 0);
	assert_int_equal(got.seen_s, 0);
	assert_int_equal(host_facts_write(FLEET, HOST, &facts, NULL), 0);
	assert_int_equal(host_facts_read(FLEET, HOST, &got, NULL), 0);
	assert_string_equal(got.boot, facts.boot);
	assert_string_equal(got.version, "1.2");
	assert_int_equal(got.skew_ms, -5);
	assert_true(got.seen_s == UINT64_MAX);
	assert_string_equal(got.refusal, "two");
	assert_int_equal(file_replace(FLEET "/" HOST "/.host", "seen_s -x\n", 10, NULL), 0);
	assert_int_equal(host_facts_read(FLEET, HOST, &got, NULL), -EBADMSG);
}

/* ---- names ---- */

static const struct build_id build = { .len = 4, .bytes = { 1, 2, 3, 4 } };

/* An index of the build with one function, as a host's cache has it. The caller frees. */
static char *make_index(const char *function, enum symbol_status status, size_t *size)
{
	struct index_draft draft = { 0 };
	struct index_header *block;
	char *bytes;

	index_draft_add(&draft, 16, 16, function, index_draft_rank(true, DRAFT_GLOBAL));
	block = index_draft_finish(&draft, size);
	block->status = status;
	assert_int_equal(file_mkdirs("cache", 0700, NULL), 0);
	cache_write("cache", &build, 0, block, *size);
	free(block);
	assert_int_equal(file_read_all("cache/01020304.sym", 1 << 20, &bytes, size), 0);
	return bytes;
}

static int take_names(const char *host, const char *function, enum symbol_status status)
{
	size_t size;
	char *bytes = make_index(function, status, &size);
	int r = fleet_names_take(FLEET, host, &build, bytes, size, NULL);

	free(bytes);
	return r;
}

static void assert_named(const char *function, const char *host)
{
	char sender[FLEET_HOST_MAX + 1];
	struct index_header *block;
	struct index ix;

	assert_true(cache_read_foreign(FLEET "/.names", &build, &block, &ix));
	assert_string_equal(index_text(&ix, ix.names[0]), function);
	fleet_names_sender(FLEET, &build, sender, sizeof(sender));
	assert_string_equal(sender, host);
	free(block);
}

static void better_names_replace_worse_ones_and_others_do_not_rename(void **state)
{
	(void)state;
	fleet_init();
	assert_true(fleet_names_want(FLEET, "c", &build, SYMBOL_DYNSYM));
	assert_false(fleet_names_want(FLEET, "c", &build, SYMBOL_NONE));
	assert_int_equal(take_names("a", "first", SYMBOL_DYNSYM), 1);
	assert_int_equal(take_names("b", "second", SYMBOL_DYNSYM), 0);
	assert_named("first", "a");
	assert_int_equal(take_names("a", "again", SYMBOL_DYNSYM), 1);
	assert_named("again", "a");
	assert_false(fleet_names_want(FLEET, "c", &build, SYMBOL_DYNSYM));
	assert_true(fleet_names_want(FLEET, "c", &build, SYMBOL_SYMTAB));
	assert_int_equal(take_names("b", "another", SYMBOL_SYMTAB), -EEXIST);
	assert_named("again", "a");
	/* It is not asked for again; one of another quality or host is. */
	assert_false(fleet_names_want(FLEET, "b", &build, SYMBOL_SYMTAB));
	assert_true(fleet_names_want(FLEET, "b", &build, SYMBOL_DEBUG_FILE));
	assert_true(fleet_names_want(FLEET, "bb", &build, SYMBOL_SYMTAB));
	assert_int_equal(take_names("b", "again", SYMBOL_SYMTAB), 1);
	assert_named("again", "b");
	assert_int_equal(take_names("a", "worse", SYMBOL_DYNSYM), 0);
	assert_int_equal(take_names("a", "none", SYMBOL_MISSING), 0);
	/* Two steps rename no more than one. */
	assert_int_equal(take_names("b", "better", SYMBOL_DEBUG_FILE), -EEXIST);
	assert_int_equal(take_names("b", "better", SYMBOL_SYMTAB), -EEXIST);
	assert_named("again", "b");
	assert_false(fleet_names_want(FLEET, "b", &build, SYMBOL_DEBUG_FILE));
	/* Without the names of the first sender, the present one may replace its own. */
	assert_int_equal(fleet_names_forget(FLEET, "a", NULL), 0);
	assert_named("again", "b");
	assert_true(fleet_names_want(FLEET, "b", &build, SYMBOL_DEBUG_FILE));
	assert_int_equal(take_names("b", "better", SYMBOL_DEBUG_FILE), 1);
	assert_named("better", "b");
	assert_int_equal(fleet_names_forget(FLEET, "b", NULL), 0);
	assert_true(fleet_names_want(FLEET, "c", &build, SYMBOL_DYNSYM));
}

static void write_bytes(const char *path, size_t size, bool is_random)
{
	uint32_t x = 1;
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < size; i++) {
		x = x * 1664525 + 1013904223;
		fputc(is_random ? (int)(x >> 24) : (int)(i / 100 & 63), f);
	}
	assert_int_equal(fclose(f), 0);
}

static int pack_and_unpack(size_t size, bool is_random)
{
	struct buf packed = { 0 }, bytes = { 0 };
	struct file_mapping file, was;
	char why[BODY_WHY_SIZE];
	int r;

	write_bytes("plain", size, is_random);
	r = body_pack("plain", &packed, NULL);
	if (r == 0) {
		assert_int_equal(file_replace("packed", packed.data, packed.len, NULL), 0);
		assert_int_equal(file_map("packed", &file, NULL), 0);
		assert_int_equal(body_unpack(&file, true, &bytes, why), 0);
		assert_int_equal(file_map("plain", &was, NULL), 0);
		assert_int_equal(bytes.len, was.size);
		assert_memory_equal(bytes.data, was.base, was.size);
		file_unmap(&was);
		file_unmap(&file);
	}
	buf_fini(&packed);
	buf_fini(&bytes);
	return r;
}

static void a_body_is_packed_in_pieces(void **state)
{
	struct buf packed = { 0 };

	(void)state;
	assert_int_equal(pack_and_unpack(1, true), 0);
	assert_int_equal(pack_and_unpack(PIECE_BYTES, true), 0);
	assert_int_equal(pack_and_unpack(3 * PIECE_BYTES + 5, true), 0);
	assert_int_equal(pack_and_unpack(3 * PIECE_BYTES + 5, false), 0);
	assert_int_equal(pack_and_unpack(BODY_PACKED_MAX + PIECE_BYTES, true), 1);
	assert_int_equal(pack_and_unpack(BODY_UNPACKED_MAX + 1, false), 1);
	assert_int_equal(body_pack("nothing", &packed, NULL), -ENOENT);
	buf_fini(&packed);
}

static void a_refusal_for_names_is_seen_at_the_host(void **state)
{
	struct host_facts facts = { .boot = "11111111-2222-3333-4444-555555555555" };
	struct receive_answer answer = { 0 };
	struct file_mapping body = { 0 };
	const struct receive_request q = {
		.fleet = FLEET, .host = "b", .boot = facts.boot, .build = build, .body = &body
	};
	struct fleet_host *host;
	char *bytes;

	(void)state;
	fleet_init();
	assert_int_equal(fleet_host_open(FLEET, "b", &host, NULL), 0);
	fleet_host_close(host);
	assert_int_equal(host_facts_write(FLEET, "b", &facts, NULL), 0);
	assert_int_equal(take_names("a", "first", SYMBOL_DYNSYM), 1);
	bytes = make_index("second", SYMBOL_SYMTAB, &body.size);
	body.base = (uint8_t *)bytes;
	receive_names(&q, &answer);
	assert_int_equal(answer.status, 200);
	assert_string_equal(buf_cstr(&answer.json), "{\"kept\":false}\n");
	assert_int_equal(host_facts_read(FLEET, "b", &facts, NULL), 0);
	assert_string_equal(facts.refusal,
			    "names of 01020304: it names functions otherwise than host 'a' did");
	assert_int_equal(facts.names, 1);
	buf_fini(&answer.json);
	free(bytes);
}

/* The cache removes old indexes to make room. */
static void the_sender_of_an_index_goes_with_it(void **state)
{
	const struct build_id other = { .len = 4, .bytes = { 1, 2, 3, 5 } };
	char sender[FLEET_HOST_MAX + 1];
	size_t size;
	char *bytes;

	(void)state;
	fleet_init();
	assert_int_equal(take_names("a", "first", SYMBOL_SYMTAB), 1);
	bytes = make_index("second", SYMBOL_SYMTAB, &size);
	assert_int_equal(fleet_names_take(FLEET, "b", &other, bytes, size, NULL), 1);
	assert_named("first", "a");
	assert_int_equal(unlink(FLEET "/.names/01020304.sym"), 0);
	assert_int_equal(fleet_names_take(FLEET, "b", &other, bytes, size, NULL), 1);
	assert_int_not_equal(access(FLEET "/.names/01020304.from", F_OK), 0);
	fleet_names_sender(FLEET, &other, sender, sizeof(sender));
	assert_string_equal(sender, "b");
	free(bytes);
}

static int check_names(const void *bytes, size_t size, const struct build_id *id)
{
	const struct file_mapping file = { .base = bytes, .size = size };
	struct names_check names;
	int r = names_check_ask(&file, id, false, &names, NULL);

	if (!r)
		assert_memory_equal(names.bytes, bytes, size);
	names_check_fini(&names);
	return r;
}

static void damaged_names_and_those_of_another_build_are_refused(void **state)
{
	const struct build_id other = { .len = 4, .bytes = { 1, 2, 3, 5 } };
	size_t size;
	char *bytes = make_index("first", SYMBOL_SYMTAB, &size);

	(void)state;
	assert_int_equal(check_names(bytes, size, &build), 0);
	assert_int_equal(check_names(bytes, size, &other), -EBADMSG);
	assert_int_equal(check_names(bytes, 0, &build), -EBADMSG);
	for (size_t i = 0; i < size; i++) {
		assert_int_equal(check_names(bytes, i, &build), -EBADMSG);
		bytes[i] ^= 0x15;
		assert_int_equal(check_names(bytes, size, &build), -EBADMSG);
		bytes[i] ^= 0x15;
	}
	free(bytes);
}

/* ---- a gateway that fails ---- */

/* Answers all requests with status 500. Its process; *port: where it listens. */
static pid_t start_failing_server(uint16_t *port)
{
	static const char answer[] = "HTTP/1.1 500 no\r\nContent-Length: 0\r\n"
				     "Connection: close\r\n\r\n";
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(to);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char bytes[65536];
	pid_t pid;

	assert_int_equal(bind(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&to, &size), 0);
	*port = ntohs(to.sin_port);
	pid = fork();
	if (pid) {
		close(fd);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (read(client, bytes, sizeof(bytes)) > 0)
			(void)!write(client, answer, sizeof(answer) - 1);
		shutdown(client, SHUT_WR);
		while (read(client, bytes, sizeof(bytes)) > 0) {
		}
		close(client);
	}
}

/* Only of a block or an index, others may go well. */
static void a_status_of_500_is_a_failure_of_all_requests_but_blocks(void **state)
{
	const struct fleet_key key = { .part = "p", .bucket = MIDNIGHT * NS_PER_SECOND };
	const struct gateway_state host = { 0 };
	struct gateway_config config = { .host = HOST, .token_file = "token" };
	struct buf body = { 0 }, wanted = { 0 };
	cleanup(free_at_exit) char *url = NULL;
	struct error err = { 0 };
	struct gateway *g;
	size_t bytes;
	uint16_t port;
	pid_t server;
	int r;

	(void)state;
	assert_int_equal(file_replace_mode("token", 0600, "abc\n", 4, NULL), 0);
	server = start_failing_server(&port);
	config.url = url = xasprintf("http://127.0.0.1:%u", port);
	buf_str(&body, "{}\n");
	r = gateway_new(&config, &g, &err);
	if (r == -EOPNOTSUPP || (r == -ENOENT && strstr(err.text, "libcurl"))) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
		buf_fini(&body);
		skip_because("there is no libcurl");
	}
	assert_int_equal(r, 0);
	assert_int_equal(gateway_send(g, &key, "token", &err), SHIP_FAILS_AT_IT);
	assert_int_equal(gateway_send_leaves(g, &key, "token", &err), SHIP_FAILS_AT_IT);
	assert_int_equal(gateway_send_names(g, "01020304", "token", &bytes, &err),
			 SHIP_FAILS_AT_IT);
	assert_int_equal(gateway_send_containers(g, &body, &err), -EIO);
	assert_int_equal(gateway_ask_names(g, &body, &wanted, &err), -EIO);
	assert_int_equal(gateway_introduce(g, &host, true, &err), -EIO);
	gateway_free(g);
	buf_fini(&body);
	buf_fini(&wanted);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

/* ---- tokens ---- */

static const char *own_token(char digit)
{
	static char token[FLEET_TOKEN_SIZE];

	memset(token, digit, sizeof(token) - 1);
	return token;
}

static void a_join_token_enrolls_so_many_new_hosts(void **state)
{
	char join[FLEET_TOKEN_SIZE];
	struct fleet_tokens t;

	(void)state;
	fleet_init();
	assert_int_equal(fleet_invite(FLEET, 2, join, NULL), 0);
	assert_int_equal(fleet_join(FLEET, join, "a", own_token('1'), NULL), 1);
	/* A host that did not get the answer asks again. */
	assert_int_equal(fleet_join(FLEET, join, "a", own_token('1'), NULL), 0);
	assert_int_equal(fleet_join(FLEET, join, "a", own_token('2'), NULL), -EEXIST);
	assert_int_equal(fleet_join(FLEET, join, "b", own_token('1'), NULL), -EINVAL);
	assert_int_equal(fleet_join(FLEET, join, "b", join, NULL), -EINVAL);
	assert_int_equal(fleet_join(FLEET, join, "b", "1", NULL), -EINVAL);
	assert_int_equal(fleet_join(FLEET, join, "b", own_token('G'), NULL), -EINVAL);
	assert_int_equal(fleet_join(FLEET, join, "../b", own_token('2'), NULL), -EINVAL);
	assert_int_equal(fleet_join(FLEET, own_token('1'), "b", own_token('2'), NULL), -ENOKEY);
	assert_int_equal(mkdir(FLEET "/old", 0700), 0);
	assert_int_equal(fleet_join(FLEET, join, "old", own_token('2'), NULL), -EEXIST);
	assert_int_equal(fleet_join(FLEET, join, "b", own_token('2'), NULL), 1);
	assert_int_equal(fleet_join(FLEET, join, "c", own_token('3'), NULL), -ENOKEY);
	assert_int_equal(fleet_join(FLEET, join, "b", own_token('2'), NULL), 0);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), 0);
	assert_string_equal(fleet_tokens_host(&t, own_token('1')), "a");
	assert_string_equal(fleet_tokens_host(&t, join), "*");
	assert_null(fleet_tokens_host(&t, "0"));
	fleet_tokens_fini(&t);
	assert_int_equal(fleet_revoke(FLEET, "a", NULL), 0);
	assert_int_equal(fleet_uninvite(FLEET, NULL), 0);
	assert_int_equal(fleet_join(FLEET, join, "b", own_token('2'), NULL), -ENOKEY);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), 0);
	assert_null(fleet_tokens_host(&t, join));
	assert_string_equal(fleet_tokens_host(&t, own_token('2')), "b");
	assert_null(fleet_tokens_host(&t, own_token('1')));
	fleet_tokens_fini(&t);
}

static void certificates_and_wrong_files_of_tokens(void **state)
{
	struct fleet_tokens t;

	(void)state;
	fleet_init();
	assert_int_equal(fleet_enroll(FLEET, "a", NULL, NULL), 0);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), 0);
	assert_true(fleet_tokens_have_certificate(&t, "a"));
	assert_false(fleet_tokens_have_certificate(&t, "b"));
	fleet_tokens_fini(&t);
	assert_int_equal(chmod(FLEET "/.tokens", 0640), 0);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), -EACCES);
	assert_int_equal(file_replace_mode(FLEET "/.tokens", 0600, "a b\n", 4, NULL), 0);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), -EBADMSG);
	assert_int_equal(file_replace_mode(FLEET "/.tokens", 0600, "a certificate", 13, NULL), 0);
	assert_int_equal(fleet_tokens_read(FLEET, &t, NULL), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_byte_changes_no_sum),
		cmocka_unit_test(a_newer_format_is_told_from_damage),
		cmocka_unit_test(a_block_belongs_to_its_bucket),
		cmocka_unit_test(a_wrong_clock_and_another_block_of_a_key_are_refused),
		cmocka_unit_test(two_machines_at_once_are_clones_and_a_restart_is_none),
		cmocka_unit_test(facts_are_read_as_written_and_damage_is_refused),
		cmocka_unit_test(better_names_replace_worse_ones_and_others_do_not_rename),
		cmocka_unit_test(a_body_is_packed_in_pieces),
		cmocka_unit_test(a_refusal_for_names_is_seen_at_the_host),
		cmocka_unit_test(the_sender_of_an_index_goes_with_it),
		cmocka_unit_test(damaged_names_and_those_of_another_build_are_refused),
		cmocka_unit_test(a_status_of_500_is_a_failure_of_all_requests_but_blocks),
		cmocka_unit_test(a_join_token_enrolls_so_many_new_hosts),
		cmocka_unit_test(certificates_and_wrong_files_of_tokens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
