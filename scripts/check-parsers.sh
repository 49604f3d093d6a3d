#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Files of strangers are parsed in the rows of the parser (src/guard/parser.h, src/parser/table.c). Other calls of
# parsing functions are listed here: the file, how many, and why they need no parser. A call that is not listed is
# refused. Rows: src/machine/image_look.c, src/machine/jit_piece.c, src/machine/perf_map.c, src/symbol/file_symbols.c,
# src/symbol/file_debug.c, src/symbol/file_functions.c, src/symbol/lines/file_lines.c, src/symbol/lines/file_dump.c and src/unwind/file_unwind.c, with
# the files that they call.
cd "$(dirname "$0")/.." || exit 2
listed='
src/collect/kernel_texts.c|1|/proc/kallsyms
src/commands/buildid_cache.c|1|a file that the user names
src/oprofile/store/import_oprofile.c|3|samples are the input that the user names, as sessions and recordings are (docs/security.md)
src/oprofile/store/append.c|1|as in import_oprofile.c
src/oprofile/store/sample_file.c|1|as in import_oprofile.c
src/oprofile/tools/opimport.c|2|as in import_oprofile.c
src/machine/vdso32.c|1|the vdso of 32-bit programs, which the kernel has made
src/open/input_new.c|1|a vmlinux that the user names
src/pipeline/lang_names.c|3|8 KiB that BPF has copied, one pass, no memory (docs/security.md, fuzz/lang_code); a question would hold up the rings
src/record/interpreter.c|3|the command that the user starts, and the libraries that it needs
src/record/pid_namespace.c|1|/proc/kallsyms
src/record/program_files.c|2|the command that the user starts, and interpreters that root alone can change
src/symbol/symbolizer/explain.c|2|files of the kernel and its modules
src/symbol/file_table.c|1|the vdso, which the kernel has made
src/symbol/function_names.c|1|kernel symbols for a filter
src/symbol/kernel/kcore_cache.c|1|symbols of kernels in the cache of the user
src/symbol/kernel/kernel_check.c|3|symbols and vmlinux of the kernel
src/symbol/kernel/kernel_table.c|4|symbols of the kernel, and of a guest in a file that the user names
src/symbol/kernel/module_code.c|1|modules in /lib/modules, for the flow of the processor
src/symbol/kernel/module_file.c|5|modules in /lib/modules
src/symbol/kernel/module_loader.c|3|modules in /lib/modules and the vmlinux, for the flow of the processor
src/symbol/kernel/vmlinux.c|3|vmlinux in /boot and /usr/lib/debug, and of the servers that the user names
src/symbol/lines/line_table.c|1|the kernel and its modules
src/symbol/symbolizer/symbolizer.c|1|the build id of a trusted file
src/trace/pt_images.c|5|code of a trace, for the flow of the processor
src/trace/pt_guests.c|2|files of a guest that the user names
src/unwind/library.c|1|the vdso, which the kernel has made
'
rows='src/machine/image_look.c src/machine/jit_piece.c src/symbol/file_debug.c src/symbol/file_functions.c src/machine/perf_map.c src/symbol/lines/file_dump.c src/symbol/lines/line_dump.c src/symbol/file_symbols.c src/symbol/lines/file_lines.c src/unwind/file_unwind.c src/symbol/debug_file.c src/symbol/debug_sections.c src/symbol/split_files.c src/symbol/elf_draft.c src/symbol/mini_debug.c src/symbol/lines/line_scan.c src/symbol/lines/line_draft.c src/symbol/lines/line_go.c src/unwind/build.c src/unwind/build_bare.c src/unwind/build_covers.c src/unwind/build_runtimes.c'
for room in machine symbol unwind pipeline trace replay import record annotate script processes calls collect export open daemon oprofile commands; do
	find "src/$room" -name '*.c'
done | sort | xargs grep -HnE '(^|[^A-Za-z0-9_])(elf_file_open|lang_detect|elf_symbols_begin|debug_sections_load|mini_debug_open|line_draft_make|file_lines_make|unwind_build|perf_map_parse|jitdump_feed|lang_line|kallsyms_read|xz_unpack|parser_ask_here|image_contents_of|sample_file_parse|sample_file_abi_parse|lang_append_(text|name|file))\(' |
	grep -vE '^[^:]*:[0-9]+:(static|int|bool|void|size_t) |^[^:]*:[0-9]+:[[:space:]]*(/?\*([[:space:]*/]|$)|//)' |
	awk -v script=scripts/check-parsers.sh -v noun=calls -v advice='ask the parser (guard/parser.h)' -v skipped="$rows" \
		-f scripts/listed-calls.awk /dev/fd/3 - 3<<END
$listed
END
