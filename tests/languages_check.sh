#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks of interpreted languages with the runtimes of Debian releases, as TAP:
#
#   tests/languages_check.sh [RELEASE...]    bullseye, bookworm, trixie, sid; all of them if none is named
#
# Each release is a small chroot with its interpreters, which run the programs tests/programs/lang/golden.*. assay records
# the whole machine; Java, Node.js and stripped programs of Go by copied stacks and through BPF, each as a command. Servers and gdb
# run the programs, too (languages_embedded.sh). tests/cli/language_stacks.py compares the stacks with those that they must be.
# PYTHONS='PATH PATH': these interpreters of this machine, too. ASSAY_LANGUAGES_DIR: where the chroots are, and stay; else they are temporary.
#
# A comment `# | RUNTIME | BUILD | MODE | RIGHT | WRONG |` behind a check is its row of the table in docs/languages.md. A failed
# check shows the losses that assay counted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
assay=${ASSAY_BUILD:-$here/../build}/assay
work=$(mktemp -d)
chroots=${ASSAY_LANGUAGES_DIR:-$work/chroots}
n=0 program='' recorder=''
declare -A jdk=([bullseye]=11 [bookworm]=17 [trixie]=21 [sid]="25 8")

finish() {
	for pid in $program $recorder; do kill "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

say() { # ok|not ok TITLE
	n=$((n + 1))
	echo "$1 $n - $2"
}

mirror() {
	# shellcheck disable=SC2016 # apt's own form
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 -E '/debian/?$'
}

# Prints why there is no chroot of a release with the interpreters; nothing if there is one.
make_chroot() {
	local dir=$chroots/$1 log=$work/$1.log
	# php is a symbolic link that leads nowhere outside of the chroot. So are java and go.
	[ -x "$dir/usr/bin/python3" ] && [ -L "$dir/usr/bin/go" ] && [ -L "$dir/usr/bin/php" ] && [ -x "$dir/usr/bin/ruby" ] &&
		[ -e "$dir/usr/bin/node" ] && [ -L "$dir/usr/bin/java" ] && return
	[ "$(id -u)" = 0 ] || { echo "a chroot takes root" && return; }
	command -v debootstrap >/dev/null || { echo "debootstrap is not installed" && return; }
	[ -n "$(mirror)" ] || { echo "apt on this machine knows no Debian archive" && return; }
	mkdir -p "$chroots"
	# shellcheck disable=SC2086 # several versions
	debootstrap --variant=minbase --include="python3,php-cli,ruby,nodejs,golang-go$(printf ',openjdk-%s-jre-headless' ${jdk[$1]})" "$1" "$dir" "$(mirror)" >"$log" 2>&1 || tail -1 "$log"
}

# judge TITLE LANGUAGE RUNTIME BUILD MODE FILTER [OPTION]: compares the stacks of the session with those that they must be.
judge() {
	local title=$1 language=$2 row="$3 | $4 | $5" result
	"$assay" export -i "$work/s" --format speedscope -o "$work/json" ${6:+"$6"} >>"$work/log" 2>&1
	if result=$("$here/cli/language_stacks.py" "$work/json" "${@:7}" "$language" 2>&1); then
		say ok "$title: $(echo "$result" | tail -1)"
		echo "$result" | sed -n 's/^wrong/# &/p'
	else
		say "not ok" "$title"
		{ echo "$result" && cat "$work/log" && "$assay" info -i "$work/s" | sed -n '/^losses/,$p'; } | sed 's/^/# /'
	fi
	echo "$result" | sed -nE "\$s/^([0-9]+) right, ([0-9]+) wrong(, ([0-9]+) cut)?$/# | ${row//\//\\/} | \1 | \2 | \4 |/p"
}

# ran_for PID SECONDS: whether the process has had so much CPU time, or has ended.
ran_for() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	# shellcheck disable=SC2086 # words: behind the name, the user time is the 12th, the system time the 13th
	set -- "$2" ${stat##*) }
	[ $((${13} + ${14})) -ge $(($1 * $(getconf CLK_TCK))) ]
}

# record_program PID SECONDS: records the machine until the process has had so much CPU time: on a busy machine that takes longer.
record_program() {
	"$assay" record -a --collector bpf -e cpu-clock -o "$work/s" >"$work/log" 2>&1 &
	recorder=$!
	for ((i = 0; i < 1200; i++)); do
		ran_for "$1" "$2" && break
		sleep 0.1
	done
	kill "$recorder"
	wait "$recorder"
	recorder=
}

# check LANGUAGE BUILD MODE COMMAND...: the command runs an interpreter; its program follows it.
check() {
	local version plain=() language=$1 of_program
	version=$("${@:4}" "$golden.$language" --version) || {
		say "not ok" "$2: it does not run"
		return
	}
	[[ "$version" =~ ^Python\ 3\.([6-9]|10)\. ]] && plain=(--plain)
	"${@:4}" "$golden.$language" &
	program=$!
	of_program=pid:$program # others may run golden programs, too
	record_program "$program" 4
	kill "$program"
	wait "$program" 2>/dev/null
	program=
	judge "$version, $2${3:+, $3}" "$language" "$version" "$2" "$3" "$of_program" ${plain[@]+"${plain[@]}"}
	rm -rf "$work/s"
}

# Java finds its libraries through /proc.
# shellcheck disable=SC2016 # the inner shell's
within=(unshare -m sh -c 'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"')

# check_copied LANGUAGE RUNTIME RELEASE MODE COMMAND...: stacks that assay walks itself.
check_copied() {
	local language=$1 title="$2, $3, $4" collector options
	for collector in perf bpf; do
		options=(--collector "$collector" -e cpu-clock -F 499)
		[ "$collector" = perf ] && options+=(--stack-size 32768)
		"$assay" record "${options[@]}" -o "$work/s" -- "${@:5}" >"$work/log" 2>&1
		if "$assay" info -i "$work/s" --format json | grep -qE '"(java|javascript)-version"'; then
			say ok "$title # SKIP assay does not know this version"
		else
			judge "$title, $collector" "$language" "$2" "$3" "$4, $collector" ''
		fi
		rm -rf "$work/s"
	done
}

# check_java RELEASE VERSION: its virtual machine, compiled and interpreted. The classes are made here.
check_java() {
	local dir=$chroots/$1 name="Java $2, $1" java=/usr/lib/jvm/java-$2-openjdk-amd64/bin/java
	if ! [ -x "$dir$java" ]; then
		say ok "$name # SKIP the chroot has no openjdk-$2-jre-headless"
		return
	fi
	if ! command -v javac >/dev/null || ! javac --release 8 -Xlint:-options -d "$dir" "$here/programs/lang/golden.java" 2>"$work/log"; then
		say ok "$name # SKIP no javac here that makes classes of Java 8"
		return
	fi
	check_copied java "Java $2" "$1" compiled "${within[@]}" "$dir" "$java" -Xmx64m -cp / golden 1500
	check_copied java "Java $2" "$1" interpreted "${within[@]}" "$dir" "$java" -Xint -Xmx64m -cp / golden 150
}

# check_go RELEASE: a stripped program of its Go. One of Go 1.15 or older is refused by name.
check_go() {
	local dir=$chroots/$1 version
	if ! "${within[@]}" "$dir" env HOME=/tmp GOCACHE=/tmp/go-cache GO111MODULE=off CGO_ENABLED=0 \
		go build -ldflags="-s -w" -o /golden-go /golden.go >"$work/log" 2>&1; then
		say "not ok" "Go, $1: $(tail -1 "$work/log")"
		return
	fi
	version=$("$dir/golden-go" --version)
	if ! [[ "$version" =~ ^Go\ 1\.([0-9]|1[0-5])(\.|$) ]]; then
		check_copied go "$version" "$1" stripped "$dir/golden-go" 1500
		return
	fi
	"$assay" record -e cpu-clock -F 499 -o "$work/s" -- "$dir/golden-go" 500 >"$work/log" 2>&1
	if "$assay" report -l -i "$work/s" 2>&1 | grep -q "its Go is too old (1.15 or older)"; then
		say ok "$version, $1: it is refused by name"
	else
		say "not ok" "$version, $1: no note names it"
	fi
	rm -rf "$work/s"
}

# shellcheck source-path=SCRIPTDIR source=languages_embedded.sh
. "$here/languages_embedded.sh"

golden=/golden
[ $# -gt 0 ] || set -- bullseye bookworm trixie sid
for release; do
	reason=$(make_chroot "$release")
	if [ -n "$reason" ]; then
		say ok "interpreters of $release # SKIP $reason"
		continue
	fi
	cp "$here"/programs/lang/golden.* "$chroots/$release/"
	check py "$release" '' chroot "$chroots/$release" python3
	check php "$release" '' chroot "$chroots/$release" php
	for jit in tracing function; do
		check php "$release" "opcache.jit=$jit" chroot "$chroots/$release" php -d opcache.enable_cli=1 \
			-d opcache.jit_buffer_size=64M -d opcache.jit=$jit -d opcache.file_update_protection=0
	done
	check rb "$release" '' chroot "$chroots/$release" ruby
	check pl "$release" '' chroot "$chroots/$release" perl
	for version in ${jdk[$release]}; do
		check_java "$release" "$version"
	done
	check_go "$release"
	check_embedders "$release"
	node=$(chroot "$chroots/$release" node --version 2>/dev/null)
	check_copied js "Node ${node#v}" "$release" optimised "${within[@]}" "$chroots/$release" node /golden.js 2000
	case $node in
	v12.*) interpreted=(--no-opt) ;;
	v24.*) interpreted=(--no-opt --no-sparkplug --no-maglev) ;;
	*) interpreted=(--no-opt --no-sparkplug) ;;
	esac
	check_copied js "Node ${node#v}" "$release" interpreted "${within[@]}" "$chroots/$release" node "${interpreted[@]}" /golden.js 250
done
golden=$here/programs/lang/golden
for interpreter in ${PYTHONS-}; do
	check py "$interpreter" '' "$interpreter"
done
echo "1..$n"
