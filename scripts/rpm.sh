#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RPM packages of HEAD: build-rpm/RPMS. On a system without RPM's database of packages, such as Debian, the requirements are not checked.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v rpmbuild >/dev/null || { echo "rpmbuild is not installed" && exit 77; }
folder=$PWD/build-rpm
rm -rf "$folder" && mkdir -p "$folder/SOURCES"
DIST=$folder/SOURCES XZ_LEVEL=${XZ_LEVEL:--6} scripts/dist.sh >/dev/null
version=$(git show HEAD:meson.build | sed -n "s/^ *version: '\(.*\)',/\1/p")
set -- -bb --define "_topdir $folder" --define "assay_version $version" rpm/assay.spec
rpm -q filesystem >/dev/null 2>&1 || set -- --nodeps "$@"
rpmbuild --quiet "$@"
rm -rf "$folder/BUILD" "$folder/BUILDROOT"
find "$folder/RPMS" -name '*.rpm' | sort
