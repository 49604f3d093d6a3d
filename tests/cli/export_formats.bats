#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Each format, opened by a reader that is not ours; totals are the report's, event by event.

load helpers
load exports

# Names that every format that keeps them as they are must give back.
hostile_names() {
	jq -n '["quote\"back\\slash", "</script><script>alert(1)</script>", "line\nfeed\r\ttab",
		"bad\ufffd\ufffdutf8\ufffd", "semi;colon;0 17", "comma,'\''apostrophe'\''", "control\u0001\u001b[31m\u007f",
		" space at both ends ", "$(touch pwned)`id`%s%n"] | sort'
}

# has_hostile_names FILTER: all of them are in the list that jq makes of x.json
has_hostile_names() {
	hostile_names >names.json
	same "missing names" "$(jq -c --slurpfile want names.json "$1 as \$have | \$want[0] - \$have" x.json)" "[]"
}

@test "pprof: pprof-format reads it; totals, labels, mappings, names" {
	need_npm pprof-format
	assay export --list-formats | grep -q '^pprof ' || skip "built without protobuf-c"
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F pprof -o x.pb.gz
		node "$ROOT/tests/npm/pprof.cjs" x.pb.gz >x.json
		same totals "$(jq -cS '.totals as $t | [.types[].type | select(endswith(" samples") | not)] |
			map({(.): {samples: $t[. + " samples"], events: $t[.]}}) | add' x.json)" "$(totals)"
	done
	has_hostile_names '[.functions[].name]'
	# labels add up as the report breaks them down
	same "by tid" "$(jq -cS '[.samples[] | {tid, n: (.values[0] + .values[2])}] | group_by(.tid) |
		map({"\(.[0].tid)": (map(.n) | add)}) | add' x.json)" \
		"$(assay report -i s --by thread --format json -t 0 |
			jq -cS '[.rows[] | {tid: (.thread | capture("\\((?<t>[0-9]+)\\)$").t), samples}] | group_by(.tid) |
				map({(.[0].tid): (map(.samples) | add)}) | add')"
	same "pids" "$(jq -c '[.samples[].pid] | unique' x.json)" "[1000,1001]"
	same "cpus" "$(jq -c '[.samples[].cpu] | unique' x.json)" "[0,1,2,3]"
	# one event: its types are as other profilers call them
	assay export -q -i s -F pprof -o x.pb.gz 'event:cpu*'
	node "$ROOT/tests/npm/pprof.cjs" x.pb.gz | jq -e '.types[0] == {"type": "samples", "unit": "count"} and
		.types[1].unit == "nanoseconds" and .defaultType == .types[1].type'
}

