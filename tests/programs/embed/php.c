/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a file of PHP. Without -fPIC, it has a copy of executor_globals, or of its offset. */
#include <sapi/embed/php_embed.h>

int main(int argc, char **argv)
{
	zend_file_handle file;

	PHP_EMBED_START_BLOCK(argc - 1, argv + 1)
	zend_stream_init_filename(&file, argv[argc - 1]);
	php_execute_script(&file);
	if (EG(exception))
		return 1;
	PHP_EMBED_END_BLOCK()
	return 0;
}
