# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings for tests of fleets.

# Records two builds of the program work as old.rec and new.rec. In the new one, parse takes three times as long. $old and $new are their build ids.
record_two_builds() {
	local build
	for build in old new; do
		mkdir -p "$build"
		cat >"$build/work.c" <<-END
			volatile unsigned long x;
			__attribute__((noinline)) void parse(unsigned long n) { for (unsigned long i = 0; i < n; i++) x += i; }
			__attribute__((noinline)) void copy(unsigned long n) { for (unsigned long i = 0; i < n; i++) x ^= i; }
			int main(void) { for (int i = 0; i < 100; i++) { parse($([ $build = old ] && echo 1000000 || echo 3000000)); copy(1000000); } return 0; }
		END
		gcc -O1 -g -Wl,--build-id=sha1 -o "$build/work" "$build/work.c"
		assay record -q -F 997 -o "$build.rec" "$build/work"
		printf -v "$build" %s "$(assay report -i "$build.rec" --by image,build --format json | jq -r '[.rows[] | select(.image | endswith("/work")) | .build][0]')"
	done
}
