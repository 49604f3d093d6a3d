# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Debian packages of this or another architecture, fetched and unpacked, not installed. apt has a separate
# state, so neither root nor the system's dpkg takes part. A cache keeps everything for the next time.
#
#   packages_of ARCHITECTURE [RELEASE]  what the functions after it are about; sets DEB_DIR and DEB_ROOT. Without
#                               RELEASE (bookworm, sid …), the packages are those of this machine's own apt sources
#   unpack FOLDER PACKAGE…      these packages alone, into FOLDER
#   unpack_with_depends PACKAGE…  and what they depend on, into DEB_ROOT
#   fetch_kernel                unpacks Debian's small kernel for virtual machines
#   kernel_name                 sets KERNEL to its version, KERNEL_IMAGE and KERNEL_MODULES to its file and folder
#   locked COMMAND…             one process at a time fills the cache
#   cannot REASON               says why not and ends the script with 77, which is a skip
#
# ASSAY_GUEST_CACHE has the cache; else XDG_CACHE_HOME/assay-guest, ~/.cache/assay-guest.

GUEST_CACHE=${ASSAY_GUEST_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/assay-guest}

cannot() {
	echo "$*"
	exit 77
}

packages_of() {
	DEB_ARCH=$1 DEB_RELEASE=${2-}
	DEB_DIR=$GUEST_CACHE/$DEB_ARCH${DEB_RELEASE:+-$DEB_RELEASE}
	DEB_ROOT=$DEB_DIR/root
	mkdir -p "$DEB_DIR"/{state/lists/partial,cache/archives/partial,deb,got} "$DEB_ROOT" ||
		cannot "no cache at $DEB_DIR (ASSAY_GUEST_CACHE=FOLDER has another)"
	[ -e "$DEB_DIR/state/status" ] || : >"$DEB_DIR/state/status"
	cat >"$DEB_DIR/apt.conf" <<-END
		Dir::State "$DEB_DIR/state";
		Dir::State::status "$DEB_DIR/state/status";
		Dir::Cache "$DEB_DIR/cache";
		APT::Architecture "$DEB_ARCH";
		APT::Architectures { "$DEB_ARCH"; };
		APT::Sandbox::User "root";
		APT::Install-Recommends "false";
		Acquire::Languages "none";
		Acquire::Retries "2";
		Acquire::http::Timeout "30";
		Acquire::https::Timeout "30";
	END
	[ -z "$DEB_RELEASE" ] || sources_of_release
}

# The archives that this machine's apt knows, and nothing else, have the other releases, too.
sources_of_release() {
	local mirrors mirror security keys=/usr/share/keyrings/debian-archive-keyring.gpg
	command -v apt-get >/dev/null || cannot "no apt-get to fetch packages of Debian's $DEB_RELEASE with"
	mirrors=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sed 's,/*$,,' | sort -u)
	mirror=$(grep -m1 '/debian$' <<<"$mirrors") || cannot "this machine's apt has no archive of Debian, which $DEB_RELEASE would come from"
	security=$(grep -m1 'security' <<<"$mirrors") || security=$mirror-security
	[ -e "$keys" ] || cannot "no $keys (Debian's package debian-archive-keyring)"
	{
		echo "deb [signed-by=$keys] $mirror $DEB_RELEASE main"
		# The long-term support of Debian 11 lists packages for AArch64 that no mirror has.
		[ "$DEB_RELEASE" = sid ] || [ "$DEB_ARCH-$DEB_RELEASE" = arm64-bullseye ] || echo "deb [signed-by=$keys] $security $DEB_RELEASE-security main"
	} >"$DEB_DIR/sources.list"
	cat >>"$DEB_DIR/apt.conf" <<-END
		Dir::Etc::sourcelist "$DEB_DIR/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Acquire::Check-Valid-Until "false";
	END
}

locked() {
	(
		flock 9
		"$@"
	) 9>"$DEB_DIR/lock"
}

private_apt() {
	APT_CONFIG=$DEB_DIR/apt.conf timeout 600 "$@" </dev/null
}

