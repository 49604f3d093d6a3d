#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages of HEAD: built, checked by lintian, installed, upgraded, removed and purged, in fresh chroots.
#
#   tests/packages.sh RELEASE...     bookworm, trixie, sid; all of them if none is named
#
# Each step is a line, and the sum is the last line. Output of a step that fails stays in packages-RELEASE-STEP.log
# of the present folder. Chroots are made in TMPDIR.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
passed=0 failed=0 skipped=0 why=
. "$here/chroot.bash"

releases=(bookworm trixie sid)
# In the order of `apt-get install`.
packages='assay assay-daemon assay-fleet assay-oprofile libassay0 libassay-dev python3-assay assay-doc'

# step NAME COMMAND…: one line of the result; false if it fails.
step() {
	local name=$1 log start=$SECONDS status
	log=packages-$release-$(tr -c 'a-zA-Z0-9\n' - <<<"$name").log
	shift
	"$@" >"$log" 2>&1
	status=$?
	case $status in
	0) echo "$release: $name: passed in $((SECONDS - start)) s" && passed=$((passed + 1)) ;;
	77) echo "$release: $name: skipped: $(tail -1 "$log")" && skipped=$((skipped + 1)) ;;
	*) echo "$release: $name: FAILED (output: $log)" && failed=$((failed + 1)) && return 1 ;;
	esac
	rm -f "$log"
}

build() {
	in_chroot 'apt-get -qq install -y --no-install-recommends lintian >/dev/null && make deb'
}

# The files of unpacked packages, with the places that both kinds of packages have in common. Documents are elsewhere in RPM packages.
files_below() { # FOLDER
	(cd "$1" && find . -type f -o -type l) | sed -E 's,^\./,,; s,^lib/,usr/lib/,; s,usr/lib64,usr/lib,; s,usr/lib/[a-z0-9_]+-linux-gnu,usr/lib,
		s,\.gz$,,; s,python3[.0-9]*/(site|dist)-packages,python3/packages,' | grep -vE '^usr/share/(lintian|licenses|doc)/|\.build-id|\.dist-info/' | sort -u
}

same_files() {
	local deb
	mkdir "$dir/debroot"
	for deb in "$dir"/assay/build-deb/*_[0-9]*.deb; do
		case $deb in *dbgsym*) ;; *) dpkg-deb -x "$deb" "$dir/debroot" || return ;; esac
	done
	[ "$(files_below "$dir/rpmroot" | wc -l)" -gt 100 ] && diff <(files_below "$dir/debroot") <(files_below "$dir/rpmroot")
}

# The RPM packages: rpmbuild takes the spec, the unpacked program records and reports, and the files are those of the Debian packages.
build_rpm() {
	in_chroot 'apt-get -qq install -y --no-install-recommends rpm cpio git >/dev/null && scripts/rpm.sh && mkdir /rpmroot && cd /rpmroot &&
		for rpm in /assay/build-rpm/RPMS/*/*.rpm; do rpm2cpio "$rpm" | cpio -idm --quiet || exit 1; done &&
		rm -rf /assay/build-rpm && usr/bin/assay --version && usr/bin/assay record -q -o /tmp/rpm.assay -- sh -c "seq 300000 | sort | sort -R >/dev/null" &&
		usr/bin/assay report -i /tmp/rpm.assay && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$(echo usr/lib/python3*/site-packages) LD_LIBRARY_PATH=usr/lib64 python3 -c "import assay; print(assay.open(\"/tmp/rpm.assay\"))"' &&
		same_files
}

# The same bytes from another folder, at another time and with another umask.
build_again() {
	in_chroot 'mv build-deb build-deb.first && cp -r /assay /root/elsewhere && cd /root/elsewhere && umask 077 && sleep 2 && scripts/deb.sh &&
		cd build-deb && sha256sum -- *.deb >sums && cd /assay/build-deb.first && sha256sum -c /root/elsewhere/build-deb/sums' &&
		mv "$dir/assay/build-deb.first" "$dir/assay/build-deb"
}

check_style() {
	in_chroot 'lintian --fail-on error,warning --info build-deb/*.changes'
}

# An older version of each package: the same files.
make_former() {
	in_chroot 'mkdir -p /former && for deb in build-deb/*_[0-9]*.deb; do
		case $deb in *dbgsym*) continue ;; esac
		rm -rf /tmp/deb && dpkg-deb -R "$deb" /tmp/deb &&
			sed -i -e "s/^Version: .*/Version: 0.0.1/" -e "s/(= [0-9.]*)/(= 0.0.1)/g" -e "s/\(assay[a-z0-9-]* (>= \)[0-9.]*/\\10.0.1/g" /tmp/deb/DEBIAN/control &&
			dpkg-deb --root-owner-group -b /tmp/deb "/former/$(basename "$deb" | sed "s/_[0-9.]*_/_0.0.1_/")" || exit 1
	done'
}

