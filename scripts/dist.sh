#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The source of HEAD for a release: build-dist/assay-VERSION.tar.xz, its bill of materials (SPDX), and SHA256SUMS of both.
# Two runs of one commit give equal bytes, whatever the folder, the time and the umask. DIST is another folder, XZ_LEVEL another level.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
version=$(git show HEAD:meson.build | sed -n "s/^ *version: '\(.*\)',/\1/p")
folder=${DIST:-build-dist}
archive=assay-$version.tar.xz
mkdir -p "$folder"
# One thread: the bytes of xz depend on the number of blocks.
git archive --format=tar --prefix="assay-$version/" HEAD | xz -T1 "${XZ_LEVEL:--6}" >"$folder/$archive"
scripts/sbom.py "$folder/$archive" "$(git log -1 --format=%ct)" >"$folder/assay-$version.spdx.json"
cd "$folder"
sha256sum "$archive" "assay-$version.spdx.json" >SHA256SUMS
ls -- "$archive" "assay-$version.spdx.json" SHA256SUMS
