#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The steps of a release: scripts/release.sh VERSION [STEP…]. It stops at the first step that fails. It publishes nothing: the last
# step prints the commands that do.
#
#   versions   the version is the same everywhere, and CHANGELOG.md has its heading
#   check      make check
#   packages   make check-packages
#   artefacts  make dist, make tarball (x86-64 and AArch64), make deb, make site; SHA256SUMS of all in build-release/
#   publish    the commands that sign the tag and upload the files
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?"the version, such as 1.0.0"}
shift
[ $# -gt 0 ] || set -- versions check packages artefacts publish
release=build-release

failed() {
	echo "release: $*" >&2
	exit 1
}

# is_in FILE TEXT
is_in() {
	grep -qF -- "$2" "$1" || failed "$1 has no '$2'"
}

versions() {
	[ -z "$(git status --porcelain)" ] || failed "there are changes that are not committed"
	! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || failed "the tag v$version is there already"
	is_in meson.build "version: '$version'"
	is_in debian/changelog "assay ($version)"
	is_in rpm/assay.spec "assay_version $version"
	is_in python/pyproject.toml "version = \"$version\""
	grep -qE "^## $version, [0-9]{4}-[0-9]{2}-[0-9]{2}$" CHANGELOG.md || failed "CHANGELOG.md has no heading '## $version, YEAR-MONTH-DAY'"
	[ -d "tests/data/release-$version" ] || failed "tests/data/release-$version has no examples: tests/tools/format_examples make tests/data/release-$version"
	[ ! -e docs/STATUS.md ] || failed "docs/STATUS.md is there: work is not complete"
}

check() {
	make check
}

packages() {
	make check-packages
}

artefacts() {
	rm -rf "$release" && mkdir -p "$release"
	make dist
	cp build-dist/assay-* "$release/"
	scripts/tarball.sh
	ARCH=aarch64 scripts/tarball.sh
	make check-tarball
	cp "build-tarball/assay-$version-x86_64.tar.gz" "build-tarball-aarch64/assay-$version-aarch64.tar.gz" "$release/"
	make deb
	cp build-deb/*.deb "$release/"
	make site
	tar -cJf "$release/assay-$version-site.tar.xz" --owner=0 --group=0 --sort=name --mtime="@$(git log -1 --format=%ct)" build-site
	(cd "$release" && sha256sum -- * >SHA256SUMS)
	ls -l "$release"
	# 25 MB is the promise for what a user downloads.
	[ -z "$(find "$release" -name '*.tar.gz' -size +25000k)" ] || failed "a tarball has more than 25 MB"
}

publish() {
	cat <<-END
		git tag -s v$version -m 'assay $version'
		gpg --detach-sign --armor $release/SHA256SUMS
		git push origin v$version
		Then upload the files of $release/, and the folder build-site/.
	END
}

for step; do
	case $step in
	versions | check | packages | artefacts | publish) echo "== $step" && "$step" ;;
	*) failed "there is no step '$step': versions, check, packages, artefacts, publish" ;;
	esac
done
