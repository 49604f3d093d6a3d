/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "http/http_client.h"

int http_url_check(const char *url, struct error *err)
{
	const char *host = strncmp(url, "https://", 8) == 0  ? url + 8
			   : strncmp(url, "http://", 7) == 0 ? url + 7
							     : NULL;
	bool is_right = host && strcspn(host, "/:?") > 0 && !strchr(url, '#');

	for (const char *c = url; *c; c++)
		is_right = is_right && *c > ' ' && *c < 0x7f;
	if (is_right && !memchr(host, '@', strcspn(host, "/?")))
		return 0;
	return error_set(err, -EINVAL,
			 "'%s' is not a URL of HTTP, such as https://fleet.example:9464", url);
}