@test "pprof: go tool pprof has each function's samples, and every total" {
	command -v go >/dev/null || skip "go tool pprof (golang) is not installed"
	assay export --list-formats | grep -q '^pprof ' || skip "built without protobuf-c"
	session plain
	assay export -q -i s -F pprof -o x.pb.gz
	go tool pprof -raw x.pb.gz >raw 2>errors || { cat errors >&2; false; }
	awk -F: '/^Samples:/ { on = 1 } /^Locations/ { on = 0 } on && /^ +[0-9]+ +[0-9]+ / { split($1, n, " "); for (i = 1; i < 5; i++) sum[i] += n[i] }
		END { for (i = 1; i < 5; i++) printf "%.0f\n", sum[i] }' raw >got
	totals | jq -r '.[] | .samples, .events' | diff - got
	# It leaves out what is between < and > of a name.
	go tool pprof -top -sample_index=0 -nodefraction=0 -nodecount=100000 x.pb.gz 2>errors |
		awk '$1 == "flat" { on = 1; next } on && $1 > 0 { n = $1; $1 = $2 = $3 = $4 = $5 = ""; sub(/^ +/, ""); sum[$0] += n }
			END { for (name in sum) if (name !~ /^\[/) print sum[name], name }' | sort >got
	assay report -i s -l --weight samples -t 0 --format json event:cpu-clock |
		jq -r '.rows[] | select(.samples > 0 and .symbol != "(no symbols)") | "\(.samples) \(.symbol | sub("<.*>"; ""))"' |
		awk '{ n = $1; $1 = ""; sub(/^ /, ""); sum[$0] += n } END { for (name in sum) print sum[name], name }' | sort >want
	[ "$(wc -l <want)" -gt 50 ]
	diff want got
}

@test "pprof: a real program has its build id, and its functions" {
	need_npm pprof-format
	assay export --list-formats | grep -q '^pprof ' || skip "built without protobuf-c"
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 300 >/dev/null
	assay export -q -i s -F pprof -o x.pb.gz
	node "$ROOT/tests/npm/pprof.cjs" x.pb.gz >x.json
	same "main program" "$(jq -r '.mappings[0].file' x.json)" "$(realpath "$PROGRAMS/split")"
	same "build id" "$(jq -r '.mappings[0].build_id' x.json)" \
		"$(readelf -n "$PROGRAMS/split" | awk '/Build ID/ { print $3 }')"
	jq -e '[.functions[].name] | contains(["forty", "main"])' x.json
	jq -e '[.samples[].chain | contains(["forty", "main"])] | any' x.json
}

@test "speedscope: its schema holds; totals of every event" {
	local kind weight
	for kind in plain hostile; do
		rm -rf s
		session $kind
		for weight in samples events; do
			assay export -q -i s -F speedscope --weight $weight -o x.json
			same $weight "$(jq -cS '[.profiles[] | {event: (.name | sub("^.* \\([0-9]+\\) "; ""; "m")), n: (.weights | add)}] |
				group_by(.event) | map({(.[0].event): (map(.n) | add)}) | add' x.json)" \
				"$(totals | jq -cS "map_values(.$weight)")"
		done
		# Without --weight, these are events: the counters have different periods.
		cp x.json events.json
		assay export -q -i s -F speedscope -o x.json
		cmp x.json events.json
		jq -e '[.profiles[] | (.samples | length) == (.weights | length) and (.weights | add) == .endValue] | all' x.json
		jq -e '(.shared.frames | length) as $n | [.profiles[].samples[][] | . >= 0 and . < $n] | all' x.json
	done
	has_hostile_names '[.shared.frames[].name]'
	run ! grep -o '.\{0,40\}</script>' x.json
	need_npm speedscope
	need_npm ajv
	node "$ROOT/tests/npm/schema.cjs" "$ROOT/tests/npm/node_modules/speedscope/dist/release/file-format-schema.json" x.json
}

# opened FILE FILTER: true of the line for a file that speedscope.mjs printed
opened() {
	jq -se --arg file "$1" '.[] | select(.file == $file) | '"$2" results >/dev/null ||
		{ echo "$1 is not $2: $(cut -c1-600 results)" >&2; return 1; }
}

@test "speedscope opens each format that it takes, with the weights of the report" {
	need_npm speedscope
	need_npm playwright-core
	CHROMIUM=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "Chromium is not installed"
	local format short
	session_at s "$PROGRAMS/inlines" work,main=30 rare,main=2 main=1
	assay export -q -i s --no-source -o x.callgrind
	for format in speedscope.json folded pb.gz; do
		assay export -q -i s -o "x.$format"
	done
	rm -rf s
	session plain
	for format in speedscope.json folded pb.gz trace.json; do
		assay export -q -i s -o "y.$format"
	done
	assay script -i s >y.linux-perf.txt
	short=$(short_folder)
	HOME=$short TMPDIR=$short CHROMIUM=$CHROMIUM DEADLINE=$DEADLINE timeout $((5 * DEADLINE)) \
		node "$ROOT/tests/browser/speedscope.mjs" x.* y.* >results 2>errors </dev/null || { cat errors >&2; false; }
	rm -rf "$short"
	! grep "^skip " results >why || skip "$(cut -c6- why)"
	opened x.speedscope.json '(.frames | sort) == ["main", "rare", "work"] and ([.profiles[].weight] | add) == 33'
	opened x.folded '(.frames | sort) == ["inlines", "main", "rare", "work"] and ([.profiles[].weight] | add) == 33'
	opened x.pb.gz '(.frames | sort) == ["main", "rare", "work"] and .profiles[0].weight == 33000000'
	opened x.callgrind '(.frames | unique) == ["main", "rare", "work"] and [.profiles[] | .weight] == [33, 33000000]'
	opened y.speedscope.json "([.profiles[] | select(.name | endswith(\"page-faults\")) | .weight] | add) == $(total page-faults events)"
	opened y.folded "([.profiles[].weight] | add) == $(totals | jq '[.[].events] | add')"
	opened y.pb.gz "([.profiles[].weight] | add) == $(total cpu-clock events)"
	opened y.trace.json '(.profiles | length) == 8'
	opened y.linux-perf.txt "([.profiles[].weight] | add) > 0"
}

@test "chrome: every sample has its thread, CPU and stack; totals of every event" {
	local kind weight
	for kind in plain hostile; do
		rm -rf s
		session $kind
		for weight in samples events; do
			assay export -q -i s -F chrome --weight $weight -o x.json
			same $weight "$(jq -cS '[.samples[] | {name, weight}] | group_by(.name) |
				map({(.[0].name): (map(.weight) | add)}) | add' x.json)" "$(totals | jq -cS "map_values(.$weight)")"
		done
		jq -e '.stackFrames as $f | [.samples[] | $f["\(.sf)"] != null] | all' x.json
		jq -e '.stackFrames as $f | [$f[] | .parent // empty | $f["\(.)"] != null] | all' x.json
	done
	has_hostile_names '[.stackFrames[].name]'
	run ! grep -o '.\{0,40\}</script>' x.json
	# within the ten seconds of the session, in order in each thread, whatever the event
	jq -e '[.samples[].ts] | min >= 0 and max < 10000000 and (max - min) > 8000000' x.json
	jq -e '[.samples | group_by(.tid)[] | [.[].ts] == ([.[].ts] | sort)] | all' x.json
	jq -e '[.traceEvents[] | select(.name == "thread_name")] | length == 8' x.json
	# chains are the report's: functions with all that have them in their chain
	assay report -i s -l -t 0 --columns symbol,image,total --format json |
		jq -cS '[.rows[] | select(.symbol == "line\nfeed\r\ttab.1.1")] | map(.total) | add' >want
	assay export -q --weight samples -i s -F chrome -o x.json
	jq -c '.stackFrames as $f | def has_it($s): $f["\($s)"] as $g | $g.name == "line\nfeed\r\ttab.1.1" or
			($g.parent and has_it($g.parent));
		[.samples[] | select(has_it(.sf)) | .weight] | add' x.json >got
	cmp got want
}

@test "callgrind: callgrind_annotate reads it; the functions add up to every total" {
	command -v callgrind_annotate >/dev/null || skip "callgrind_annotate (valgrind) is not installed"
	local kind event
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F callgrind -o x.callgrind
		callgrind_annotate --threshold=100 --show-percs=no --auto=no x.callgrind >text 2>errors
		same "complaints" "$(cat errors)" ""
		# both weights of both events: those of the program, and the sum over the functions
		totals | jq -r '.[] | .samples, .events' >want
		awk '/PROGRAM TOTALS/ { gsub(",", ""); for (i = 1; i < 5; i++) print $i }' text >got
		cmp want got
		sed -n 's/^events: //p' x.callgrind | tr ' ' '\n' | while read -r event; do
			callgrind_annotate --threshold=100 --show-percs=no --auto=no --show="$event" --sort="$event" x.callgrind |
				awk '/:function/ { on = 1; getline; next } on && /:/ { gsub(",", "", $1); n += $1 } END { printf "%.0f\n", n }'
		done >got
		cmp want got
		# an id has its name once in each of the three name spaces; later lines have the id alone
		awk '/^c?(ob|fn|fl|fi|fe)=\([0-9]+\)/ {
			space = $0 ~ /^c?ob/ ? "ob" : $0 ~ /^c?fn/ ? "fn" : "fl"
			id = space substr($0, index($0, "="), index($0, ")") - index($0, "=") + 1)
			if ($0 ~ /\) / ? named[id]++ : !named[id]) print
		}' x.callgrind >wrong
		same "names given twice or not at all" "$(cat wrong)" ""
		# without lines, positions have one column
		assay export -q -i s -F callgrind --no-source -o x.callgrind
		callgrind_annotate --threshold=100 --show-percs=no --auto=no x.callgrind >text 2>errors
		same "complaints" "$(cat errors)" ""
		totals | jq -r '.[] | .samples, .events' >want
		awk '/PROGRAM TOTALS/ { gsub(",", ""); for (i = 1; i < 5; i++) print $i }' text >got
		cmp want got
	done
	iconv -f UTF-8 -t UTF-8 x.callgrind >/dev/null
	# a call has all that is below it, once a sample: as the report counts it
	rm -rf s
	session plain
	assay export -q -i s -F callgrind -o x.callgrind event:cpu-clock
	callgrind_annotate --threshold=100 --show-percs=no --auto=no --tree=caller x.callgrind |
		awk '/< .*:parse / { gsub(",", "", $1); from = $1 } /\* .*render\(int, char const\*\)\.1\.0/ { print from; exit }' >got
	assay report -i s -l -t 0 --columns symbol,total --format json event:cpu-clock |
		jq '.rows[] | select(.symbol == "render(int, char const*).1.0") | .total' >want
	diff -u want got
}

