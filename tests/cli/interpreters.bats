#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Interpreters of the system: when the sampler knows them, and their loops in reports.
load helpers

# need_interpreter NAME: the one in /usr/bin is INTERPRETER.
need_interpreter() {
	[ -x "/usr/bin/$1" ] || skip "no $1 in /usr/bin"
	[ "$(uname -m)" = x86_64 ] || skip "frames of languages are known on x86-64 alone"
	need_sampler
	INTERPRETER=$(realpath "/usr/bin/$1")
}

@test "a recording of the machine, or of a process, knows the interpreters before it begins" {
	need_interpreter python3
	"$INTERPRETER" -c 'import sys; sys.exit(not (3, 6) <= sys.version_info[:2] <= (3, 14))' || skip "$("$INTERPRETER" --version): assay knows Python 3.6 to 3.14"
	cat >first.py <<-'END'
		import time
		with open("/proc/self/comm", "w") as comm:
		    comm.write("first-script")
		def hot(seconds):
		    while time.process_time() < seconds:
		        pass
		hot(0.3)
	END
	assay record -a -e cpu-clock -F "$(at_most 997)" -o s -- "$INTERPRETER" first.py
	assay report -i s --by language --format json comm:first-script >by.json
	[ "$(jq '[.rows[] | select(.language == "python").total] | add * 100 >= 95 * '"$(jq .header.samples.selected by.json)" by.json)" = true ]
	background "$INTERPRETER" -c 'while True: pass'
	assay record -p "$pid" --duration 0.3 -e cpu-clock -F "$(at_most 997)" -o p
	[ "$(fact p '.losses."python-early" // 0')" = 0 ]
}

@test "the time of Ruby's loop is the functions', and operators in C have names" {
	need_interpreter ruby
	cat >loop.rb <<-'END'
		def hot
		  i = s = 0
		  s ^= i += 1 while i < 1_000_000
		end
		hot while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < 0.7
	END
	assay record -e cpu-clock -F "$(at_most 997)" -o s -- "$INTERPRETER" loop.rb
	assay report -i s --by symbol -t 0 --format json >both.json
	# Of the samples in the loop and its functions, the native loop had nearly all before it was folded.
	[ "$(jq '[.rows[] | select(.symbol == "hot").samples] | add * 100 >= 20 * '"$(fact s .samples)" both.json)" = true ]
	has -Fx '^' <(jq -r '.rows[].symbol' both.json)
	# Native stacks have no functions of Ruby.
	assay report -i s --by symbol -t 0 --frames native --format json >native.json
	run ! grep '"symbol":"hot"' native.json
}
