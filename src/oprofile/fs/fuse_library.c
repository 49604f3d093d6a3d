/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/fs/fuse_library.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "config.h"

struct fuse_library fuse;

static struct {
	char text[256], told[256];
} said;

static void listen(enum fuse_log_level level, const char *format, va_list args)
{
	(void)level;
	vsnprintf(said.text, sizeof(said.text), format, args);
	said.text[strcspn(said.text, "\n")] = '\0';
}

int fuse_library_load(struct error *err)
{
#define ROW(function) { #function, &fuse.function },
	static const struct lazy_function functions[] = { FUSE_FUNCTIONS(ROW) };
#undef ROW
	int r = 0;

	if (!fuse.fuse_add_direntry)
		r = lazy_library_load(FUSE_SONAMES, functions, ARRAY_SIZE(functions), err);
	if (!r)
		fuse.fuse_set_log_func(listen);
	return r;
}

const char *fuse_library_said(void)
{
	memcpy(said.told, said.text, sizeof(said.told));
	*said.text = '\0';
	return said.told;
}