# What python finds in a gmon.out: the sum of its bins, its histograms, its arcs.
gmon() {
	python3 - "$1" <<'EOF'
import struct, sys
data = open(sys.argv[1], "rb").read()
magic, version = struct.unpack_from("<4sI", data)
assert magic == b"gmon" and version == 1
at, total, histograms, arcs = 20, 0, 0, 0
while at < len(data):
    tag = data[at]
    if tag == 0:
        low, high, n, rate, name, letter = struct.unpack_from("<QQII15sc", data, at + 1)
        assert low < high and (high - low) % n == 0
        at += 1 + 40
        total += sum(struct.unpack_from(f"<{n}H", data, at))
        at += 2 * n
        histograms += 1
    else:
        assert tag == 1
        at += 1 + 20
        arcs += 1
print(total, histograms, arcs > 0)
EOF
}

@test "gmon: gprof reads its histogram and arcs; no bin wraps" {
	command -v gprof >/dev/null || skip "gprof is not installed"
	need_recording
	assay record -q -o s -e page-faults,cpu-clock -- "$PROGRAMS/deep" 4000 >/dev/null ||
		skip "this machine has not both events"
	local n total
	n=$(assay report -i s --by image --format json 'event:cpu-clock*' | jq '[.rows[] | select(.image | endswith("/deep")) | .samples] | add')
	assay export -q -i s -F gmon -o x.gmon --image deep 'event:cpu-clock*'
	same "bins" "$(gmon x.gmon)" "$n 1 True"
	gprof -b -p "$PROGRAMS/deep" x.gmon >flat
	grep ' bottom$' flat
	gprof -b -q "$PROGRAMS/deep" x.gmon >graph
	# the chain of main, level, bottom is in its arcs
	awk '/^\[.*level/ { seen = 1 } seen && /bottom \[/ { found = 1 } END { exit !found }' graph || { cat graph; return 1; }
	# nanoseconds by the million in a bin: several histograms, or a divisor, and gprof's time stays the same
	total=$(assay report -i s --format json 'event:cpu-clock*' lib-image:deep | jq '.total[0].events')
	assay export -q -i s -F gmon -o y.gmon --weight events --image '*/deep' 'event:cpu-clock*'
	gprof -b -p "$PROGRAMS/deep" y.gmon |
		awk -v ns="$total" '$4 ~ /^[0-9]/ || $3 ~ /^[0-9.]+$/ { if ($2 > max) max = $2 }
			END { d = max - ns / 1e9; if (d < 0) d = -d; print max, ns; exit d > 0.011 + ns / 1e9 * 0.02 }'
	run assay export -i s -F gmon -o none.gmon
	refused 1 "one event" "event:NAME"
	run assay export -i s -F gmon -o none.gmon --image absent 'event:cpu-clock*'
	refused 1 "no samples are in an executable file 'absent'"
	[ ! -e none.gmon ]
}

