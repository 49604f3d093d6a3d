#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Where opreport of assay once differed from OProfile 1.5. Every expected text is the original's.
load helpers
load opdemo

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR
	demo oprofile_data
}

# opreport ARGUMENTS… prints exactly the text of standard input.
prints() {
	run --separate-stderr opreport "$@"
	[ "$status" = 0 ] || echo "$stderr"
	diff -u - <(echo "$output")
}

sample() { # OPTIONS… MODE SESSION ARGUMENTS…
	python3 "$MKOPFILE" "$@" >/dev/null
}

DASHES=-------------------------------------------------------------------------------

@test "-c: a function has a block in each application, and arcs of other applications are not its own" {
	sample --app "$BIN/ls" flat oprofile_data "$BIN/libdemo.so" lib_work=9000
	sample --app "$BIN/ls" cg oprofile_data "$BIN/libdemo.so" "$BIN/libdemo.so" lib_work+4:lib_work=7777
	prints -n -c image:"$BIN/app" <<-END
		$DASHES
		  1000     100.000  app                      mid
		1000     50.0000  libdemo.so               lib_work
		  1000     100.000  libdemo.so               lib_work [self]
		$DASHES
		  800      100.000  app                      mid
		800      40.0000  app                      leaf
		  800      100.000  app                      leaf [self]
		$DASHES
		  150      100.000  app                      main
		150       7.5000  app                      mid
		  1000     51.2821  libdemo.so               lib_work
		  800      41.0256  app                      leaf
		  150       7.6923  app                      mid [self]
		$DASHES
		50        2.5000  app                      main
		  150      75.0000  app                      mid
		  50       25.0000  app                      main [self]
		$DASHES
	END
	run opreport -n -c
	[ "$(grep -c '^[0-9].* lib_work$' <<<"$output")" = 2 ]
	[[ "$output" == *"
  7777     46.3552  libdemo.so               ls                       lib_work"* ]] || [[ "$output" == *"7777     46.3"* ]]
}

@test "-c: arcs into a library without samples of its own are their application's" {
	rm -rf oprofile_data
	sample flat oprofile_data "$BIN/app" leaf=800 mid=150 main=50
	sample cg oprofile_data "$BIN/app" "$BIN/libdemo.so" mid+4:lib_work=700
	sample --app "$BIN/ls" cg oprofile_data "$BIN/ls" "$BIN/libdemo.so" 0x1004:lib_work=7777
	sample cg oprofile_data "$BIN/app" "$BIN/app" main+4:mid=150
	prints -n -c image:"$BIN/app" <<-END
		$DASHES
		800      80.0000  app                      leaf
		  800      100.000  app                      leaf [self]
		$DASHES
		  150      100.000  app                      main
		150      15.0000  app                      mid
		  700      82.3529  libdemo.so               lib_work
		  150      17.6471  app                      mid [self]
		$DASHES
		50        5.0000  app                      main
		  150      75.0000  app                      mid
		  50       25.0000  app                      main [self]
		$DASHES
		  700      100.000  app                      mid
		0              0  libdemo.so               lib_work
		  0              0  libdemo.so               lib_work [self]
		$DASHES
	END
}

@test "-c goes with -a, -g and -D" {
	prints -n -c -a -g image:"$BIN/app" lib-image:"$BIN/app" -i mid <<-END
		$DASHES
		  150      150           100.000  100.000    app.c:5                     main
		150      150           100.000  100.000    app.c:4                     mid
		  1000     1000          51.2821  51.2821    lib.c:5                     lib_work
		  800      1800          41.0256  92.3077    app.c:3                     leaf
		  150      1950           7.6923  100.000    app.c:4                     mid [self]
		$DASHES
	END
}

@test "--merge=tgid keeps each application's name" {
	for ids in "1 app" "2 ls"; do
		read -r tgid app <<<"$ids"
		sample --event INST --count 500 --tgid "$tgid" --tid "$tgid" --app "$BIN/$app" flat oprofile_data "$BIN/libdemo.so" "lib_work=$tgid"
	done
	prints -n -l --merge=tgid event:INST <<-END
		2        66.6667  libdemo.so               ls                       lib_work
		1        33.3333  libdemo.so               app                      lib_work
	END
}

@test "-d has the columns of -a" {
	address=$(nm bin/app | awk '$3 == "leaf" { print substr($1, 9) }')
	run --separate-stderr opreport -n -d -a
	[[ "$output" == *"
$address 800      1800          39.8010  89.5522    app                      app                      leaf
  $address 700      700           87.5000  87.5000
"* ]]
}

@test "classes have no line of titles, no class without samples, and all with samples" {
	for cpu in 0 1 3; do
		sample --event INST --count 500 --cpu "$cpu" flat oprofile_data "$BIN/app" "leaf=$((cpu + 1))"
	done
	sample --event INST --count 500 --cpu 3 flat oprofile_data "$BIN/ls" 0x1100=5
	prints -l event:INST -i leaf image:"$BIN/app" <<-END
		CPU: AMD64 generic, speed 2400 MHz (estimated)
		Counted INST events (Unknown event) with a unit mask of 0x00 (No unit mask) count 500
		Samples on CPU 0
		Samples on CPU 1
		Samples on CPU 3
		samples  %        samples  %        samples  %        symbol name
		1        100.000  2        100.000  4        100.000  leaf
	END
	# cpu 3 alone has samples of ls
	prints -n -l event:INST image:"$BIN/ls" <<-END
		5        100.000  $BIN/ls
	END
	# a class without a sample of the symbol stays, and the application that only it has, too
	prints -n -l event:INST -e leaf <<-END
		0              0  0              0  5        100.000  ls                       $BIN/ls
	END
}

@test "a summary shows a program's libraries also where it has no samples itself" {
	sample --event INST --count 500 --app "$BIN/ls" flat oprofile_data "$BIN/libdemo.so" lib_work=5
	prints event:INST <<-END
		CPU: AMD64 generic, speed 2400 MHz (estimated)
		Counted INST events (Unknown event) with a unit mask of 0x00 (No unit mask) count 500
		         INST:500|
		  samples|      %|
		------------------
		        5 100.000 ls
		$(printf '\t')         INST:500|
		$(printf '\t')  samples|      %|
		$(printf '\t')------------------
		$(printf '\t')        5 100.000 libdemo.so
	END
}

@test "anonymous memory has process and range; code in a .jo file is of that file" {
	sample --app "$BIN/app" --anon anon --start 0x7f0000000000 flat oprofile_data 12.0x7f0000000000.0x7f0000000fff 0x20=7
	sample --app "$BIN/app" --anon '[heap]' --start 0x7f0000001000 flat oprofile_data 12.0x7f0000001000.0x7f0000001fff 0x20=8
	sample --app "$BIN/app" --anon anon --start 0x400000 flat oprofile_data 13.0x400000.0x400fff 0x20=9
	prints -n -l lib-image:'*tgid*' <<-END
		9        37.5000  anon (tgid:13 range:0x400000-0x400fff) anon (tgid:13 range:0x400000-0x400fff)
		8        33.3333  [heap] (tgid:12 range:0x7f0000001000-0x7f0000001fff) [heap] (tgid:12 range:0x7f0000001000-0x7f0000001fff)
		7        29.1667  anon (tgid:12 range:0x7f0000000000-0x7f0000000fff) anon (tgid:12 range:0x7f0000000000-0x7f0000000fff)
	END
	printf '.globl hot\n.type hot,@function\nhot: .fill 64,1,0x90\n.size hot,64\n' >code.s
	gcc -nostdlib -static -no-pie -Wl,-Ttext=0x400000 -Wl,-e,hot -o code.jo code.s
	cp code.jo "oprofile_data/samples/current/{root}$BIN/app/{dep}/{anon:anon}/13.jo"
	run opreport -n -l
	[[ "$output" == *"
9         0.4425  13.jo                    app                      hot"* ]]
}

@test "--image-path finds a kernel module by its file's name, and shows it" {
	printf '.text\n.globl mod_read\n.type mod_read,@function\nmod_read: .fill 16,1,0x90\n.size mod_read,16\n' >mod.s
	mkdir mods
	gcc -c -o mods/my-mod.ko mod.s
	sample --app "$BIN/app" --kernel flat oprofile_data my_mod 0x4=50
	run opreport -n -l
	[[ "$output" == *"my_mod                   app                      /my_mod"* ]]
	run opreport -n -l -p mods
	[[ "$output" == *"my-mod.ko                app                      mod_read"* ]]
	opreport -l -X -p mods >out.xml 2>/dev/null
	grep -q '<module name="/my_mod">' out.xml
	grep -q '<symboldata id="[0-9]*" name="mod_read"' out.xml
}

@test "a comparison: no change is 0, and equal names at different paths are different programs" {
	cp -r oprofile_data/samples/current oprofile_data/samples/before
	prints -nl -w -a image:"$BIN/app" lib-image:"$BIN/libdemo.so" '{' session:before '}' '{' session:current '}' <<-END
		$(nm bin/libdemo.so | awk '$3 == "lib_work" { print substr($1, 9) }') 1000     1000          100.000  100.000          0   libdemo.so               lib_work
	END
	mkdir other
	cp bin/ls other/ls
	sample flat oprofile_data "$(realpath other/ls)" 0x1100=30
	run --separate-stderr opreport -nl -f '{' session:before '}' '{' session:current '}'
	grep -E "^30 +1.4706  \+\+\+ .*/other/ls" <<<"$output"
	run opreport -l '{}' '{' session:before '}'
	refused 1 "the old profile in the first braces"
}

@test "a path through a link means the file that it leads to" {
	ln -s "$BIN" links
	[ "$(opreport -n -l image:"$PWD/links/app" 2>/dev/null | wc -l)" = 4 ]
	[ "$(opreport -n -l lib-image:"$PWD/links/libdemo.so" 2>/dev/null | wc -l)" = 1 ]
	[ "$(opreport -n -l image-exclude:"$PWD/links/app" 2>/dev/null | wc -l)" = 1 ]
	[ "$(opreport -n -l "$PWD/links/ls" 2>/dev/null | wc -l)" = 1 ]
	run assay report -i oprofile_data -l lib-image:"$PWD/links/gone"
	[ "$status" = 1 ]
}

@test "a list names the file behind a link; the summary and XML have the name of the samples" {
	rm -rf oprofile_data
	ln -s "$BIN" links
	sample --app "$PWD/links/app" flat oprofile_data "$PWD/links/app" leaf=5
	sample --app "$PWD/links/app" --anon '[heap]' --start 0x400000 flat oprofile_data 12.0x400000.0x400fff 0x20=8
	ln -s "$BIN/libdemo.so" lib.so.1
	sample --app "$PWD/links/app" flat oprofile_data "$BIN/libdemo.so" lib_work=9
	mv "oprofile_data/samples/current/{root}$PWD/links/app/{dep}/{root}$BIN/libdemo.so" .
	mkdir -p "oprofile_data/samples/current/{root}$PWD/links/app/{dep}/{root}$PWD"
	mv libdemo.so "oprofile_data/samples/current/{root}$PWD/links/app/{dep}/{root}$PWD/lib.so.1"
	prints -n -l -f lib-image:'*.so*' <<-END
		9        100.000  $BIN/libdemo.so lib_work
	END
	prints -n -f <<-END
		       22 100.000 $PWD/links/app
		$(printf '\t')        9 40.9091 $PWD/lib.so.1
		$(printf '\t')        8 36.3636 [heap] (tgid:12 range:0x400000-0x400fff)
		$(printf '\t')        5 22.7273 $PWD/links/app
	END
	opreport -n -l -X >out.xml 2>/dev/null
	# in the order of file names, unless -f asks for paths
	diff - <(sed -n 's/^<\(binary\|module\) name="\([^"]*\)">$/\2/p' out.xml) <<-END
		$PWD/links/app
		[heap] (tgid:12 range:0x400000-0x400fff)
		$PWD/lib.so.1
	END
	opreport -n -l -f -X 2>/dev/null | sed -n 's/^<module name="\([^"]*\)">$/\1/p' >modules
	[ "$(head -1 modules)" = "$PWD/lib.so.1" ]
}

@test "merged unit masks are one event without a mask in XML; --sort means nothing there" {
	rm -rf oprofile_data
	for mask in 1 2; do
		sample --event DATA_CACHE_MISSES --um "$mask" --count 500 flat oprofile_data "$BIN/app" leaf=5
	done
	sample --event RETIRED_UOPS --um 0 --count 500 flat oprofile_data "$BIN/app" mid=5
	opreport -l -X --merge=unitmask -s vma 2>/dev/null >out.xml
	diff - <(grep -E '<(eventsetup|class) ' out.xml) <<-END
		<eventsetup id="0" eventname="DATA_CACHE_MISSES" unitmask="3" setupcount="500"/>
		<eventsetup id="1" eventname="RETIRED_UOPS" unitmask="0" setupcount="500"/>
		<class name="c0" event="0"/>
		<class name="c1" event="1"/>
	END
	xmllint --noout --schema "$ROOT/src/oprofile/report/report.xsd" out.xml
	run opreport -X -s nothing
	[ "$status" = 0 ]
	run opreport -s vma
	refused 1 "--sort vma needs --symbols"
}

@test "the abi file of OProfile before 0.9.8" {
	cat >oprofile_data/abi <<-'END'
		sizeof_double 8
		sizeof_time_t 8
		sizeof_u8 1
		sizeof_u32 4
		sizeof_int 4
		sizeof_unsigned_int 4
		sizeof_odb_key_t 8
		sizeof_odb_index_t 4
		sizeof_odb_value_t 4
		sizeof_odb_node_nr_t 4
		sizeof_odb_descr_t 32
		sizeof_odb_node_t 16
		sizeof_struct_opd_header 72
		offsetof_node_key 0
		offsetof_node_value 8
		offsetof_node_next 12
		offsetof_descr_size 0
		offsetof_descr_current_size 4
		offsetof_header_magic 0
		offsetof_header_version 4
		offsetof_header_cpu_type 8
		offsetof_header_ctr_event 12
		offsetof_header_ctr_um 16
		offsetof_header_ctr_count 20
		offsetof_header_is_kernel 24
		offsetof_header_cpu_speed 32
		offsetof_header_mtime 40
		offsetof_header_cg_to_is_kernel 48
		offsetof_header_anon_start 56
		offsetof_header_cg_to_anon_start 64
		little_endian 1
	END
	find oprofile_data -name 'CPU*' | while read -r file; do
		printf '\x11' | dd of="$file" bs=1 seek=4 conv=notrunc status=none
	done
	run opreport -n -l
	[ "$status" = 0 ]
	[[ "$output" == *"800      39.8010  app"* ]]
	rm oprofile_data/abi
	run opreport -n -l
	refused 1 "version 0x11"
}

@test "symbols that nothing has leave an empty list, and status 0" {
	prints -l -i NONE <<-END
		CPU: AMD64 generic, speed 2400 MHz (estimated)
		Counted CPU_CLK_UNHALTED events (CPU Clocks not Halted) with a unit mask of 0x00 (No unit mask) count 100000
		samples  %        app name                 symbol name
	END
	run opreport -l image:/no/such -i NONE
	[ "$status" = 1 ]
}

@test "-x and --merge=lib exclude each other in every list" {
	run opreport -x --merge=lib,tid
	refused 1 "exclude each other"
	run opreport -x --merge=all
	[ "$status" = 0 ]
}
