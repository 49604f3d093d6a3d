#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Stripped Go programs: names, lines and inlined functions come from the table of Go's runtime.
load helpers

LINES_TOOL=$ASSAY_BUILD/bench/lines

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
	export HOME=$PWD GOCACHE=$PWD/cache GO111MODULE=off CGO_ENABLED=0
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
		timeout 60 "$LINES_TOOL" bad < <(seq 4198400 97 4598400 | xargs printf "%x\n") >bad.txt
		[ -s bad.txt ]
	done
}
