/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an answer. Several answers and a cache may share them. For one thread. */
#pragma once

#include "base/mem.h"

struct http_body;

/* Copies the bytes. The caller has the first use of them. */
struct http_body *http_body_new(const void *bytes, size_t size);
struct http_body *http_body_share(struct http_body *body); /* one use more */
void http_body_drop(struct http_body *body);               /* one use less; NULL is fine */
DEFINE_AT_EXIT(http_body_drop, struct http_body)

size_t http_body_size(const struct http_body *body);
void *http_body_bytes(struct http_body *body);
void http_body_drop_bytes(void *bytes); /* as http_body_drop(), by http_body_bytes() */