@test "gmon: 70,000 samples in one bin need two histograms, which gprof adds up" {
	command -v gprof >/dev/null || skip "gprof is not installed"
	"$PROGRAMS/make_session" s file 70000
	assay export -q -i s -F gmon -o x.gmon event:cpu-clock
	local n
	n=$(assay report -i s --format json event:cpu-clock | jq '.total[0].samples')
	[ "$n" -gt 65535 ]
	same "bins" "$(gmon x.gmon)" "$n 2 False"
	# at 1000 samples a second
	gprof -b -p "$PROGRAMS/make_session" x.gmon | awk -v n="$n" '/ main$/ { d = $3 * 1000 - n; exit d > 10 || d < -10; }'
}

@test "csv: python reads it; totals, time and chains" {
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F csv -o x.csv
		python3 -c 'if True:
			import csv, json
			rows = list(csv.DictReader(open("x.csv", newline="")))
			out = {}
			for r in rows:
			    assert None not in r and None not in r.values()
			    e = out.setdefault(r["event"], {"samples": 0, "events": 0})
			    e["samples"] += int(r["samples"])
			    e["events"] += int(r["events"])
			    assert 0 <= float(r["time"]) < 10 and int(r["offset"], 16) > 0
			    assert int(r["pid"]) in (1000, 1001) and r["stack"]
			json.dump(out, open("totals.json", "w"))
			json.dump({"names": sorted({r["symbol"] for r in rows})}, open("x.json", "w"))'
		same totals "$(jq -cS . totals.json)" "$(totals)"
	done
	jq -e '.names | contains(["line\nfeed\r\ttab.1.1"])' x.json
	jq -e '.names | contains(["quote\"back\\slash.1.1"])' x.json
}

