# SPDX-License-Identifier: GPL-2.0-or-later
# Chroots of Debian releases, for tests. The caller sets `root`, the folder of the clone, and `dir`, the chroot.

# The Debian archive that apt on this machine uses.
mirror() {
	# shellcheck disable=SC2016 # apt's own form
	apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m1 -E '/debian/?$'
}

why_not() {
	[ "$(id -u)" = 0 ] || { echo "a chroot takes root" && return; }
	command -v debootstrap >/dev/null || { echo "debootstrap is not installed" && return; }
	[ -n "$(mirror)" ] || { echo "apt on this machine knows no Debian archive" && return; }
	unshare -m true 2>/dev/null || echo "mount namespaces are not permitted"
}

# apt finds its archive; a mirror may be some days late. Nobody needs the chroot after a crash, so dpkg need not wait for the disk.
prepare_apt() {
	chmod 755 "$dir" && cp /etc/resolv.conf "$dir/etc/resolv.conf" && echo force-unsafe-io >"$dir/etc/dpkg/dpkg.cfg.d/unsafe-io" &&
		echo 'Acquire::Check-Valid-Until "false";' >"$dir/etc/apt/apt.conf.d/99mirror"
}

# What a newcomer has beside the release: make and git, and a clone.
add_clone() {
	prepare_apt &&
		in_chroot 'apt-get -qq update && apt-get -qq install -y --no-install-recommends make git ca-certificates' &&
		git -c safe.directory='*' clone -q --no-local "$root" "$dir/assay"
}

# As on a machine, its root is a mount, and the root of its mount namespace. The mounts go with the namespace. Node.js trusts the
# certificates that this machine trusts: a network with a proxy may have its own. ASSAY_FIXTURES is there, too.
in_chroot() {
	local fixtures=${ASSAY_FIXTURES:+$(realpath "$ASSAY_FIXTURES")}
	cp /etc/ssl/certs/ca-certificates.crt "$dir/etc/host-certificates.crt" 2>/dev/null || : >"$dir/etc/host-certificates.crt"
	# shellcheck disable=SC2016 # the inner shell's
	unshare -m bash -c '
		mount --bind "$0" "$0" && cd "$0" && mkdir -p before || exit 1
		for d in proc sys dev; do mount --rbind "/$d" "$d" || exit 1; done
		[ -z "$2" ] || { mkdir -p fixtures && mount --bind "$2" fixtures && mount -o remount,bind,ro fixtures; } || exit 1
		pivot_root . before || exit 1
		exec chroot . env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive \
			NODE_EXTRA_CA_CERTS=/etc/host-certificates.crt ${2:+ASSAY_FIXTURES=/fixtures} sh -c "umount -l /before; cd /root; [ ! -d /assay ] || cd /assay; $1"' \
		"$dir" "$1" "$fixtures" </dev/null
}

# Makes the chroot of release $1 in $dir. Sets `why` if it can't be had.
make_chroot() {
	why=$(why_not)
	if [ -z "$why" ] && ! debootstrap --variant=minbase "$1" "$dir" "$(mirror)" >"chroot-$1.log" 2>&1; then
		why="$1 can't be had: $(grep -m1 -E '^(E:|fatal:)' "chroot-$1.log" || tail -1 "chroot-$1.log")"
	else
		rm -f "chroot-$1.log"
	fi
}
