#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd as the first process of separate namespaces. It starts one unit only:
#
#   boot.sh DIR UNIT     the file of a unit, for this machine's root
#   boot.sh DIR '' ROOT  the unit assay.service of the chroot ROOT, as its packages installed it
# The root is under an overlay. The overlay is in memory below DIR, and ends with the
# namespace. So nothing that systemd or the unit writes touches the machine. Ends with systemd, or when
# killed.
set -e
dir=$1 unit=$2 below=${3:-/}
if [ -z "$IN_NAMESPACE" ]; then
	cgroups=$(findmnt -n -t cgroup2 -o TARGET | head -1)
	mkdir "$cgroups/assay-test.$$"
	echo $$ >"$cgroups/assay-test.$$/cgroup.procs"
	IN_NAMESPACE=yes exec unshare -m -p -u -i -C --fork --kill-child "$0" "$@"
fi
mount --make-rprivate /
mount -t tmpfs tmpfs "$dir"
root=$dir/root
mkdir "$dir"/{upper,work,root}
# A comma in a path would end an option.
(cd "$dir" && mount -t overlay -o "lowerdir=$below,upperdir=upper,workdir=work" overlay root)
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --make-rslave "$root/sys"
umount -R "$root/sys/fs/cgroup"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for place in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$place"; done
for node in null zero full random urandom tty; do
	touch "$root/dev/$node"
	mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir "$root"/dev/{pts,shm}
mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
[ -z "$unit" ] || rm -rf "$root"/etc/systemd/system/* "$root"/etc/assay "$root"/var/{lib,cache}/assay
: >"$root/etc/machine-id"
[ -z "$unit" ] || cp -r "$unit" "$unit.d" "$root/etc/systemd/system/"
printf '[Unit]\nWants=assay.service\nDefaultDependencies=no\n' >"$root/etc/systemd/system/only.target"
if [ -n "$unit" ]; then
	chroot "$root" systemd-sysusers --inline 'u assay 54321 "assay daemon" /var/lib/assay' 'u assay-parser 54322'
	# A history that a daemon of root began, before there was a user.
	mkdir -p "$root/var/lib/assay/samples/current"
	chmod -R go= "$root/var/lib/assay/samples"
fi
exec chroot "$root" env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin container=assay-test \
	/lib/systemd/systemd --system --unit=only.target --log-target=console --show-status=no