@test "json: jq reads it; totals, names and the tree" {
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F json -o x.json
		same totals "$(jq -cS '.events as $e | [.samples[] | {event: $e[.[1]].name, s: .[7], e: .[8]}] | group_by(.event) |
			map({(.[0].event): {samples: (map(.s) | add), events: (map(.e) | add)}}) | add' x.json)" "$(totals)"
	done
	has_hostile_names '[.functions[].name]'
	run ! grep -o '.\{0,40\}</script>' x.json
	# parents come first; every index leads somewhere
	jq -e '[.nodes[1:] | to_entries[] | .value[0] <= .key] | all' x.json
	jq -e '(.nodes | length) as $n | (.threads | length) as $t | (.comms | length) as $c | (.images | length) as $i |
		[.samples[] | .[6] < $n and .[2] < $t and .[3] < $c and .[5] < $i] | all' x.json
	jq -e '(.frames | length) as $f | (.functions | length) as $n |
		([.nodes[1:][] | .[1] < $f] | all) and ([.frames[] | .[2][] | .[0] < $n] | all)' x.json
}

# protobuf FORMAT FILE: read by the fields' numbers
protobuf() {
	python3 "$ROOT/tests/cli/protobuf.py" "$@"
}

@test "otlp: its tables hold together; two profiles an event, with its totals" {
	assay export --list-formats | grep -q '^otlp ' || skip "built without protobuf-c"
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F otlp -o x.otlp
		protobuf otlp x.otlp >x.json
		same totals "$(jq -cS '([.profiles[] | {(.type): ([.samples[].value] | add)}] | add) as $t |
			[.profiles[].type | select(endswith(" samples") | not)] |
			map({(.): {samples: $t[. + " samples"], events: $t[.]}}) | add' x.json)" "$(totals)"
		jq -e '[.profiles[].samples[] | ."process.pid" >= 1000 and ."thread.id" >= 1000 and ."cpu.logical_number" < 4] | all' x.json
		jq -e '.profiles[1].unit == "nanoseconds" and .profiles[0].unit == "count" and .profiles[3].unit == "count"' x.json
	done
	has_hostile_names '.functions'
	jq -e '[.profiles[0].samples[]."thread.name"] | unique == ["</script>\ufffd", "a\"b;c\nd\te"]' x.json
}

# Skips the test where the .proto files can't be had, of a package of Debian sid or in the folder $1; PROTOS and PYTHON then say how to read with them.
need_protos() { # FOLDER [PACKAGE]
	PROTOS=$1
	[ -n "$(command -v protoc)" ] || skip "protoc (protobuf-compiler) is not installed"
	for PYTHON in python3 /usr/bin/python3 none; do
		"$PYTHON" -c 'import google.protobuf' 2>/dev/null && break
	done
	[ "$PYTHON" != none ] || skip "python3-protobuf is not installed"
	[ -z "${2-}" ] || PROTOS=$(
		source "$ROOT/tests/guest/packages.sh"
		GUEST_CACHE=${ASSAY_GUEST_CACHE:-${REAL_HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}/.cache/assay-guest}
		packages_of amd64 sid && locked unpack "$DEB_DIR/protos" "$2" && echo "$DEB_DIR/protos$1"
	) || skip "$PROTOS"
}

@test "otlp: opentelemetry-proto's own .proto files read it, as our reader does" {
	assay export --list-formats | grep -q '^otlp ' || skip "built without protobuf-c"
	need_protos /usr/include opentelemetry-proto
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F otlp -o x.otlp
		protobuf otlp x.otlp | jq -S . >ours
		"$PYTHON" "$ROOT/tests/cli/read_protos.py" otlp "$PROTOS" x.otlp | jq -S . >theirs
		cmp ours theirs
		jq -e '[.profiles[].samples | length] | add > 100' theirs
	done
	# A field of another number, or none of theirs, is noticed.
	printf '\372\001\001x' | cat x.otlp - >y.otlp
	run "$PYTHON" "$ROOT/tests/cli/read_protos.py" otlp "$PROTOS" y.otlp
	refused 1 "fields that the .proto files do not have"
}

