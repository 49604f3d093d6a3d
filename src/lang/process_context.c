/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/process_context.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"

#define CONTEXT_VERSION 2
#define KEY_MAP         "threadlocal.attribute_key_map"
#define KEYS_MAX        256

bool process_context_read(const uint8_t header[PROCESS_CONTEXT_HEADER], struct process_context *out)
{
	struct reader r = reader_over(header, PROCESS_CONTEXT_HEADER);
	const char *signature = reader_bytes(&r, 8);
	uint32_t version = reader_u32(&r);

	out->payload_size = reader_u32(&r);
	out->published_ns = reader_u64(&r);
	out->payload = reader_u64(&r);
	return !memcmp(signature, "OTEL_CTX", 8) && version == CONTEXT_VERSION &&
	       out->published_ns && out->payload_size && out->payload_size <= PROCESS_CONTEXT_MAX;
}

bool process_context_mapping(const char *line, uint64_t *start)
{
	static const char *const names[] = { " /memfd:OTEL_CTX", " [anon_shmem:OTEL_CTX]",
					     " [anon:OTEL_CTX]" };
	unsigned long long at;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strstr(line, names[i]) && sscanf(line, "%llx-", &at) == 1) {
			*start = at;
			return true;
		}
	return false;
}

/* Numbers of fields in opentelemetry-proto's common.proto and resource.proto. */
enum {
	RESOURCE_ATTRIBUTE = 1,
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTE = 2,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	VALUE_TEXT = 1,
	VALUE_ARRAY = 5,
	ARRAY_VALUE = 1,
};

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* The next field that has bytes. False: there is none. */
static bool next_field(struct reader *r, uint64_t *number, struct reader *value)
{
	while (reader_left(r)) {
		uint64_t tag = reader_uleb(r), size = 0;

		switch (tag & 7) {
		case WIRE_VARINT:
			reader_uleb(r);
			break;
		case WIRE_64:
			reader_bytes(r, 8);
			break;
		case WIRE_32:
			reader_bytes(r, 4);
			break;
		case WIRE_BYTES:
			size = reader_uleb(r);
			if (r->bad || size > reader_left(r))
				return false;
			*number = tag >> 3;
			*value = reader_over(reader_bytes(r, (size_t)size), (size_t)size);
			return true;
		default:
			return false;
		}
		if (r->bad)
			return false;
	}
	return false;
}

/* The first field with this number; an empty one if there is none. */
static struct reader field_of(struct reader message, uint64_t number)
{
	struct reader value;
	uint64_t n;

	while (next_field(&message, &n, &value))
		if (n == number)
			return value;
	return (struct reader){ 0 };
}

static bool is_text(const struct reader *r, const char *text)
{
	size_t size = strlen(text);

	return reader_left(r) == size && !memcmp(r->at, text, size);
}

static void take_keys(struct reader array, const char *const *names, size_t n, uint16_t *keys)
{
	struct reader value;
	uint16_t key = 0;
	uint64_t number;

	while (key < KEYS_MAX && next_field(&array, &number, &value)) {
		struct reader text = field_of(value, VALUE_TEXT);

		if (number != ARRAY_VALUE)
			continue;
		for (size_t i = 0; i < n; i++)
			if (is_text(&text, names[i]))
				keys[i] = key;
		key++;
	}
}

/* Takes the keys if the attribute is their map. */
static void look_at_attribute(struct reader attribute, const char *const *names, size_t n,
			      uint16_t *keys)
{
	struct reader key = field_of(attribute, KEY_VALUE_KEY);

	if (is_text(&key, KEY_MAP))
		take_keys(field_of(field_of(attribute, KEY_VALUE_VALUE), VALUE_ARRAY), names, n,
			  keys);
}

void process_context_keys(const uint8_t *payload, size_t size, const char *const *names, size_t n,
			  uint16_t *keys)
{
	struct reader r = reader_over(payload, size), value, attribute;
	uint64_t number, inner;

	for (size_t i = 0; i < n; i++)
		keys[i] = PROCESS_CONTEXT_NO_KEY;
	while (next_field(&r, &number, &value)) {
		if (number != CONTEXT_RESOURCE && number != CONTEXT_ATTRIBUTE)
			continue;
		look_at_attribute(value, names, n, keys);
		while (number == CONTEXT_RESOURCE && next_field(&value, &inner, &attribute))
			if (inner == RESOURCE_ATTRIBUTE)
				look_at_attribute(attribute, names, n, keys);
	}
}
