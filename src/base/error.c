/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

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

void error_files_limit(char *text, size_t size)
{
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max > limit.rlim_cur)
		snprintf(text, size,
			 "the limit of %llu open files is reached; 'ulimit -n %llu' raises it",
			 (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
	else
		snprintf(text, size,
			 "the limit of %llu open files is reached; root raises it, with 'ulimit -n "
			 "%llu' or LimitNOFILE= of a systemd unit",
			 (unsigned long long)limit.rlim_cur,
			 (unsigned long long)(limit.rlim_cur < 1024 ? 1024 : limit.rlim_cur * 4));
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
	len += (size_t)snprintf(err->text + len, sizeof(err->text) - len, ": ");
	if (code == -EMFILE && len < sizeof(err->text))
		error_files_limit(err->text + len, sizeof(err->text) - len);
	else if (len < sizeof(err->text))
		snprintf(err->text + len, sizeof(err->text) - len, "%s", strerror(-code));
	err->code = code;
	return code;
}
