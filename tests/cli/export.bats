#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay export: what holds for every format, on sessions that are the same every time.

load helpers
load exports
load perfdata

@test "folded: the lines of an event add up to its total" {
	session plain
	local event weight
	for weight in samples events; do
		assay export -q -i s -F folded --weight $weight -o x.folded
		for event in cpu-clock page-faults; do
			[ "$(awk -v e="$event;" 'index($0, e) == 1 { n += $NF } END { printf "%.0f\n", n }' x.folded)" = \
				"$(total $event $weight)" ]
		done
	done
	# one event: no frame for it
	assay export -q -i s -F folded -o x.folded event:page-faults
	run ! grep -v '^\(worker\|main\);' x.folded
	[ "$(awk '{ n += $NF } END { printf "%.0f\n", n }' x.folded)" = "$(total page-faults samples event:page-faults)" ]
}

@test "folded: hostile names stay on their line and between their semicolons" {
	session hostile
	assay export -q --weight samples -i s -F folded -o x.folded
	iconv -f UTF-8 -t UTF-8 x.folded >/dev/null
	[ "$(grep -cv '^cpu"clock\\x[0-9a-f]*:;\|^faults</script>' x.folded)" = 0 ]
	[ "$(LC_ALL=C grep -c '[[:cntrl:]]' x.folded)" = 0 ]
	[ "$(awk '{ n += $NF } END { printf "%.0f\n", n }' x.folded)" = 3000 ]
}

@test "--format or the file's extension chooses the format" {
	session plain
	assay export -q -i s -o x.folded
	assay export -q -i s -F folded >y.folded
	cmp x.folded y.folded
	run assay export -i s -o x.unknown
	refused 2 "the name 'x.unknown' says no format" --list-formats
	run assay export -i s
	refused 2 "no format is given"
	run assay export -i s -F nonsense
	refused 2 nonsense folded
}

@test "filters choose the exported samples; nothing to export is an error" {
	session plain
	assay export -q --weight samples -i s -F folded -o x.folded comm:worker event:cpu-clock
	[ "$(awk '{ n += $NF } END { printf "%.0f\n", n }' x.folded)" = "$(total cpu-clock samples comm:worker event:cpu-clock)" ]
	run assay export -i s -o none.folded comm:nobody
	refused 1 "export:" comm
	[ ! -e none.folded ]
}

@test "a file that can't be written keeps its content, and leaves nothing beside it" {
	session plain
	mkdir dir
	run assay export -i s -F folded -o dir
	refused 1 "cannot write 'dir': Is a directory"
	run assay export -i s -F folded -o absent/x
	refused 1 "cannot write 'absent/x': No such file"
	need_full_disk
	"$PROGRAMS/make_session" g file 70000
	local format from
	for format in $(formats); do
		case $format in
		postgresql | perf-sqlite | oprofile | autofdo | bolt | llvm) continue ;; # no file; of recordings, of lines alone
		esac
		from=s
		[ "$format" != gmon ] || from=g # it wants an image that is a file
		run unshare -m sh -c 'mount -t tmpfs -o size=4k none full && echo kept >full/x &&
			assay export -i "$1" -F "$2" -o full/x event:cpu-clock; echo "status $?, $(cat full/x), $(ls full)"' \
			sh $from "$format"
		refused 0 "cannot write 'full/x': " "status 1, kept, x"
		[[ "$output" =~ (No space left|disk is full) ]]
	done
}

@test "a device and a reader that goes away are no trouble" {
	session plain
	assay export -q -i s -F folded -o /dev/null
	[ -c /dev/null ]
	run assay export -i s -F folded -o /dev/full
	refused 1 "cannot write '/dev/full': No space left"
	assay export -q -i s -F folded -o - | head -c 1 >/dev/null
	ln -s real.folded link.folded
	touch real.folded
	assay export -q -i s -o link.folded
	[ -L link.folded ]
	[ -s real.folded ]
}

@test "perf.data files are exported as sessions are" {
	perf_record -g -e cpu-clock -o p.data -- "$PROGRAMS/split" 300
	assay export -q -i p.data -F folded -o x.folded
	[ "$(awk '{ n += $NF } END { printf "%.0f\n", n }' x.folded)" = \
		"$(assay report -i p.data --format json | jq '[.total[].samples] | add')" ]
}

@test "a CPU that samples are not kept apart by is -1" {
	need_recording
	assay record -q --separate=process,thread -o merged.assay -- sh -c "i=0; while [ \$i -lt 200000 ]; do i=\$((i+1)); done"
	assay export -i merged.assay -F csv -o merged.csv
	[ "$(awk -F, 'NR > 1 { print $6 }' merged.csv | sort -u)" = -1 ]
	assay export -i merged.assay -F json -o merged.json
	[ "$(jq -c '[.samples[][4]] | unique' merged.json)" = "[-1]" ]
}

# One event of eight threads, in the order of time: an hour at some 400 Hz.
many_samples() { # COUNT
	pipe_header
	python3 - "$1" <<-'END'
		import struct, sys
		out = sys.stdout.buffer
		for i in range(int(sys.argv[1])):
		    out.write(struct.pack("<IHHQIIQ", 9, 2, 32, 0x1000 + i * i % 97, 41, 41 + i % 8, 10**9 + i * 2400000 + i * i % 977))
	END
}

# The peak of a command's memory in KiB.
peak_of() {
	python3 - "$@" <<-'END'
		import resource, subprocess, sys
		subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
	END
}

@test "no export keeps all samples in memory" {
	many_samples 1000000 >many.data
	assay import -q -o many many.data
	local format
	for format in $(formats); do
		case $format in
		postgresql | perf-sqlite | oprofile | autofdo | bolt | llvm | gmon) continue ;;
		esac
		run peak_of assay export -q -i many -F "$format" -o many.out
		[ "$status" = 0 ]
		echo "$format: $output KiB"
		[ "$output" -lt 50000 ]
		rm many.out
	done
	assay export -q -i many -F json -o - | jq -e '[.samples[][7]] | add == 1000000' >/dev/null
	need_full_disk
	for format in speedscope perfetto chrome firefox sqlite; do
		[[ " $(formats | tr '\n' ' ')" == *" $format "* ]] || continue
		run unshare -m sh -c 'mount -t tmpfs -o size=4k none full &&
			TMPDIR=full assay export -i many -F "$1" -o many.out' sh "$format"
		refused 1 "a temporary file for samples: No space left on device"
		[ ! -e many.out ]
	done
}
