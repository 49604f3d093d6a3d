/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of protobuf-c into a buffer, one at a time.
 *
 * The elements of a repeated field may be written one by one, between any other fields: a
 * message is the concatenation of its fields. So nothing has to be in memory as a whole.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/buf.h"

/* The fields of a message, as at the top of a file. */
void protobuf_fields(struct buf *out, const ProtobufCMessage *message);

/* A message as the field `number` of the message around it. */
void protobuf_message(struct buf *out, uint32_t number, const ProtobufCMessage *message);

/* Bytes or a string as the field `number`; or a packed message. */
void protobuf_bytes(struct buf *out, uint32_t number, const void *bytes, size_t size);