# No package has them: PERFETTO_PROTOS=FOLDER names a checkout of google/perfetto.
@test "perfetto: Perfetto's own .proto files read it, as our reader does" {
	assay export --list-formats | grep -q '^perfetto ' || skip "built without protobuf-c"
	[ -n "${PERFETTO_PROTOS-}" ] || skip "no package has Perfetto's .proto files, and PERFETTO_PROTOS names no folder with them"
	need_protos "$PERFETTO_PROTOS"
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F perfetto -o x.perfetto
		protobuf perfetto x.perfetto | jq -S . >ours
		"$PYTHON" "$ROOT/tests/cli/read_protos.py" perfetto "$PROTOS" x.perfetto | jq -S . >theirs
		cmp ours theirs
	done
}

@test "perfetto: every sample is a packet on its thread, with its stack; totals of every event" {
	assay export --list-formats | grep -q '^perfetto ' || skip "built without protobuf-c"
	local kind
	for kind in plain hostile; do
		rm -rf s
		session $kind
		assay export -q -i s -F perfetto -o x.perfetto
		protobuf perfetto x.perfetto >x.json
		same totals "$(jq -cS '[.samples[].event] | group_by(.) | map({(.[0]): length}) | add' x.json)" \
			"$(totals | jq -cS 'map_values(.samples)')"
		jq -e '(.threads | length) == 8 and (.processes | length) == 2' x.json
		jq -e '([.threads[] | {"\(.[0])": .[1]}] | add) == ([.samples[] | {"\(.tid)": .pid}] | add)' x.json
	done
	jq '{names: [.samples[].chain[]] | unique}' x.json >names_in
	mv names_in x.json
	has_hostile_names '.names'
}

@test "lines and inlined functions are in the formats that have room for them" {
	need_npm pprof-format
	assay export --list-formats | grep -q '^pprof ' || skip "built without protobuf-c"
	[ -x "$PROGRAMS/templates" ] || skip "no C++ compiler: tests/programs/templates was not built"
	need_recording
	assay record -q -o s -- "$PROGRAMS/templates" 2000 >/dev/null
	assay export -q -i s -F pprof -o x.pb.gz
	node "$ROOT/tests/npm/pprof.cjs" x.pb.gz >x.json
	jq -e '[.functions[] | select(.name == "main") | .file | endswith("templates.cc")] | any' x.json
	jq -e '[.lines[] | select(.name == "main") | .line > 0] | any' x.json
	# an inlined function, without a symbol
	jq -r '[.samples[].chain[]] | unique[]' x.json >chains
	assay export -q -i s -F pprof --no-source -o y.pb.gz
	node "$ROOT/tests/npm/pprof.cjs" y.pb.gz >y.json
	jq -r '[.samples[].chain[]] | unique[]' y.json >symbols
	[ "$(comm -23 <(sort chains) <(sort symbols) | wc -l)" -gt 0 ]
	jq -e '[.lines[].line] | unique == [0]' y.json
	same totals "$(jq -cS .totals x.json)" "$(jq -cS .totals y.json)"
	# the same functions in each
	jq -r '[.functions[].name] | unique[]' x.json >names
	assay export -q -i s -F json -o j.json
	jq -r '[.functions[].name] | unique[]' j.json | diff names -
	jq -e '[.functions[] | select(.is_inlined)] | length > 0' j.json
	assay export -q -i s -F speedscope -o j.json
	jq -r '[.shared.frames[].name] | unique[]' j.json | diff names -
	assay export -q -i s -F firefox -o j.json.gz
	zcat j.json.gz | jq -r '.shared as $s | [$s.funcTable.name[] | $s.stringArray[.]] | unique[]' | diff names -
	assay export -q -i s -F callgrind -o x.callgrind
	has '^fi=.*work\.h$' x.callgrind
	if command -v callgrind_annotate >/dev/null; then
		callgrind_annotate --show-percs=no x.callgrind >text
		same "callgrind's total" "$(awk '/PROGRAM TOTALS/ { gsub(",", ""); print $1 }' text)" "$(jq .totals.samples x.json)"
	fi
}

