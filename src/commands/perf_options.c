/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/perf_options.h"

#include <string.h>

#define AS_TEXT "output is text, unless --format, --html or --svg asks for something else"

const struct option_alias perf_record_options[] = {
	{ "--all-user", ALIAS_OTHER, "write :u behind the event, as in -e cycles:u" },
	{ "--all-kernel", ALIAS_OTHER, "write :k behind the event, as in -e cycles:k" },
	{ "--mmap-pages", ALIAS_OTHER, "-m takes sizes, as in -m 2M" },
	{ "--no-buildid", ALIAS_OTHER,
	  "assay always records build ids, to find the right symbols" },
	{ "-B", ALIAS_OTHER, "assay always records build ids, to find the right symbols" },
	{ "--no-buildid-cache", ALIAS_DEFAULT, "assay copies no binaries into a cache" },
	{ "-N", ALIAS_DEFAULT, "assay copies no binaries into a cache" },
	{ "--no-inherit", ALIAS_OTHER,
	  "assay follows the children; -t TID profiles one thread alone" },
	{ "-i", ALIAS_OTHER, "assay follows the children; -t TID profiles one thread alone" },
	{ "--timestamp", ALIAS_OTHER, "--raw keeps the time of each sample" },
	{ "-T", ALIAS_OTHER, "--raw keeps the time of each sample" },
	{ "-d", ALIAS_OTHER, "assay does not record addresses of data; -d ends after a time" },
	{ "-m", ALIAS_OTHER, "a number without a comma is bytes, not pages: -m 2M" },
	{ "--uid", ALIAS_SAME, "user" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_report_options[] = {
	{ "--stdio", ALIAS_DEFAULT, AS_TEXT },
	{ "--stdio2", ALIAS_DEFAULT, AS_TEXT },
	{ "--tui", ALIAS_OTHER, "--html writes a page to look around in; 'assay top' is live" },
	{ "--gtk", ALIAS_OTHER, "--html writes a page to look around in" },
	{ "--no-children", ALIAS_DEFAULT, "rows are sorted by their own samples" },
	{ "--children", ALIAS_OTHER,
	  "'assay report -l --columns total,total%,samples,symbol --sort total' counts callees, "
	  "too" },
	{ "--no-inline", ALIAS_DEFAULT, "inlined functions have rows only with --inline" },
	{ "--no-call-graph", ALIAS_DEFAULT, "call chains are shown only with --tree or its like" },
	{ "--force", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "--percent-limit", ALIAS_SAME, "threshold" },
	{ "--fields", ALIAS_OTHER, "--by has keys (--by comm,symbol), --columns has columns" },
	{ "-F", ALIAS_OTHER, "--by has keys (--by comm,symbol), --columns has columns" },
	{ "--hierarchy", ALIAS_OTHER, "--by nests its keys: --by comm,image,symbol" },
	{ "--call-graph", ALIAS_OTHER, "--tree, --inverted and --callgraph show call chains" },
	{ "--comms", ALIAS_OTHER, "give a filter: comm:NAME[,NAME…]" },
	{ "--dsos", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ "--symbol-filter", ALIAS_OTHER, "give a filter: 'symbol:*TEXT*'" },
	{ "-S", ALIAS_OTHER, "give a filter: symbol:NAME[,NAME…]" },
	{ "--pid", ALIAS_OTHER, "give a filter: pid:PID[,PID…]" },
	{ "--cpu", ALIAS_OTHER, "give a filter: cpu:0-3" },
	{ "-C", ALIAS_OTHER, "give a filter: cpu:0-3" },
	{ "--field-separator", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "--header", ALIAS_DEFAULT, "the header is always shown" },
	{ "--header-only", ALIAS_OTHER, "'assay info' shows the facts of a session" },
	{ "--show-info", ALIAS_OTHER, "'assay info' shows the facts of a session" },
	{ "--stats", ALIAS_OTHER, "'assay info' counts the samples and the losses" },
	{ "--show-nr-samples", ALIAS_DEFAULT, "the column 'samples' is always shown" },
	{ "--dump-raw-trace", ALIAS_OTHER, "'assay script -D' prints every record" },
	{ "-D", ALIAS_OTHER, "'assay script -D' prints every record" },
	{ "-b", ALIAS_OTHER, "-b is --by; 'assay script -F +brstack' prints branches" },
	{ "-c", ALIAS_OTHER, "give a filter: comm:NAME[,NAME…]" },
	{ "-d", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ "-f", ALIAS_OTHER, "leave it out: assay reads every file that you may read" },
	{ "-g", ALIAS_OTHER, "--tree, --inverted and --callgraph show call chains" },
	{ "-G", ALIAS_OTHER, "--tree shows callees below their callers" },
	{ "-I", ALIAS_OTHER, "'assay info' shows the facts of a session" },
	{ "-m", ALIAS_OTHER, "leave it out: names of modules come from the session" },
	{ "-n", ALIAS_OTHER, "leave it out: the column 'samples' is always shown" },
	{ "-s", ALIAS_OTHER, "perf's --sort is --by here: --by comm,image,symbol" },
	{ "-t", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "-T", ALIAS_OTHER, "--by thread has a row for each thread" },
	{ "-w", ALIAS_OTHER, "--wide does not shorten names" },
	{ "-x", ALIAS_OTHER, "give a filter: via:NAME keeps samples with that caller" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_annotate_options[] = {
	{ "--stdio", ALIAS_DEFAULT, "output is text" },
	{ "--stdio2", ALIAS_DEFAULT, "output is text" },
	{ "--tui", ALIAS_OTHER, "output is text; 'assay report --html' writes a page" },
	{ "--force", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "-f", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "--no-source", ALIAS_SAME, "assembly" },
	{ "--percent-limit", ALIAS_SAME, "threshold" },
	{ "--symbol", ALIAS_OTHER, "name the function alone: assay annotate NAME" },
	{ "--dsos", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ "--cpu", ALIAS_OTHER, "give a filter: cpu:0-3" },
	{ "-C", ALIAS_OTHER, "give a filter: cpu:0-3" },
	{ "-s", ALIAS_OTHER, "name the function alone: assay annotate NAME" },
	{ "-d", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_script_options[] = {
	{ "--force", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "-f", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "--all-cpus", ALIAS_DEFAULT, "samples of all CPUs are shown" },
	{ "-a", ALIAS_DEFAULT, "samples of all CPUs are shown" },
	{ "--demangle", ALIAS_DEFAULT,
	  "names are readable; --no-demangle prints them as they are" },
	{ "--demangle-kernel", ALIAS_DEFAULT, "names of the kernel are readable, too" },
	{ "--no-inline", ALIAS_DEFAULT, "inlined functions have lines only with --inline" },
	{ "--script", ALIAS_OTHER, "programs read 'assay script --format json'" },
	{ "-s", ALIAS_OTHER, "programs read 'assay script --format json'" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_stat_options[] = {
	{ "--no-aggr", ALIAS_SAME, "per-cpu" },
	{ "--interval-count", ALIAS_SAME, "times" },
	{ "--interval-print", ALIAS_OTHER, "-I takes seconds, or a unit: -I 1000ms" },
	{ "--timeout", ALIAS_OTHER, "-d takes seconds, or a unit: -d 500ms" },
	{ "--json-output", ALIAS_OTHER, "--format json" },
	{ "-j", ALIAS_OTHER, "--format json" },
	{ "--field-separator", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "-x", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "--all-user", ALIAS_OTHER, "write :u behind the event, as in -e cycles:u" },
	{ "--all-kernel", ALIAS_OTHER, "write :k behind the event, as in -e cycles:k" },
	{ "-d", ALIAS_OTHER, "name the events: -e cache-misses,dTLB-load-misses" },
	{ "-I", ALIAS_OTHER, "a number without a unit is seconds: -I 1000ms" },
	{ "-n", ALIAS_OTHER, "-e duration_time counts time alone; -n ends after N intervals" },
	{ "-T", ALIAS_OTHER, "name the events: -e tx-start,tx-abort" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_top_options[] = {
	{ "--tui", ALIAS_DEFAULT, "top is always a screen" },
	{ "-g", ALIAS_DEFAULT, "call chains are always recorded; -V tree shows them" },
	{ "--sort", ALIAS_OTHER, "--view shows processes, symbols, tree or inverted" },
	{ "-s", ALIAS_OTHER, "--view shows processes, symbols, tree or inverted" },
	{ "--comms", ALIAS_OTHER, "-f comm:NAME[,NAME…]" },
	{ "--dsos", ALIAS_OTHER, "-f image:NAME[,NAME…]" },
	{ "--symbols", ALIAS_OTHER, "-f symbol:NAME[,NAME…]" },
	{ "--hide_kernel_symbols", ALIAS_OTHER, "-f mode:user" },
	{ "-K", ALIAS_OTHER, "-f mode:user" },
	{ "--hide_user_symbols", ALIAS_OTHER, "-f mode:kernel" },
	{ "-U", ALIAS_OTHER, "-f mode:kernel" },
	{ "-f", ALIAS_OTHER, "perf's limit of samples a row: there is none; -f takes a filter" },
	{ "-w", ALIAS_OTHER,
	  "perf's width of columns: there is none; -w is the time that is shown" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const struct option_alias perf_diff_options[] = {
	{ "--force", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "-f", ALIAS_DEFAULT, "assay reads every file that you may read" },
	{ "--comms", ALIAS_OTHER, "give a filter: comm:NAME[,NAME…]" },
	{ "-C", ALIAS_OTHER, "give a filter: comm:NAME[,NAME…]" },
	{ "--dsos", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ "-d", ALIAS_OTHER, "give a filter: image:NAME[,NAME…]" },
	{ "--symbols", ALIAS_OTHER, "give a filter: symbol:NAME[,NAME…]" },
	{ "-S", ALIAS_OTHER, "give a filter: symbol:NAME[,NAME…]" },
	{ "--cpu", ALIAS_OTHER, "give a filter: cpu:0-3" },
	{ "--pid", ALIAS_OTHER, "give a filter: pid:PID[,PID…]" },
	{ "--tid", ALIAS_OTHER, "give a filter: tid:TID[,TID…]" },
	{ "--time", ALIAS_OTHER, "give a filter: time:2s-5s" },
	{ "--field-separator", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "-t", ALIAS_OTHER, "--format csv separates fields by commas" },
	{ "-o", ALIAS_OTHER, "rows are sorted by how much they changed; -o is the output file" },
	{ NULL, ALIAS_DEFAULT, NULL },
};

const char *perf_command_here(const char *name)
{
	static const struct {
		const char *perf, *here;
	} rows[] = { { "list", "events" }, { "evlist", "info" }, { "lock", "record --off-cpu" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i].perf, name))
			return rows[i].here;
	return NULL;
}
