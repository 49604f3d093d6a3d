# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A virtual machine with Debian's kernel of an architecture, and assay in it; all software emulation.
#
#   machine ARCHITECTURE RELEASE HOW   says what is needed and there, or ends with 77; RELEASE of Debian has the
#                                   kernel, "" is this machine's; HOW: icount is one CPU, on which
#                                   an instruction takes a nanosecond and one cycle, always;
#                                   cpus=N is so many CPUs; timer=N, too, without hardware counters;
#                                   words behind it are arguments of the kernel
#   put FOLDER FILE…                files of the guest, programs with the libraries they need
#   put_module NAME…                modules of the kernel's packages, and those that they depend on
#   boot COMMAND [ARGUMENT…]        runs it in the guest; what it prints comes out here, status too
#
# $work is a folder that the caller made, $build the one that assay was built in.

# architecture | emulator, its package | machine, CPU | console | the loader of programs
machines='
arm64|qemu-system-aarch64|qemu-system-arm|virt|cortex-a57|ttyAMA0|lib/ld-linux-aarch64.so.1
amd64|qemu-system-x86_64|qemu-system-x86|q35|max|ttyS0|lib64/ld-linux-x86-64.so.2
'

fetch_machine() {
	fetch_kernel
	unpack "$DEB_ROOT" busybox-static
}

machine() {
	local package type cpu triplet
	IFS='|' read -r arch emulator package type cpu console loader < <(grep "^$1|" <<<"$machines")
	command -v "$emulator" >/dev/null || cannot "no $emulator (Debian's package $package)"
	command -v cpio >/dev/null || cannot "no cpio"
	command -v readelf >/dev/null || cannot "no readelf (binutils)"
	packages_of "$arch" "$2"
	locked fetch_machine || exit
	kernel_name
	emulation=(-M "$type" -cpu "$cpu" -accel tcg)
	read -r how append <<<"$3"
	# A kernel that waits for its timer's first ticks gives up where this machine is busy.
	[ "$arch" != amd64 ] || append+=" no_timer_check"
	case $how in
	# A kernel changes its own code while its other CPUs run it. With a thread for each CPU, qemu's emulation of that
	# is now and then wrong, and the kernel panics.
	*=2) emulation[-1]+=,thread=single ;;&
	timer=*) emulation[3]+=,pmu=off ;;&
	# The kernel would time each CPU and compare their clocks, which are all the host's: minutes.
	cpus=64) append+=" lpj=4000000 tsc=reliable nowatchdog" ;;&
	newest) emulation[3]=max,pauth-impdef=on && emulation+=(-m 1024 -smp 1) ;;
	icount) emulation+=(-m 768 -smp 1 -icount "shift=0,sleep=off") ;;
	*=*) emulation+=(-m "$((744 + 24 * ${how#*=}))" -smp "${how#*=}") ;;
	esac
	if [ "$arch" = "$(dpkg --print-architecture)" ]; then
		library_folders=(/lib/*-linux-gnu /usr/lib/*-linux-gnu /lib64 /usr/lib64 /usr/lib)
	else
		# Some are made later. The second root has what assay was linked with, where another release has the kernel.
		case $arch in arm64) triplet=aarch64-linux-gnu ;; *) triplet=x86_64-linux-gnu ;; esac
		library_folders=({"$DEB_ROOT","$GUEST_CACHE/$arch/root"}/{lib/$triplet,usr/lib/$triplet,lib})
	fi
	guest=$work/root
	mkdir -p "$guest"/{bin,sbin,proc,sys,dev,tmp,lib,lib64,root,etc,tests,usr/bin,usr/sbin}
	cp "$(find "$DEB_ROOT/bin" "$DEB_ROOT/usr/bin" -name busybox 2>/dev/null | head -n 1)" "$guest/bin" || cannot "no busybox"
	cp "$here/init" "$guest/init"
	cp "$here"/{checks,settings}.sh "$guest/tests"
}

put_library() {
	local folder
	[ ! -e "$guest/lib/$1" ] || return 0
	for folder in "${library_folders[@]}"; do
		[ -e "$folder/$1" ] || continue
		cp -L "$folder/$1" "$guest/lib/$1"
		put_libraries_of "$guest/lib/$1"
		return 0
	done
	cannot "no library $1 for the $arch guest"
}

put_libraries_of() {
	local name
	for name in $(readelf -d "$1" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		put_library "$name"
	done
}

put() {
	local folder=$guest$1 file
	shift
	mkdir -p "$folder"
	for file; do
		cp -rL "$file" "$folder" || cannot "no $file"
		put_libraries_of "$file"
	done
	[ -e "$guest/$loader" ] || put_library "${loader##*/}"
	[ -e "$guest/$loader" ] || cp -L "$guest/lib/${loader##*/}" "$guest/$loader"
}

# Newer kernels' packages have them compressed. /modules/order is the order to load them in.
put_module() {
	local name file out
	mkdir -p "$guest/modules"
	touch "$guest/modules/order"
	for name; do
		file=$(find "$KERNEL_MODULES" -name "${name//[-_]/[-_]}.ko" -o -name "${name//[-_]/[-_]}.ko.xz" | head -n 1)
		[ -n "$file" ] || cannot "Linux $KERNEL has no module $name"
		out=$guest/modules/${name//-/_}.ko
		[ ! -e "$out" ] || continue
		case $file in
		*.xz) xz -dc "$file" >"$out" ;;
		*) cp "$file" "$out" ;;
		esac
		# shellcheck disable=SC2046 # words
		put_module $(readelf -p .modinfo "$out" | sed -n 's/.* depends=//p' | tr , ' ')
		echo "${name//-/_}" >>"$guest/modules/order"
	done
}

write_initramfs() {
	(cd "$guest" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/initramfs"
}

# emulate SERIAL [COMMAND…]: COMMAND, if any, runs the emulator
emulate() {
	local serial=$1
	shift
	"$@" "$emulator" "${emulation[@]}" -nodefaults -no-user-config -display none -no-reboot -serial "$serial" \
		-kernel "$KERNEL_IMAGE" -initrd "$work/initramfs" \
		-append "console=$console rdinit=/init panic=-1 quiet loglevel=1 $append"
}

# An emulated machine is slow, so all of its tests have 15 deadlines together, and each wait in it has two.
# A boot with many tests has more deadlines.
deadline_s=${ASSAY_TEST_DEADLINE:-120} deadlines=15

# What runs prints between two marks; a guest that doesn't come to the second died.
boot() {
	local status
	printf '%q ' "$@" >"$guest/etc/command"
	echo $((2 * deadline_s)) >"$guest/etc/deadline"
	write_initramfs
	emulate stdio timeout --foreground -k 10 "${ASSAY_GUEST_SECONDS:-$((deadlines * deadline_s))}" </dev/null 2>"$work/emulator.err" |
		tr -d '\r' | tee "$work/console" | sed -n '/^@@begin/,/^@@end/{/^@@/!p}'
	status=$(sed -n 's/^@@end \([0-9]*\)$/\1/p' "$work/console")
	[ -n "$status" ] && return "$status"
	echo "the guest ended before its tests did; the end of its console:"
	tail -20 "$work/console"
	cat "$work/emulator.err"
	return 1
}

shell() {
	printf 'exec setsid cttyhack sh' >"$guest/etc/command"
	write_initramfs
	echo "assay in a $arch guest with Linux $KERNEL; 'exit' ends it (Ctrl-A X does, too)"
	emulate mon:stdio
}
