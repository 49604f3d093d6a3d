# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Kernel modules for the guest, built against the headers of its kernel's packages; kept in the cache.
#
#   build_modules SOURCES   sets $modules to the folder with the .ko files, or ends with 77

fetch_headers() {
	local common=${KERNEL%-cloud-*}-common version=${KERNEL%%-*}
	unpack "$DEB_DIR/headers" "linux-headers-$KERNEL" "linux-headers-$common" "linux-kbuild-${version%.*}"
	# Its Makefile has the place where the package would be installed.
	sed -i "s,^include .*/linux-headers-$common/Makefile,include $DEB_DIR/headers/usr/src/linux-headers-$common/Makefile," \
		"$DEB_DIR/headers/usr/src/linux-headers-$KERNEL/Makefile"
}

make_modules() {
	[ ! -e "$modules/done" ] || return 0
	mkdir -p "$modules"
	cp "$1"/* "$modules"
	make -s -C "$DEB_DIR/headers/usr/src/linux-headers-$KERNEL" M="$modules" modules \
		>"$modules/log" 2>&1 </dev/null ||
		cannot "cannot build modules for $KERNEL: $(grep -m1 -i error "$modules/log" || tail -1 "$modules/log")"
	strip --strip-debug "$modules"/*.ko
	touch "$modules/done"
}

build_modules() {
	[ "$arch" = "$(dpkg --print-architecture)" ] || cannot "modules are built for this machine's architecture alone"
	locked fetch_headers || exit
	modules=$DEB_DIR/modules-$KERNEL-$(cat "$1"/* | cksum | cut -d' ' -f1)
	locked make_modules "$1" || exit
}
