# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# For tests of interpreted languages; load helpers first.

# Skips the test, with the reason, where assay does not know the interpreter.
need_python() {
	command -v python3 >/dev/null || skip "no python3 here"
	[ "$(uname -m)" = x86_64 ] || skip "Python's frames are known on x86-64 alone"
	need_sampler
	PYTHON=$(realpath "$(python_path)")
	python3 -c 'import sys; sys.exit(not (3, 6) <= sys.version_info[:2] <= (3, 14))' ||
		skip "$(python3 --version): assay knows Python 3.6 to 3.14"
	plain=$(python3 -c 'import sys; print("" if sys.version_info >= (3, 11) else "--plain")')
}