@test "firefox: its tables hold together; totals of every event" {
	local kind weight
	for kind in plain hostile; do
		rm -rf s
		session $kind
		for weight in samples events; do
			assay export -q -i s -F firefox --weight $weight -o x.json.gz
			zcat x.json.gz >x.json
			same $weight "$(jq -cS '[.threads[] | {event: (.name | capture("^[^(]* \\((?<e>.*)\\)$"; "m").e), n: (.samples.weight | add)}] |
				group_by(.event) | map({(.[0].event): (map(.n) | add)}) | add' x.json)" "$(totals | jq -cS "map_values(.$weight)")"
		done
		# every column is as long as its table says, every index leads somewhere, parents come first
		jq -e '.shared as $s | [$s.stackTable, $s.frameTable, $s.funcTable, $s.resourceTable, $s.sources, .threads[].samples |
			.length as $n | to_entries[] | select(.value | type == "array") | (.value | length) == $n] | all' x.json
		jq -e '.shared as $s | .libs as $libs |
			([$s.stackTable.frame[] | . < $s.frameTable.length] | all) and
			([$s.stackTable.prefix | to_entries[] | .value == null or .value < .key] | all) and
			([$s.frameTable.func[] | . < $s.funcTable.length] | all) and
			([$s.funcTable.name[], $s.resourceTable.name[] | . < ($s.stringArray | length)] | all) and
			([$s.funcTable.resource[] | . < $s.resourceTable.length] | all) and
			([$s.resourceTable.lib[] | . < ($libs | length)] | all) and
			([.threads[].samples.stack[] | . < $s.stackTable.length] | all) and
			([.threads[].samples.time | . == sort] | all)' x.json
		jq -e '.meta.preprocessedProfileVersion == 61 and (.meta.categories | length) == 3 and
			([.threads[] | .pid | type == "string"] | all)' x.json
	done
	has_hostile_names '.shared.stringArray'
	run ! grep -o '.\{0,40\}</script>' x.json
}

# The Firefox Profiler's own code, which brings the format up to its own version.
firefox() { # FILE
	local folder status=0
	folder=$(short_folder)
	DEADLINE=$DEADLINE timeout $((3 * DEADLINE)) node "$ROOT/tests/npm/firefox.mjs" "$1" "$folder" </dev/null || status=$?
	rm -rf "$folder"
	return $status
}

@test "firefox: the Firefox Profiler's own code opens it; totals of every event, threads, functions and images" {
	need_npm @firefox-devtools/profiler-cli
	local kind weight
	for kind in plain:samples hostile:events; do
		weight=${kind#*:}
		rm -rf s
		session "${kind%:*}" 1000
		assay export -q -i s -F firefox --weight "$weight" -o x.json.gz
		firefox x.json.gz >x.json
		same "$weight" "$(jq -cS '[.threads[] | {event: (.name | capture("^[^(]* \\((?<e>.*)\\)$"; "m").e), n: .total}] |
			group_by(.event) | map({(.[0].event): (map(.n) | add)}) | add' x.json)" "$(totals | jq -cS "map_values(.$weight)")"
		assay export -q -i s -F json -o j.json
		same threads "$(jq -cS '[.threads[] | [.pid, .tid]] | unique' x.json)" \
			"$(jq -cS '[.threads[] | [(.pid | tostring), .tid]] | unique' j.json)"
		same functions "$(jq -cS '[.threads[].functions[].name] | unique' x.json)" "$(jq -cS '[.functions[].name] | unique' j.json)"
		jq -e '[.threads[].functions[] | .image | type == "string" and . != ""] | all' x.json
	done
	has_hostile_names '[.threads[].functions[].name] | unique'
	jq -e '.meta.symbolicated and .meta.importedFrom == "assay" and .meta.logicalCPUs == 4' x.json
}

# The members of each object are those of version 61 (src/types/profile.ts of firefox-devtools/profiler), and no others.
@test "firefox: no object has a member that the format does not know" {
	session plain
	assay export -q -i s -F firefox -o x.json.gz
	zcat x.json.gz >x.json
	members() { # FILTER MEMBERS…
		local filter=$1
		shift
		same "$filter" "$(jq -cS "[$filter | keys] | unique" x.json)" "$(jq -cnS --args '[$ARGS.positional | sort]' "$@")"
	}
	members . meta libs shared threads
	members .meta CPUName arguments categories importedFrom interval logicalCPUs markerSchema oscpu platform preprocessedProfileVersion processType product \
		sourceCodeIsNotOnSearchfox stackwalk startTime symbolicated usesOnlyOneStackType version
	members '.meta.categories[]' color name subcategories
	members '.libs[]' arch breakpadId codeId debugName debugPath name path
	members .shared frameTable funcTable nativeSymbols resourceTable sources stackTable stringArray
	members .shared.stackTable frame length prefix
	members .shared.frameTable address category column func inlineDepth innerWindowID length line nativeSymbol subcategory
	members .shared.funcTable columnNumber isJS length lineNumber name relevantForJS resource source
	members .shared.resourceTable host length lib name type
	members .shared.nativeSymbols address functionSize length libIndex name
	members .shared.sources filename id length sourceMapURL startColumn startLine
	members '.threads[]' isMainThread markers name pausedRanges pid processName processShutdownTime processStartupTime processType registerTime samples tid unregisterTime
	members '.threads[].samples' length stack time weight weightType
	members '.threads[].markers' category data endTime length name phase startTime
	jq -e '.shared as $s | ([$s.frameTable.category[] | . >= 0 and . < 3] | all) and ([$s.frameTable.subcategory[] | . == 0] | all) and
		([$s.funcTable.source[] | . == null or (. >= 0 and . < $s.sources.length)] | all) and
		([$s.sources.filename[] | . >= 0 and . < ($s.stringArray | length)] | all) and
		([$s.frameTable.inlineDepth[] | . >= 0] | all) and ($s.stringArray | unique | length) == ($s.stringArray | length)' x.json
	jq -e '.meta.startTime as $start | [.threads[] | ([.samples.time[] | . >= 0] | all) and .samples.weightType == "samples" and (.samples.weight | length) > 0] | all' x.json
}

# The text of an export: what a reader finds in it.
text_of() { # FORMAT FILE
	case $1 in
	pprof | firefox) zcat "$2" ;;
	sqlite) sqlite3 "$2" .dump ;;
	oprofile) find "$2" -type f -print -exec cat {} + ;;
	*) cat "$2" ;;
	esac
}