# A source that has nothing for this architecture causes an error, which is ignored. If a package cannot be
# fetched later, that is an error.
update_lists() {
	[ -e "$DEB_DIR/state/updated" ] && return
	command -v apt-get >/dev/null || cannot "no apt-get to fetch packages of $DEB_ARCH with"
	private_apt apt-get -qq update >"$DEB_DIR/update.log" 2>&1
	touch "$DEB_DIR/state/updated"
}

# try_fetch PACKAGES COMMAND…: runs it; lists that are out of date name packages that are gone, so once more with new ones.
try_fetch() {
	local packages=$1
	shift
	update_lists
	"$@" >"$DEB_DIR/fetch.log" 2>&1 && return
	rm -f "$DEB_DIR/state/updated"
	update_lists
	"$@" >"$DEB_DIR/fetch.log" 2>&1 && return
	rm -f "$DEB_DIR/state/updated"
	cannot "cannot fetch $packages for $DEB_ARCH: $(grep -m1 '^E:' "$DEB_DIR/fetch.log" || tail -1 "$DEB_DIR/fetch.log")"
}

# All .deb files of a folder are unpacked, and deleted.
unpack_files() {
	local file
	for file in "$1"/*.deb; do
		dpkg-deb -x "$file" "$2" || cannot "cannot unpack ${file##*/}"
		rm -f "$file"
	done
}

download() {
	(cd "$DEB_DIR/deb" && rm -f ./*.deb && private_apt apt-get -q download "$@")
}

unpack() {
	local folder=$1 package
	shift
	for package; do
		[ ! -e "$DEB_DIR/got/$package" ] || continue
		try_fetch "$package" download "$package"
		mkdir -p "$folder"
		unpack_files "$DEB_DIR/deb" "$folder"
		touch "$DEB_DIR/got/$package"
	done
}

# Newer releases have all in /usr; the links to it are no part of their packages.
link_merged() {
	local folder
	for folder in bin lib lib64 sbin; do
		if [ ! -e "$DEB_ROOT/$folder" ] && [ -d "$DEB_ROOT/usr/$folder" ]; then
			ln -s "usr/$folder" "$DEB_ROOT/$folder"
		fi
	done
}

unpack_with_depends() {
	local stamp
	stamp=$DEB_DIR/got/with-depends.$(printf '%s\n' "$@" | sort | cksum | cut -d' ' -f1)
	[ ! -e "$stamp" ] || return 0
	rm -f "$DEB_DIR"/cache/archives/*.deb
	try_fetch "$*" private_apt apt-get -q -y --download-only install "$@"
	unpack_files "$DEB_DIR/cache/archives" "$DEB_ROOT"
	link_merged
	touch "$stamp"
}

# What a package needs of the kernel: newer kernels come in parts.
parts_of_kernel() {
	private_apt apt-cache show "$1" | sed -n '1,/^$/s/^\(Pre-\)\{0,1\}Depends: //p' | tr ',|' '\n' |
		sed 's/(.*//; s/ //g' | grep -E '^linux-(image|binary|modules|base)-[0-9]'
}

fetch_kernel() {
	local meta=linux-image-cloud-$DEB_ARCH known package part
	known=$DEB_DIR/got/$meta.name
	if [ -s "$known" ] && [ -e "$DEB_DIR/got/linux-image-$(cat "$known")" ]; then return; fi
	try_fetch "$meta" private_apt apt-cache show "$meta"
	package=$(parts_of_kernel "$meta" | head -n 1)
	[ -n "$package" ] || cannot "no kernel behind $meta"
	for part in "$package" $(parts_of_kernel "$package"); do
		# shellcheck disable=SC2046 # words
		unpack "$DEB_DIR/kernel" "$part" $(parts_of_kernel "$part")
	done
	echo "${package#linux-image-}" >"$known"
}

kernel_name() {
	KERNEL=$(cat "$DEB_DIR/got/linux-image-cloud-$DEB_ARCH.name")
	KERNEL_IMAGE=$(find "$DEB_DIR/kernel" -name 'vmlinuz*' -path "*$KERNEL*" -type f | head -n 1)
	KERNEL_MODULES=$(find "$DEB_DIR/kernel" -path "*/lib/modules/$KERNEL" -type d | head -n 1)
	[ -n "$KERNEL_IMAGE" ] || cannot "no image in the packages of Linux $KERNEL"
}
