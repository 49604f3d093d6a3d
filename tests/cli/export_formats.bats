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

@test "pprof: a real program has its build id, and its functions" {
	need_npm pprof-format
	assay export --list-formats | grep -q '^pprof ' || skip "built without protobuf-c"
	need_recording
	assay record -q -o s -- "$PROGRAMS/split" 1000 >/dev/null
	assay export -q -i s -F pprof -o x.pb.gz
	node "$ROOT/tests/npm/pprof.cjs" x.pb.gz >x.json
	same "main program" "$(jq -r '.mappings[0].file' x.json)" "$PROGRAMS/split"
	same "build id" "$(jq -r '.mappings[0].build_id' x.json)" \
		"$(readelf -n "$PROGRAMS/split" | awk '/Build ID/ { print $3 }')"
	jq -e '[.functions[].name] | contains(["forty", "main"])' x.json
	jq -e '[.samples[] | select(.chain[0] == "forty")][0].chain | contains(["main"])' x.json
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
		jq -e '[.profiles[] | (.samples | length) == (.weights | length) and (.weights | add) == .endValue] | all' x.json
		jq -e '(.shared.frames | length) as $n | [.profiles[].samples[][] | . >= 0 and . < $n] | all' x.json
	done
	has_hostile_names '[.shared.frames[].name]'
	run ! grep -q '</script>' x.json
	need_npm speedscope
	need_npm ajv
	node "$ROOT/tests/npm/schema.cjs" "$ROOT/tests/npm/node_modules/speedscope/dist/release/file-format-schema.json" x.json
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
	run ! grep -q '</script>' x.json
	# within the ten seconds of the session, in order in each thread and event
	jq -e '[.samples[].ts] | min >= 0 and max < 10000000 and (max - min) > 8000000' x.json
	jq -e '[.samples | group_by([.tid, .name])[] | [.[].ts] == ([.[].ts] | sort)] | all' x.json
	jq -e '[.traceEvents[] | select(.name == "thread_name")] | length == 8' x.json
	# chains are the report's: functions with all that have them in their chain
	assay report -i s -l -t 0 --columns symbol,image,total --format json |
		jq -cS '[.rows[] | select(.symbol == "line\nfeed\r\ttab.1.1")] | map(.total) | add' >want
	assay export -q -i s -F chrome -o x.json
	jq -c '.stackFrames as $f | def has_it($s): $f["\($s)"] as $g | $g.name == "line\nfeed\r\ttab.1.1" or
			($g.parent and has_it($g.parent));
		[.samples[] | select(has_it(.sf)) | .weight] | add' x.json >got
	cmp got want
}
