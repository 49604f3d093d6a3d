/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/answers.h"

#include <stdbool.h>
#include <string.h>

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

const struct kept_answer *answers_find(struct answers *a, const struct buf *key)
{
	vec_foreach (&a->list, k)
		if (k->key.len == key->len && !memcmp(k->key.data, key->data, key->len)) {
			k->used = ++a->n_uses;
			return k;
		}
	return NULL;
}

static size_t oldest_answer(const struct answers *a)
{
	size_t oldest = 0;

	for (size_t i = 1; i < a->list.n; i++)
		if (a->list.data[i].used < a->list.data[oldest].used)
			oldest = i;
	return oldest;
}

void answers_keep(struct answers *a, struct buf *key, struct http_body *body, struct buf *policy)
{
	struct kept_answer k = { *key, http_body_share(body), *policy, ++a->n_uses };

	*key = *policy = (struct buf){ 0 };
	a->bytes += kept_size(&k);
	vec_push(&a->list, k);
	while (a->bytes > a->most_bytes)
		drop_answer(a, oldest_answer(a));
}