# perf script's text of branches in app_of_the_test, at the place where stir() is inlined.
branches_text() {
	local app=$PWD/app_of_the_test at
	at=$(hot_place app_of_the_test)
	at=$((0x${at#0x}))
	printf 'a 7/7 1.000001: PERF_RECORD_MMAP2 7/7: [0x0(0x%x) @ 0 b3:05 17 28]: r-xp %s\n' "$(stat -c %s app_of_the_test)" "$app"
	printf 'a 7/7 1.000002: cycles: %x (%s) 0x%x(%s)/0x%x(%s)/P/-/-/4/\n' "$at" "$app" $((at + 8)) "$app" "$at" "$app"
}

# The session of one sample, or the branches there, in a format.
export_app() { # FORMAT FILE
	case $1 in
	autofdo | bolt) assay export -q -i branches -F "$1" --image app_of_the_test -o "$2" ;;
	gmon) assay export -q -i s -F gmon --image app_of_the_test -o "$2" ;;
	*) assay export -q -i s -F "$1" -o "$2" ;;
	esac
}

@test "docs/exporters.md says what each format keeps" {
	command -v sqlite3 >/dev/null && command -v xxd >/dev/null || skip "sqlite3 or xxd is not installed"
	local id format kept n=0
	cp "$PROGRAMS/inlines" app_of_the_test
	id=$(readelf -n app_of_the_test | awk '/Build ID/ { print $3 }')
	session_at s app_of_the_test "$(hot_place app_of_the_test),main=30"
	"$PROGRAMS/make_session" lossy lossy 1000
	branches_text >branches
	kept_table >table
	while IFS='| ' read -r _ format kept; do
		assay export --list-formats | grep -q "^$format " || continue
		[ "$format" != postgresql ] || continue # cli/sql.bats
		export_app "$format" "x.$format"
		text_of "$format" "x.$format" >text
		found=$(kept_in text "$PWD/app_of_the_test" "$id" inlines.c stir)
		case $format in
		# of branches, or of code with debug information or a file, which a session of "lossy" has not
		autofdo | bolt | llvm | gmon) found+=" | no" ;;
		*)
			assay export -q -i lossy -F "$format" -o "y.$format"
			text_of "$format" "y.$format" >text
			sed -i 's/the ring was full/ring-full/' text # as comments say it
			found+=" | $(has_text text ring-full)"
			;;
		esac
		same "$format" "$found" "${kept% |}"
		n=$((n + 1))
	done <table
	# every format that this build has, but for one that needs a server
	[ "$n" = "$(assay export --list-formats | awk '/^[a-z]+ / && !/^postgresql / { n++ } END { print n }')" ]
}
