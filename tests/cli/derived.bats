#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck disable=SC2030,SC2031 # each_option is a subshell
# Help, man pages and completion come from one table; nothing may get lost on the way.

load helpers

MAN=$ASSAY_BUILD/man

# each_option TEXT_OF PATTERN: each option is in a text of its command. TEXT_OF prints that text, once a command;
# PATTERN sets $pattern for an option, which is in $command and $option.
each_option() (
	trap - DEBUG # bats traces each command: thousands here
	local command option pattern text_of=
	while read -r command option; do
		[ "$command" = "$text_of" ] || "$1" "$command" >text
		text_of=$command
		"$2"
		grep -q -e "$pattern" text || { echo "$command $option: missing" >&2; return 1; }
	done <"$MAN/options.txt"
)

text_of_help() {
	assay "$1" --help
}

in_help() {
	pattern="^ .*${option}[],= []"
}

text_of_man() {
	# scdoc writes each dash of bold text as \-
	local page=$MAN/assay-$1.1
	[ -f "$page" ] || page=$MAN/$1.1
	sed 's/\\-/-/g; s/\\f[BIR]//g; s/\\&//g' "$page"
}

in_man() {
	pattern=$option
}

text_of_fish() {
	grep -e "from $1' " "$MAN/assay.fish"
}

in_fish() {
	case $option in
	--*) pattern="from $command'.* -l ${option#--} " ;;
	*) pattern="from $command' -s '${option#-}' " ;;
	esac
}

text_of_zsh() {
	sed -n "/^	$1)/,/;;/p" "$MAN/_assay"
}

in_zsh() {
	pattern="'\\*${option}[-=+[]"
}

# What bash would offer for the command line given as words, the last one unfinished.
bash_offers() {
	bash -c 'source "$1"; shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _assay && printf "%s\n" "${COMPREPLY[@]}"' \
		bash "$MAN/assay.bash" "$@"
}

# For each option, one line: "offered" or not.
bash_offers_options() {
	bash -c 'source "$1"
		while read -r command option; do
			COMP_WORDS=(assay "$command" "$option") COMP_CWORD=2 COMPREPLY=()
			_assay
			answer=missing
			for word in "${COMPREPLY[@]}"; do [ "$word" != "$option" ] || answer=offered; done
			echo "$command $option $answer"
		done' bash "$MAN/assay.bash" <"$MAN/options.txt"
}

@test "every option is in its command's help" {
	each_option text_of_help in_help
}

@test "every option is in its command's man page" {
	[ -f "$MAN/assay.1" ] || skip "no man pages: scdoc is not installed"
	each_option text_of_man in_man
}

@test "bash offers every option" {
	bash -n "$MAN/assay.bash"
	bash_offers_options >offers
	[ "$(wc -l <offers)" = "$(wc -l <"$MAN/options.txt")" ]
	run grep -v ' offered$' offers
	[ "$output" = "" ]
}

@test "zsh knows every option" {
	each_option text_of_zsh in_zsh
	command -v zsh >/dev/null || skip "zsh is not installed: its file was not parsed"
	zsh -n "$MAN/_assay"
}

@test "fish knows every option" {
	each_option text_of_fish in_fish
	command -v fish >/dev/null || skip "fish is not installed: its file was not parsed"
	fish --no-execute "$MAN/assay.fish"
}

@test "front ends are programs, with their own help, man page and completion" {
	local lists=("$ROOT/src/commands/front_ends.def" "$ROOT/src/oprofile/tools/programs.def")
	while read -r program; do
		[ "$(readlink "$ASSAY_BUILD/$program")" = assay ]
		"$program" --help | grep -q "^Usage: $program "
		"$program" --no-such-option 2>&1 | grep -q "^$program: "
		grep -q "^complete .* $program$" "$MAN/assay.bash"
		grep -q "^#compdef .* $program" "$MAN/_assay"
		grep -q "^complete -c $program " "$MAN/assay.fish"
		[ ! -f "$MAN/assay.1" ] || sed 's,[\\],,g' "$MAN/assay.1" | grep -q "^fB$program"
	done < <(sed -n 's/^FRONT_END(\(.*\))/\1/p' "${lists[@]}" | tr _ -)
}

@test "bash offers commands first, and behind 'help'" {
	bash_offers assay "he" | grep -qx help
	bash_offers assay help "he" | grep -qx help
}

@test "every command has a man page that assay(1) names" {
	[ -f "$MAN/assay.1" ] || skip "no man pages: scdoc is not installed"
	for command in $(assay | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
		[ -s "$MAN/assay-$command.1" ]
		sed 's/\\-/-/g' "$MAN/assay.1" | has "^\\\\fBassay-$command" -
	done
}
