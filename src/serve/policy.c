/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/policy.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define SCRIPT_BEGIN "<script type=\"module\">"
#define SCRIPT_END   "</script>"

static void put_hash(struct buf *out, const char *script, size_t n)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE)];
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, n, (const uint8_t *)script);
	sha256_digest(&sha, sizeof(digest), digest);
	base64_encode_raw(text, sizeof(digest), digest);
	buf_printf(out, " 'sha256-%.*s'", (int)sizeof(text), text);
}

/* The page's own script is the last element of its kind: names stand before it. */
static const char *last_script(const char *at, const char *end)
{
	const char *last = NULL;

	while ((at = memmem(at, (size_t)(end - at), SCRIPT_BEGIN, strlen(SCRIPT_BEGIN)))) {
		at += strlen(SCRIPT_BEGIN);
		last = at;
	}
	return last;
}

void policy_of_page(const struct buf *page, struct buf *out)
{
	const char *end = (const char *)page->data + page->len;
	const char *script = page->len ? last_script((const char *)page->data, end) : NULL;
	const char *close =
		script ? memmem(script, (size_t)(end - script), SCRIPT_END, strlen(SCRIPT_END))
		       : NULL;

	buf_printf(out, "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
			"base-uri 'none'; form-action 'none'; frame-ancestors 'self'; script-src");
	if (close)
		put_hash(out, script, (size_t)(close - script));
	else
		buf_printf(out, " 'none'");
	buf_u8(out, '\0');
}
