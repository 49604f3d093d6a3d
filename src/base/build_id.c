/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/build_id.h"

#include <ctype.h>
#include <stdio.h>

void build_id_hex(const struct build_id *id, char hex[static BUILD_ID_HEX_SIZE])
{
	hex[0] = '\0';
	for (unsigned int i = 0; i < id->len && i < BUILD_ID_MAX; i++)
		snprintf(hex + 2 * i, 3, "%02x", id->bytes[i]);
}

bool build_id_parse(const char *hex, struct build_id *out)
{
	struct build_id id = { 0 };
	size_t len = strlen(hex);

	if (len % 2 || len / 2 > BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < len / 2; i++) {
		unsigned int byte;

		if (!isxdigit((unsigned char)hex[2 * i]) ||
		    !isxdigit((unsigned char)hex[2 * i + 1]) ||
		    sscanf(hex + 2 * i, "%2x", &byte) != 1)
			return false;
		id.bytes[i] = (uint8_t)byte;
	}
	id.len = (uint8_t)(len / 2);
	*out = id;
	return true;
}
