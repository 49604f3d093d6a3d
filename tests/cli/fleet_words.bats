#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# assay fleet: the hosts and the audit of a fleet.
load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
}

# A fleet with the hosts web1 and web2: made_fleet
made_fleet() {
	"$ASSAY_BUILD/bench/history" store 2 20000 400
	all=$(assay report -i store --format json | jq .header.samples.selected)
	assay ship --to dir:fleet --once -q --host web1 --labels zone=a,role=web store
	assay ship --to dir:fleet --once -q --host web2 store
}

audit() { # JQ [HOST…]
	assay fleet audit --format json fleet "${@:2}" | jq -c "$1"
}

@test "fleet hosts lists blocks, samples and labels of each host" {
	made_fleet
	[ "$(assay fleet hosts fleet --format json | jq -c '[.hosts[] | [.host, .samples, .labels]]')" = \
		"[[\"web1\",$all,{\"zone\":\"a\",\"role\":\"web\"}],[\"web2\",$all,{}]]" ]
	[ "$(assay fleet hosts fleet --format json | jq '.hosts[0].blocks')" = "$(find fleet/web1 -mindepth 1 -maxdepth 1 -type d | wc -l)" ]
	run assay fleet hosts fleet
	[ "$status" = 0 ]
	[[ "$output" == *"web1  "*"2026-06-01T"*"zone=a,role=web"* ]]
	# A label is a name that a host chose: no markup of JSON and of terminals.
	printf 'x"y=1\nzone=\033[31m\n' >fleet/web1/.labels
	[ "$(assay fleet hosts fleet --format json | jq -c '.hosts[0].labels | keys')" = '["zone"]' ]
	assay fleet hosts fleet >out
	run -1 grep $'\033' out
}

@test "the audit of a whole fleet finds nothing, also after blocks were merged and removed" {
	made_fleet
	assay fleet audit fleet
	[ "$(audit '[.hosts[] | [.sent == .stored, .sent.samples, (.differences | length)]]')" = "[[true,$all,0],[true,$all,0]]" ]
	assay retain fleet/web1 --tier hours=1h,0 --tier days=never -q
	[ "$(audit '.hosts[0] | [.sent == .stored, .sent.samples, .blocks < .removed_blocks + 20, .merged_blocks > 0]' web1)" = "[true,$all,true,true]" ]
	# Retention removes the oldest.
	oldest=(fleet/web2/2*)
	rm -r "${oldest[0]}"
	[ "$(audit '.hosts[0] | [.sent == .stored, .removed_blocks, .removed_samples + .stored.samples, (.differences | length)]' web2)" = "[true,1,$all,0]" ]
}

@test "the audit names blocks that are gone, changed, or of nobody" {
	made_fleet
	blocks=(fleet/web1/2*)
	rm -r "${blocks[3]}"
	run assay fleet audit fleet
	[ "$status" = 1 ]
	[[ "$output" == *"missing"*"$(basename "${blocks[3]}")"* ]]
	[[ "$output" == *"web2: "*"; no difference"* ]]
	# The same samples in other bytes.
	printf 'x' >>"${blocks[4]}/samples/current/0000.segment"
	[ "$(audit '[.hosts[0].differences[].kind] | sort' web1)" = '["damaged","missing"]' ]
	cp -r "${blocks[5]}" "fleet/web2/20260601T000000.000Z-5"
	[ "$(audit '[.hosts[0].differences[] | [.kind, .sent.samples, .text]]' web2)" = '[["extra",0,"20260601T000000.000Z-5"]]' ]
	rm -rf fleet/web2/2*
	[ "$(audit '[.hosts[0].differences[].kind] | unique' web2)" = '["missing"]' ]
}

@test "assay fleet refuses other words and other directories" {
	mkdir empty
	run -2 assay fleet
	run -2 assay fleet sing fleet
	[[ "$output" == *"there is no 'assay fleet sing'"* ]]
	run -2 assay fleet hosts
	run -1 assay fleet hosts empty
	[[ "$output" == *"empty is no fleet"* ]]
	run -1 assay report --fleet empty
	[[ "$output" == *"'empty' is no fleet: name its directory, or its URLs"* ]]
	for word in audit blocks hosts merge regressions; do
		run -2 assay fleet $word
		has "name the directory of the fleet" <(echo "$output")
	done
	made_fleet
	export ASSAY_FLEET=$PWD/fleet
	for word in audit blocks hosts; do
		assay fleet $word >out
		assay fleet $word fleet | diff out -
	done
	# A command that changes the fleet must name it.
	for word in merge forget enroll rate; do
		run -2 assay fleet $word
	done
	assay fleet rate fleet web1 7
	has ' rate web1 7$' fleet/.log
	run -1 assay fleet audit fleet web3
	[[ "$output" == *"fleet has no host 'web3'"* ]]
	run -1 assay fleet audit fleet ..
}
