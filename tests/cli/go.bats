#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Stripped Go programs: names, lines and inlined functions come from the table of Go's runtime.
load helpers

LINES_TOOL=$ASSAY_BUILD/bench/lines

# prepare_go CGO: 1 with C, or 0.
prepare_go() {
	export HOME=$PWD GOCACHE=$PWD/cache GO111MODULE=off CGO_ENABLED=$1
}

# Builds hot.go as ./full and, stripped, as ./app: `build FLAGS…`.
build() {
	[ -n "$(command -v go)" ] || skip "no Go compiler"
	[ -x "$LINES_TOOL" ] || skip "bench/lines is not built"
	cat >hot.go <<-'END'
		package main

		import "os"

		func leaf(v int) int { return v*31 + len(os.Args) }

		func inner(v int) int { return leaf(v) ^ 5 }

		//go:noinline
		func spin(n int) (x int) {
			for i := 0; i < n; i++ {
				x += inner(i)
			}
			return x
		}

		func main() { println(spin(10)) }
	END
	prepare_go 0
	go build "$@" -o full hot.go 2>go.log || skip "go build fails: $(tail -1 go.log)"
	go build -ldflags="-s -w" "$@" -o app hot.go
}

# Frames of each address of main.spin.
frames() {
	readelf -sW full | awk '$8 == "main.spin" { print $2, $3 }' | while read -r start size; do
		for ((i = 0; i < size; i++)); do printf '%x\n' $((0x$start + i)); done
	done | "$LINES_TOOL" "$1" | sed 's/:[0-9]*$//'
}

@test "names, lines and inlined functions of a stripped Go program are those of its debug information" {
	build
	frames full >full.txt
	frames app >app.txt
	grep -q main.leaf full.txt
	grep -q hot.go:12 full.txt
	diff full.txt app.txt
}

@test "the same for a position-independent one" {
	build -buildmode=pie
	frames full >full.txt
	frames app >app.txt
	grep -q main.leaf full.txt
	diff full.txt app.txt
}

@test "a Go program is recorded by BPF, and by rings without the rights" {
	need_sampler
	build
	assay record -q -o s ./app 2>/dev/null
	assay info -i s >by_bpf
	has "^recorder .*BPF" by_bpf
	drops=(setpriv "--inh-caps=-bpf,-perfmon,-sys_admin" "--bounding-set=-bpf,-perfmon,-sys_admin")
	"${drops[@]}" true 2>/dev/null || skip "setpriv can't drop capabilities"
	"${drops[@]}" "$(command -v assay)" record -q -o rings ./app 2>/dev/null || skip "perf_event_open is not permitted then"
	assay info -i rings >by_rings
	has "^recorder .*copied" by_rings
}

# keys SESSION LANGUAGE: its functions main.… and those of C in the program, by name.
functions_of() {
	assay report -i "$1" --by language,symbol -t 0 --format json |
		jq -r --arg of "$2" '.rows[] | select(.language == $of and (.symbol | test("^main[.]spin|^spin_c"))) | .symbol' | sort
}

@test "stacks of a stripped Go program are those that it has, and their language is Go" {
	need_sampler
	[ -n "$(command -v go)" ] || skip "no Go compiler"
	prepare_go 0
	go build -ldflags="-s -w" -o app "$ROOT/tests/programs/lang/golden.go" 2>go.log || skip "go build fails: $(tail -1 go.log)"
	for collector in perf bpf; do
		assay record -q --collector "$collector" -o "$collector" -e cpu-clock -F "$(at_most 499)" -- ./app 1500
		assay export -q -i "$collector" --format speedscope -o json
		python3 "$ROOT/tests/cli/language_stacks.py" json go
		functions_of "$collector" go >go.functions
		has -x main.spinDeep go.functions
		[ -z "$(functions_of "$collector" native)" ]
	done
	# What Go's functions called counts at them.
	assay report -i bpf --frames language -t 0 --by language --format json >language.json
	[ "$(jq '[.rows[] | select(.language == "go") | .samples] | add' language.json)" -gt "$(assay report -i bpf -t 0 --by language --format json | jq '[.rows[] | select(.language == "go") | .samples] | add - 1')" ]
	assay report -i bpf --format json language:go >filtered.json
	[ "$(jq '[.rows[] | select(.image == "[kernel]")] | length' filtered.json)" = 0 ]
	if assay export --list-formats | grep -q '^otlp '; then
		assay export -q -i bpf -F otlp -o x.otlp
		python3 "$ROOT/tests/cli/protobuf.py" otlp x.otlp | jq -r '.frame_types[]' >types
		has -x go types
	fi
}

