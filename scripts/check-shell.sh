#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs shellcheck over every script and CLI test.
cd "$(dirname "$0")/.." || exit 2
scripts/tracked.sh '*.sh' '*.bash' '*.bats' .ci/run | xargs shellcheck -x -e SC1091,SC2016,SC2034,SC2154
