#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files of strangers are parsed in the rows of the parser (src/guard/parser.h, src/parser/table.c). Other calls of
# parsing functions are listed here: the file, how many, and why they need no parser. A call that is not listed is
# refused. Rows: src/machine/image_look.c, src/machine/jit_piece.c, src/machine/perf_map.c, src/symbol/file_symbols.c,
# src/symbol/file_debug.c, src/symbol/lines/file_lines.c, src/symbol/lines/file_dump.c and src/unwind/file_unwind.c, with
# the files that they call.
cd "$(dirname "$0")/.." || exit 2
listed='
src/export/bolt.c|1|the binary that the user names, for another tool
src/export/gmon.c|1|the binary that the user names, for another tool
src/open/input_new.c|1|a vmlinux that the user names
src/oprofile/store/import_oprofile.c|2|binaries of an OProfile session that the user imports
src/oprofile/store/oprofile_files.c|1|where the code of a binary of such a session begins
src/pipeline/lang_names.c|1|up to 8 KiB that BPF has copied, one pass of a bounded reader without memory, one number (fuzz/lang_code); a question would cost more
src/record/interpreter.c|3|the command that the user starts, and the libraries that it needs
src/record/pid_namespace.c|1|/proc/kallsyms
src/record/program_files.c|1|the command that the user starts
src/symbol/addresses.c|1|program headers: three numbers of each by a bounded reader (fuzz/elf), for exports and annotate
src/symbol/symbolizer/code_files.c|1|program headers and the build id by a bounded reader (fuzz/elf); annotate then shows the bytes
src/symbol/symbolizer/explain.c|2|what a file has, for assay why
src/symbol/file_table.c|1|the vdso, which the kernel has made
src/symbol/function_names.c|4|files and kernel symbols that the user names for a filter
src/symbol/finder.c|1|the build id and section headers by a bounded reader (fuzz/elf), of files that may be the recorded ones
src/symbol/kernel/kernel_check.c|3|symbols and vmlinux of the kernel
src/symbol/kernel/kernel_table.c|3|symbols of the kernel
src/symbol/kernel/module_file.c|5|modules in /lib/modules
src/symbol/kernel/vmlinux.c|2|vmlinux in /boot and /usr/lib/debug
src/symbol/lines/line_table.c|1|the kernel and its modules
src/symbol/symbolizer/symbolizer.c|1|the build id of a trusted file
src/trace/pt_images.c|5|code of a trace, for the flow of the processor
src/unwind/library.c|1|the vdso, which the kernel has made
'
rows='src/machine/image_look.c src/machine/jit_piece.c src/symbol/file_debug.c src/machine/perf_map.c src/symbol/lines/file_dump.c src/symbol/lines/line_dump.c src/symbol/file_symbols.c src/symbol/lines/file_lines.c src/unwind/file_unwind.c src/symbol/debug_file.c src/symbol/debug_sections.c src/symbol/elf_draft.c src/symbol/mini_debug.c src/symbol/lines/line_scan.c src/symbol/lines/line_draft.c src/symbol/lines/line_go.c src/unwind/build.c src/unwind/build_covers.c src/unwind/build_runtimes.c'
for room in machine symbol unwind pipeline trace replay import record annotate script processes calls collect export open daemon oprofile commands; do
	find "src/$room" -name '*.c'
done | sort | xargs grep -HnE '(^|[^A-Za-z0-9_])(elf_file_open|lang_detect|elf_symbols_begin|debug_sections_load|debug_file_open|mini_debug_open|line_draft_make|file_lines_make|unwind_build|perf_map_parse|jitdump_feed|lang_line|kallsyms_read|xz_unpack|parser_ask_here)\(' |
	grep -vE '^[^:]*:[0-9]+:(static|int|bool|void|size_t) |^[^:]*:[0-9]+:[[:space:]]*(/?\*([[:space:]*/]|$)|//)' |
	awk -v script=scripts/check-parsers.sh -v noun=calls -v advice='ask the parser (guard/parser.h)' -v skipped="$rows" \
		-f scripts/listed-calls.awk /dev/fd/3 - 3<<END
$listed
END
