/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/answers.h"

#include <stdbool.h>
#include <string.h>

#include "serve/reply.h"

void answers_init(struct answers *a, size_t most_bytes)
{
	*a = (struct answers){ .most_bytes = most_bytes };
}

static size_t kept_size(const struct kept_answer *k)
{
	return sizeof(*k) + k->key.len + k->policy.len + http_body_size(k->body);
}

static void drop_answer(struct answers *a, size_t i)
{
	struct kept_answer *k = &a->list.data[i];

	a->bytes -= kept_size(k);
	buf_fini(&k->key);
	buf_fini(&k->policy);
	http_body_drop(k->body);
	*k = a->list.data[--a->list.n];
}

void answers_fini(struct answers *a)
{
	while (a->list.n)
		drop_answer(a, a->list.n - 1);
	vec_fini(&a->list);
}

static size_t find_place(const struct answers *a, const struct buf *key)
{
	size_t i = 0;

	while (i < a->list.n && (a->list.data[i].key.len != key->len ||
				 memcmp(a->list.data[i].key.data, key->data, key->len) != 0))
		i++;
	return i;
}

const struct kept_answer *answers_find(struct answers *a, const struct buf *key)
{
	size_t i = find_place(a, key);

	if (i == a->list.n)
		return NULL;
	if (a->list.data[i].end_ns <= clock_monotonic_ns()) {
		drop_answer(a, i);
		return NULL;
	}
	a->list.data[i].used = ++a->n_uses;
	return &a->list.data[i];
}

void answers_drop(struct answers *a, const struct buf *key)
{
	size_t i = find_place(a, key);

	if (i < a->list.n)
		drop_answer(a, i);
}

static size_t oldest_answer(const struct answers *a)
{
	size_t oldest = 0;

	for (size_t i = 1; i < a->list.n; i++)
		if (a->list.data[i].used < a->list.data[oldest].used)
			oldest = i;
	return oldest;
}

void answers_keep(struct answers *a, const struct buf *key, struct http_body *body,
		  struct buf *policy, unsigned int lacks)
{
	struct kept_answer k = { .body = http_body_share(body),
				 .policy = *policy,
				 .lacks = lacks,
				 .used = ++a->n_uses,
				 .end_ns = lacks & REPLY_FOR_NOW
						   ? clock_monotonic_ns() + ANSWER_FOR_NOW_NS
						   : UINT64_MAX };

	answers_drop(a, key);
	buf_bytes(&k.key, key->data, key->len);
	*policy = (struct buf){ 0 };
	a->bytes += kept_size(&k);
	vec_push(&a->list, k);
	while (a->bytes > a->most_bytes)
		drop_answer(a, oldest_answer(a));
}
