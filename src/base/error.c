/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	err->code = code;
	return code;
}

int error_wrap(struct error *err, int code, const char *format, ...)
{
	char inner[sizeof(err->text)];
	va_list ap;
	size_t len;

	if (!err)
		return code;
	memcpy(inner, err->text, sizeof(inner));
	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", inner);
	err->code = code;
	return code;
}

int error_errno(struct error *err, int code, const char *format, ...)
{
	va_list ap;
	size_t len;

	if (!err)
		return code;
	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s", strerror(-code));
	err->code = code;
	return code;
}
