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
			int main(void) { for (int i = 0; i < 500; i++) { parse($([ $build = old ] && echo 1000000 || echo 3000000)); copy(1000000); } return 0; }
		END
		gcc -O1 -g -Wl,--build-id=sha1 -o "$build/work" "$build/work.c"
		assay record -q -F 997 -o "$build.rec" "$build/work"
		printf -v "$build" %s "$(assay report -i "$build.rec" --by image,build --format json | jq -r '[.rows[] | select(.image | endswith("/work")) | .build][0]')"
	done
}

# Makes bin/work, a stripped program of C++ with the functions parse and copy, and the same with its symbols as whole/work.
stripped_program() {
	mkdir -p bin whole
	cat >work.cc <<-END
		volatile unsigned long x;
		static __attribute__((noinline)) void parse(unsigned long n) { for (unsigned long i = 0; i < n; i++) x += i; }
		static __attribute__((noinline)) void copy(unsigned long n) { for (unsigned long i = 0; i < n; i++) x ^= i; }
		int main() { for (int i = 0; i < 100; i++) { parse(1000000); copy(1000000); } return 0; }
	END
	g++ -O1 -Wl,--build-id=sha1 -o whole/work work.cc
	strip -o bin/work whole/work
}

# Puts an index with all names of whole/work into the fleet.
index_comes() { # FLEET
	local build
	assay record -q -F 997 -o whole.rec whole/work
	XDG_CACHE_HOME=$PWD/whole.cache assay report -i whole.rec --by symbol >/dev/null
	build=$(assay report -i whole.rec --by image,build --format json | jq -r '[.rows[] | select(.image | endswith("/work")) | .build][0]')
	cp "$(find whole.cache -name "$build.sym")" "$1/.names/"
}