@test "C functions of a Go program are native, and Go's functions are Go's" {
	need_sampler
	[ -n "$(command -v go)" ] && [ -n "$(command -v gcc)" ] || skip "no Go compiler, or none of C for it"
	mkdir cgo
	cat >cgo/main.go <<-'END'
		package main

		// void spin_c(long n);
		import "C"

		var sink int

		//go:noinline
		func spinGo(n int) (x int) {
			for i := 0; i < n; i++ {
				x += i*i ^ x>>1
			}
			return x
		}

		func main() {
			for i := 0; i < 60; i++ {
				C.spin_c(4000000)
				sink += spinGo(4000000)
			}
		}
	END
	cat >cgo/spin.c <<-'END'
		volatile long x;
		void spin_c(long n) { for (long i = 0; i < n; i++) x = i * i ^ x >> 1; }
	END
	prepare_go 1
	(cd cgo && go build -o ../app .) 2>go.log || skip "go build fails: $(tail -1 go.log)"
	assay record -q -o s -e cpu-clock -F "$(at_most 499)" -- ./app
	[ "$(functions_of s go)" = main.spinGo ]
	[ "$(functions_of s native)" = spin_c ]
	# Each frame is on one side; a stack of C alone stays whole.
	assay report -i s --frames language -l -t 0 --format json via:main.main >language.json
	[ "$(jq '[.rows[] | select(.symbol == "main.spinGo")] | length' language.json)" = 1 ]
	# The page has the file once, and knows which of its functions are Go's.
	assay report -i s --html page.html
	python3 - >page <<-'END'
		import base64, json, re, zlib
		for text in re.findall(r'[A-Za-z0-9+/=]{400,}', open('page.html').read()):
		    data, at, size, shift = zlib.decompress(base64.b64decode(text)), 0, 0, 0
		    while True:
		        size |= (data[at] & 127) << shift
		        at, shift = at + 1, shift + 7
		        if not data[at - 1] & 128:
		            break
		    about = json.loads(data[at:at + size])
		    print("images", sum(i["name"] == "app" for i in about["images"]))
		    print("go", *sorted(about["names"][f] for f in about["go"] if about["names"][f] in ("main.spinGo", "spin_c")))
		    break
	END
	diff page <(printf 'images 1\ngo main.spinGo\n')
	assay script -i s --frames native >native.txt
	run ! grep -q 'main\.main+.*main\.spinGo' native.txt
}

@test "a Go table with damaged numbers still gives an answer" {
	build
	off=$((0x$(readelf -SW app | sed -n 's/.*\.gopclntab *PROGBITS *[0-9a-f]* \([0-9a-f]*\).*/\1/p')))
	for seed in 1 2 3 4 5 6 7 8; do
		cp app bad
		python3 - <<-END
			import random
			random.seed($seed)
			with open('bad', 'r+b') as f:
			    for i in range(2000):
			        f.seek($off + 8 + (random.randrange(64) if i < 3 else random.randrange(250000)))
			        f.write(bytes([random.randrange(256)]))
		END
		within "$LINES_TOOL" bad < <(seq 4198400 97 4598400 | xargs printf "%x\n") >bad.txt
		[ -s bad.txt ]
	done
}

# record_labels LABELS: the program of labels.go, stripped, with these labels, into s.
record_labels() {
	need_sampler
	[ "$(uname -m)" = x86_64 ] || skip "labels of goroutines are known on x86-64 alone"
	[ -n "$(command -v go)" ] || skip "no Go compiler"
	prepare_go 0
	[ -e app ] || go build -ldflags="-s -w" -o app "$ROOT/tests/programs/lang/labels.go" 2>go.log || skip "go build fails: $(tail -1 go.log)"
	assay record -q -o s -e cpu-clock -F "$(at_most 997)" ${1:+--labels "$1"} -- ./app 2
}

# keys_of KEYS FILTER…: the values of keys, with the function that spins, sorted.
keys_of() {
	local keys=$1
	shift
	assay report -i s --by "$keys,symbol" -t 0 --format json via:main.spin "$@" |
		jq -r '.rows[] | select(.samples > 2 and (.symbol | startswith("main."))) | [.label, .trace, .span] | map(. // empty) | join(" ")' | sort -u
}

