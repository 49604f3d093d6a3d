#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of pods and containers from the kubelet of a node: assay ship --kubelet.
load helpers
load serve
load fleet_hosts

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	export HOME=$BATS_TEST_TMPDIR TZ=UTC0
	assay record -q -o rec "$PROGRAMS/split" 0.3s
	history_of rec store
	web=$(printf '%064x' 1) init=$(printf '%064x' 2) own=$(printf '%064x' 3)
	uid=11111111-2222-3333-4444-555555555555
	cat >pods.json <<-END
		{"kind": "PodList", "apiVersion": "v1", "items": [
		 {"metadata": {"name": "web-66b6c48dd5-9k2xj", "namespace": "default", "uid": "$uid", "labels": {"app": "web"}},
		  "status": {"containerStatuses": [{"name": "nginx", "containerID": "containerd://$web"}, {"name": "waits"}],
		             "initContainerStatuses": [{"name": "prepare", "containerID": "cri-o://$init"}]}},
		 {"metadata": {"name": "no-status", "namespace": "kube-system", "uid": "22222222-2222-3333-4444-555555555555"}},
		 {"metadata": {"name": "two\nlines", "namespace": "x", "uid": "bad"}}, 7]}
	END
}

kubelet() { # FILE [TOKEN]: sets $kubelet
	background python3 "$ROOT/tests/cli/fake_kubelet.py" "$@" >kubelet.port
	wait_for test -s kubelet.port
	kubelet=http://127.0.0.1:$(cat kubelet.port)
}

names() {
	sort fleet/web1/containers
}

wanted() {
	printf '%s\n' "$uid default/web-66b6c48dd5-9k2xj" "$web nginx" "$init prepare" "22222222-2222-3333-4444-555555555555 kube-system/no-status" "$@" | sort
}

@test "ship asks the kubelet for names of pods and containers if it may, and sends each once" {
	kubelet pods.json
	assay ship --to dir:fleet --once -q --host web1 store
	[ ! -e asked ]
	[ ! -s fleet/web1/containers ]
	# The name that the recorder found stays.
	printf '%s mine\n' "$own" >store/containers
	sed "s/$init/$own/" pods.json >other.json
	assay ship --to dir:fleet --once -q --host web1 --kubelet "$kubelet/" store
	diff <(wanted "$own mine") <(names)
	[ "$(cat asked)" = "/pods -" ]
	before=$(stat -c %i fleet/web1/containers)
	cp other.json pods.json
	assay ship --to dir:fleet --once -q --host web1 --kubelet "$kubelet" store
	[ "$(stat -c %i fleet/web1/containers)" = "$before" ]
	diff <(wanted "$own mine") <(names)
	assay ship --to dir:dropped --once -q --host web1 --drop cgroup --kubelet "$kubelet" store
	[ "$(grep -c . asked)" = 2 ]
	[ ! -s dropped/web1/containers ]
	run assay ship --to dir:new --dry-run --host web1 --kubelet "$kubelet" store
	[[ "$output" == *"names of containers and pods: 4"* ]]
}

@test "names from the kubelet reach a gateway, and the token is read each time" {
	kubelet pods.json right-token
	gateway
	echo wrong-token >token
	run ship web1 store -q --kubelet "$kubelet" --kubelet-token-file token
	echo "$output"
	[ "$status" = 0 ] # blocks do not wait for names
	[[ "$output" == *"names of pods are not asked for: $kubelet/pods answers with status 403: give a token with the right"* ]]
	[ "$(samples fleet/web1)" = "$(samples store)" ]
	echo right-token >token
	run ship web1 store -q --kubelet "$kubelet" --kubelet-token-file token
	[ "$status" = 0 ]
	[ -z "$output" ]
	diff <(wanted) <(names)
}

@test "a kubelet that answers with something else, or not, does not stop the blocks" {
	for text in '' 'no json' '{"items": {}}' '[]' '{"items": [' '{"items": null}'; do
		printf %s "$text" >bad.json
		[ -n "${kubelet-}" ] || kubelet bad.json
		run assay ship --to "dir:fleet" --once -q --host web1 --kubelet "$kubelet" store
		echo "$text: $output"
		[ "$status" = 0 ]
		[[ "$text" == *null* ]] || [[ "$output" == *"answers with something that is no list of pods"* ]]
	done
	run assay ship --to dir:fleet --once -q --host web1 --kubelet http://127.0.0.1:1 store
	[ "$status" = 0 ]
	[[ "$output" == *"names of pods are not asked for"* ]]
	[ "$(samples fleet/web1)" = "$(samples store)" ]
	run -2 assay ship --to dir:fleet --once --kubelet http://node1:10255 store
	[[ "$output" == *"write https://"* ]]
	run -2 assay ship --to dir:fleet --once --kubelet-token-file token store
	[[ "$output" == *"--kubelet URL"* ]]
}
