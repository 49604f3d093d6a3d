/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/page/files.h"

#include "base/mem.h"

const struct serve_file serve_files[] = {
	{ "/", "text/html; charset=utf-8", serve_page },
	{ "/serve.css", "text/css; charset=utf-8", serve_style },
	{ "/facts.js", "text/javascript; charset=utf-8", serve_facts_script },
	{ "/fleet.js", "text/javascript; charset=utf-8", serve_fleet_script },
	{ "/list.js", "text/javascript; charset=utf-8", serve_list_script },
	{ "/parts.js", "text/javascript; charset=utf-8", serve_parts_script },
	{ "/selector.js", "text/javascript; charset=utf-8", serve_selector_script },
	{ "/series.js", "text/javascript; charset=utf-8", serve_series_script },
	{ "/serve.js", "text/javascript; charset=utf-8", serve_script },
};
const size_t n_serve_files = ARRAY_SIZE(serve_files);
