#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `make dist`: the source archive of a release and its bill of materials (docs/packages.md).

load helpers

@test "two source archives of one commit have equal bytes, and the bill of materials has each file" {
	git -c safe.directory='*' -C "$ROOT" rev-parse HEAD >/dev/null 2>&1 || skip "this is no git repository"
	export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' XZ_LEVEL=-0
	(umask 022 && DIST=$PWD/one "$ROOT/scripts/dist.sh")
	(umask 077 && TZ=Asia/Tokyo LC_ALL=C DIST=$PWD/two "$ROOT/scripts/dist.sh")
	diff -r one two
	(cd one && sha256sum -c SHA256SUMS)
	tar tf one/assay-*.tar.xz | grep -v '/$' | sed 's|^[^/]*/|./|' | LC_ALL=C sort >in_archive
	jq -r '.files[].fileName' one/assay-*.spdx.json | LC_ALL=C sort >in_bill
	[ "$(wc -l <in_bill)" -gt 1000 ]
	diff in_archive in_bill
	# One of its checksums, and a licence.
	[ "$(jq -r '.files[] | select(.fileName == "./Makefile") | .checksums[1].checksumValue' one/*.spdx.json)" = "$(
		git -C "$ROOT" show HEAD:Makefile | sha256sum | cut -d' ' -f1)" ]
	jq -e '.packages[0].licenseInfoFromFiles | index("GPL-2.0-or-later")' one/*.spdx.json
	jq -e '.relationships | map(select(.relationshipType == "BUILD_DEPENDENCY_OF")) | length > 20' one/*.spdx.json
}

@test "the RPM spec has the packages of Debian, and Debian's dependencies for building" {
	command -v rpmspec >/dev/null || skip "rpmspec is not installed"
	rpmspec -q --qf '%{NAME}\n' "$ROOT/rpm/assay.spec" | sort >rpm
	# libassay0 and libassay-dev have other names there.
	sed -n 's/^Package: //p' "$ROOT/debian/control" | sed 's/^lib\(assay\)0$/\1-libs/; s/^lib\(assay-dev\)$/\1el/' | sort >debian
	diff rpm debian
	rpmspec -q --buildrequires "$ROOT/rpm/assay.spec" | sort -u >needs
	sed -n 's/^build|[^|]*|\([^|]*\)|.*/\1/p' "$ROOT/scripts/deps.sh" | sort >rows
	while read -r need; do
		grep -qxF "$need" rows || { echo "scripts/deps.sh has no '$need'"; return 1; }
	done < <(grep -vxE 'python3' needs)
}

@test "the release script refuses a version that is not everywhere, and a step that it does not know" {
	git -c safe.directory='*' clone -q "$ROOT" release 2>/dev/null || skip "this is no git repository"
	version=$(sed -n "s/^ *version: '\\(.*\\)',/\\1/p" release/meson.build)
	run release/scripts/release.sh 9.9.9 versions
	refused 1 "meson.build has no 'version: '9.9.9''"
	run release/scripts/release.sh "$version" nothing
	refused 1 "there is no step 'nothing'"
	run release/scripts/release.sh "$version" publish
	[ "$status" = 0 ]
	has "git tag -s v$version" <(echo "$output")
	echo x >release/new
	run release/scripts/release.sh "$version" versions
	refused 1 "changes that are not committed"
}