@test "labels of goroutines are keys and filters, and a sample's trace is its link" {
	record_labels endpoint,trace,span
	keys_of label:endpoint,trace,span >keys
	diff keys - <<-'END'
		/alpha 0123456789abcdef0123456789abcdef 0123456789abcdef
		/beta fedcba9876543210fedcba9876543210 fedcba9876543210
		[none] [none] [none]
	END
	# Each goroutine has its own labels, and the one without labels has none.
	for pair in Alpha:/alpha Beta:/beta 'Plain:[none]'; do
		assay report -i s --by label:endpoint -t 0 --format json "via:main.spin${pair%%:*}" | jq -r '.rows[].label' >values
		[ "$(cat values)" = "${pair#*:}" ]
	done
	[ "$(keys_of label 'label:endpoint=/al*')" = "endpoint=/alpha, trace=0123456789abcdef0123456789abcdef, span=0123456789abcdef" ]
	[ "$(keys_of span trace:fedcba9876543210fedcba9876543210)" = fedcba9876543210 ]
	[ "$(keys_of span 'label="endpoint=/beta"')" = fedcba9876543210 ]
	run assay report -i s label:endpoint=/nothing
	[[ "$output" == *"no sample matches label:endpoint=/nothing; there are: "*"endpoint=/alpha"* ]]
	run assay report -i s --by label:endpoint,label:user
	[ "$status" = 2 ]
	# Labels that were not recorded are named.
	assay report -i s --by label:user,trace >text
	has "labels    user: not recorded; 'assay record --labels user'" text
	run ! grep -q 'trace: not recorded' text
	run assay report -i s label:user=joe
	[[ "$output" == *"no sample matches label:user=joe; user: not recorded; 'assay record --labels user'"* ]]
	# Labels are no frames.
	assay script -i s >text
	run ! grep -q '\[label\]' text
	assay export -q -i s --format folded -o folded
	run ! grep -q alpha folded
	# They were not asked for.
	run ! grep -rq secret s
	if assay export --list-formats | grep -q '^otlp '; then
		assay export -q -i s -F otlp -o x.otlp
		python3 "$ROOT/tests/cli/protobuf.py" otlp x.otlp >otlp.json
		jq -r '.profiles[].samples[] | select(.link) | .link | join(" ")' otlp.json | sort -u | diff - <(grep -v none keys | cut -d' ' -f2-)
		[ "$(jq '[.profiles[].samples[] | select(.chain | index("main.spinPlain")) | .link] | unique | .[0]' otlp.json)" = null ]
	fi
}

@test "the context of a thread (OpenTelemetry) has a trace and a span" {
	need_sampler
	[ "$(uname -m)" = x86_64 ] || skip "contexts of threads are known on x86-64 alone"
	assay record -q -o s -e cpu-clock -F "$(at_most 997)" --labels trace,span -- "$PROGRAMS/thread_context" 0.5
	assay report -i s --by trace,span,symbol -t 0 --format json via:spin_* |
		jq -r '.rows[] | select(.samples > 20) | [.trace, .span] | join(" ")' | sort -u >ids
	diff ids - <<-'END'
		00112233445566778899aabbccddeeff 0123456789abcdef
		[none] [none]
		[unknown] [unknown]
		fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 fedcba9876543210
	END
	local pair
	for pair in first=00112233445566778899aabbccddeeff second=fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 'none=[none]' 'invalid=[none]' 'hostile=[unknown]'; do
		assay report -i s --by trace -t 0 --format json "via:spin_${pair%%=*}" | jq -r '.rows | max_by(.samples).trace' >one_id
		[ "$(cat one_id)" = "${pair#*=}" ]
		[ "$(assay report -i s --by trace -t 0 --format json "via:spin_${pair%%=*}" | jq '.rows | map(select(.samples > 20)) | length')" = 1 ]
	done
	[ "$(assay report -i s --by span -t 0 --format json trace:fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0 | jq -r '.rows[].span')" = fedcba9876543210 ]
}

# Prints the labels of the spinner's samples, those of most samples.
labels_of() { # SPINNER KEY
	assay report -i s --by "$2" -t 0 --format json "via:spin_$1" | jq -r ".rows | max_by(.samples).${2%%:*}"
}

@test "the context of a thread has attributes, and a library's variable is found by its slot" {
	need_sampler
	[ "$(uname -m)" = x86_64 ] || skip "contexts of threads are known on x86-64 alone"
	local way
	for way in '' offset descriptor far_descriptor module; do
		[ -z "$way" ] || [ -e "$PROGRAMS/context_$way.so" ] || continue # the compiler does not know it
		assay record -q -o s -e cpu-clock -F "$(at_most 997)" --labels trace,span,http.route,user -- \
			"$PROGRAMS/thread_context" 1 ${way:+"$PROGRAMS/context_$way.so"}
		{
			labels_of first trace
			labels_of first label:http.route
			labels_of first label:user
			labels_of second span
			labels_of second label:http.route
			labels_of second label:user
			labels_of none trace
			labels_of hostile label:user
		} >"labels-$way"
		diff "labels-$way" - <<-'END'
			00112233445566778899aabbccddeeff
			/first
			ann
			fedcba9876543210
			/second
			[none]
			[none]
			[unknown]
		END
	done
}

@test "labels are recorded only if they are asked for, and where BPF can" {
	record_labels ''
	run assay report -i s --by label --format json
	[ "$(jq -r '[.rows[].label] | unique[]' <<<"$output")" = "[none]" ]
	run ! grep -rqE 'alpha|secret' s
	run assay record -q -o t --collector perf --labels endpoint -- true
	[ "$status" != 0 ]
	[[ "$output" == *"--labels needs the in-kernel sampler"* ]]
	for labels in a=b 'x*' 1,2,3,4,5,6,7,8,9 "$(printf 'n%.0s' {1..33})"; do
		run assay record -q -o t --labels "$labels" -- true
		[ "$status" = 2 ]
	done
}