# install_from FOLDER: all packages of a folder of this machine, in the chroot.
install_from() {
	rm -rf "$dir/debs" && cp -r "$1" "$dir/debs" && rm -f "$dir"/debs/*dbgsym* &&
		in_chroot 'apt-get -qq install -y --no-install-recommends /debs/*.deb && assay --version && dpkg -l assay-daemon | grep ^ii'
}

run_tests() {
	in_chroot 'apt-get -qq install -y --no-install-recommends gcc libc6-dev pkgconf python3 >/dev/null
		skipped=0
		for test in record library python oprofile; do
			echo "== $test"
			/tests/debian/tests/$test
			status=$?
			[ $status = 77 ] || [ $status = 0 ] || { echo "$test: status $status"; exit 1; }
			[ $status = 0 ] || skipped=77
		done
		exit $skipped'
}

# For in_chroot: the settings and the history are there.
keeps='keeps_all() { tail -1 /etc/assay/daemon.conf | grep -q "keep-age = 1w" && grep -q kept /var/lib/assay/samples/file; }
'

# A setting that the operator changed stays; the history stays.
upgrade() {
	in_chroot 'echo "keep-age = 1w" >>/etc/assay/daemon.conf && install -d -o assay -g assay /var/lib/assay/samples && echo kept >/var/lib/assay/samples/file' &&
		install_from "$1" &&
		in_chroot 'tail -1 /etc/assay/daemon.conf | grep -q "keep-age = 1w" && grep -q kept /var/lib/assay/samples/file &&
			dpkg-query -W -f "\${Version}\n" assay assay-daemon libassay0 | sort -u | grep -vq "^0.0.1$"'
}

# The service records, under a systemd of its own, and is upgraded meanwhile: apt starts the new daemon, and the history has the seconds before and after.
upgrade_while_recording() {
	local ns first booted status
	in_chroot 'apt-get -qq install -y --no-install-recommends systemd >/dev/null' || return
	[ -n "$(findmnt -n -t cgroup2 -o TARGET)" ] || { echo "no cgroups of the second version here" && return 77; }
	cp -r "$1" "$dir/debs.new" && rm -f "$dir"/debs.new/*dbgsym*
	ns=$(mktemp -d)
	"$here/service/boot.sh" "$ns" '' "$dir" &
	booted=$!
	inside() { nsenter -t "$first" -m -p -u -i -C -r -w "$@"; }
	for _ in $(seq 60); do
		first=$(pgrep -P "$booted" -x systemd) && inside systemctl is-active assay && break
		sleep 1
	done
	upgrade_inside
	status=$?
	kill -KILL "$booted" # unshare passes no other signal on
	wait "$booted"
	rmdir "$ns"
	rm -rf "$dir/debs.new"
	return $status
}

# report_after N FILE: the report as soon as the history has more than N samples.
report_after() {
	for _ in $(seq 60); do
		inside assay report --session-dir /var/lib/assay --format json >"$2" 2>"$2.said" &&
			[ "$(jq .header.samples.stored "$2")" -gt "$1" ] && return
		sleep 1
	done
	cat "$2.said"
	inside journalctl --no-pager -u assay | tail
	return 1
}

upgrade_inside() {
	local before after
	inside systemctl is-active assay || { echo "systemd does not boot here" && return 77; }
	before=$(inside systemctl show -P MainPID assay)
	report_after 0 "$dir/before.json" || return
	inside sh -c 'DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends /debs.new/*.deb' || return
	after=$(inside systemctl show -P MainPID assay)
	[ "$after" != 0 ] && [ "$after" != "$before" ] || return
	# The samples of before are there, the new daemon has added its own, and none is lost.
	report_after "$(jq .header.samples.stored "$dir/before.json")" "$dir/after.json" || return
	jq -c .header.samples,.header.losses "$dir/before.json" "$dir/after.json"
	jq -e '[.header.losses[] | select(.kind == "lost" or .reason == "file-refused")] | length == 0' "$dir/after.json"
}

# Back to the older version: settings and history stay.
downgrade() {
	rm -rf "$dir/debs" && cp -r "$1" "$dir/debs" &&
		in_chroot "$keeps"'apt-get -qq install -y --allow-downgrades --no-install-recommends /debs/*.deb &&
			dpkg-query -W -f "\${Version}\n" assay assay-daemon libassay0 | sort -u | grep -qx 0.0.1 && keeps_all'
}

# A daemon that nobody restarts: it records on, the new program asks it, and a new daemon goes on with its history.
old_daemon_runs() {
	cp -r "$1" "$dir/debs.new" && rm -f "$dir"/debs.new/*dbgsym*
	in_chroot '
		samples() { assay report --session-dir /var/lib/old --format json 2>/tmp/said | sed -n "s/.*\"stored\": *\([0-9]*\).*/\1/p" | head -n 1; }
		more_than() { for _ in $(seq 60); do [ "$(samples)" -gt "$1" ] 2>/dev/null && return; sleep 1; done; cat /tmp/said /tmp/daemon.log; return 1; }
		assay daemon --session-dir /var/lib/old --max-cpu 0 >/tmp/daemon.log 2>&1 & old=$!
		trap "kill -9 \$old 2>/dev/null" EXIT
		more_than 0 || exit 1
		apt-get -qq install -y --no-install-recommends /debs.new/*.deb && kill -0 $old || exit 1
		assay ctl --session-dir /var/lib/old status && more_than "$(samples)" || exit 1
		# One daemon for one history.
		if assay daemon --session-dir /var/lib/old >/tmp/second.log 2>&1; then exit 1; fi
		cat /tmp/second.log
		kill $old && wait $old || exit 1
		before=$(samples)
		assay daemon --session-dir /var/lib/old --max-cpu 0 >>/tmp/daemon.log 2>&1 & old=$!
		more_than "$before" && kill $old && wait $old && rm -rf /var/lib/old'
	local status=$?
	rm -rf "$dir/debs.new"
	return $status
}

# /var without room for anything: the upgrade fails and says so, and harms nothing. With room, it ends.
upgrade_on_full_disk() {
	rm -rf "$dir/debs" && cp -r "$1" "$dir/debs" && rm -f "$dir"/debs/*dbgsym* &&
		in_chroot "$keeps"'
		mount -t tmpfs -o size=$(($(du -sm /var | cut -f1) + 300))m none /mnt && cp -a /var/. /mnt/ && mount --bind /mnt /var || exit 1
		for room in 0 100 1000; do # KB: dpkg stops at its first file, or later
			dd if=/dev/zero of=/var/room bs=1k count=$room 2>/dev/null
			dd if=/dev/zero of=/var/filler bs=1M 2>/dev/null; dd if=/dev/zero of=/var/filler2 bs=512 2>/dev/null
			rm /var/room
			! dpkg -i /debs/*.deb || [ $room != 0 ] || { echo "the upgrade needed no room"; exit 1; }
			assay --version && keeps_all || exit 1
			rm /var/filler*
		done
		dpkg --configure -a && apt-get -qq install -y --fix-broken --no-install-recommends /debs/*.deb && keeps_all && assay --version
		status=$?
		umount /var && rm -rf /var/* && cp -a /mnt/. /var/ && umount /mnt || exit 1
		exit $status'
}

# Half of a package: dpkg is killed between unpacking and configuring. apt mends it.
half_installed() {
	in_chroot 'dpkg --unpack /debs/assay-daemon_*.deb && assay --version && dpkg --configure -a && dpkg -l assay-daemon | grep ^ii'
}

# After `remove`, settings and history stay. After `purge`, nothing of the packages does.
remove() {
	in_chroot "apt-get -qq remove -y $packages && [ -e /etc/assay/daemon.conf ] && [ -e /var/lib/assay/samples/file ] &&
		! command -v assay && ! command -v opreport"
}

purge() {
	in_chroot "dpkg --purge $packages && ! find / -xdev \( -path /assay -o -path /debs -o -path /former -o -path /root -o -path /proc -o -path /sys -o -path /tmp -o -path /tests -o -path /var/lib/dpkg -o -path /var/log -o -path /var/cache/apt -o -path /dev -o -path /run \) -prune -o -name '*assay*' -print | grep ."
}

check_release() {
	local debs former
	dir=$(mktemp -d "${TMPDIR:-/tmp}/packages-$release.XXXXXX")
	built=$dir.built
	trap 'rm -rf --one-file-system "$dir" "$built" "$dir.clean"' EXIT
	make_chroot "$release"
	if [ -n "$why" ]; then
		echo "$release: skipped: $why"
		skipped=$((skipped + 1))
		return
	fi
	cp -a "$dir" "$dir.clean"
	if step "make and git" add_clone && step "make deb" build; then
		[ "$release" != bookworm ] || step "two builds are equal" build_again
		[ "$release" != bookworm ] || step "RPM packages" build_rpm
		step lintian check_style
		step "an older version" make_former
		mkdir -p "$built" && cp -r "$dir/assay/build-deb" "$built/debs" && cp -r "$dir/former" "$built/former"
		mkdir -p "$dir.clean/tests" && cp -r "$dir/assay/debian" "$dir/assay/examples" "$dir.clean/tests/"
		rm -rf --one-file-system "$dir" && mv "$dir.clean" "$dir"
		debs=$built/debs former=$built/former
		prepare_apt
		rm -f "$debs"/log "$debs"/*.changes "$debs"/*.buildinfo "$debs"/*.tar.* "$debs"/*.dsc
		step "package lists" in_chroot 'apt-get -qq update'
		step "install the older version" install_from "$former" &&
			step "upgrade while the service records" upgrade_while_recording "$debs" &&
			step upgrade upgrade "$debs" &&
			step "tests of the installed packages" run_tests &&
			step downgrade downgrade "$former" &&
			step "an old daemon that runs on" old_daemon_runs "$debs" &&
			step "downgrade again" downgrade "$former" &&
			step "upgrade while /var is full" upgrade_on_full_disk "$debs"
		step "a package that is half installed" half_installed
		step remove remove
		step purge purge
	fi
	rm -rf --one-file-system "$dir" "$built" "$dir.clean"
}

[ $# -gt 0 ] || set -- "${releases[@]}"
for release; do
	check_release
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
