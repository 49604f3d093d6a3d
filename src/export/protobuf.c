/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/protobuf.h"

/* The wire type (protobuf.dev, "Encoding"). */
#define LENGTH_DELIMITED 2

void protobuf_fields(struct buf *out, const ProtobufCMessage *message)
{
	buf_reserve(out, protobuf_c_message_get_packed_size(message));
	out->len += protobuf_c_message_pack(message, out->data + out->len);
}

static void protobuf_begin(struct buf *out, uint32_t number, size_t size)
{
	buf_uleb(out, number << 3 | LENGTH_DELIMITED);
	buf_uleb(out, size);
}

void protobuf_message(struct buf *out, uint32_t number, const ProtobufCMessage *message)
{
	protobuf_begin(out, number, protobuf_c_message_get_packed_size(message));
	protobuf_fields(out, message);
}

void protobuf_bytes(struct buf *out, uint32_t number, const void *bytes, size_t size)
{
	protobuf_begin(out, number, size);
	buf_bytes(out, bytes, size);
}
