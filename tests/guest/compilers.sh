# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# The in-kernel sampler as other releases' compilers make it; after packages.sh. $arch is the guest's.
#
#   put_samplers RELEASE…       /objects/clang-N.o in the guest, by the clang of each release; /objects/missing: why not

# The compiler finds neither its libraries nor its headers where it looks for them.
compile_sampler() { # FOLDER
	local loader clang version target=x86 headers=/usr/include/x86_64-linux-gnu
	[ "$arch" != arm64 ] || target=arm64 headers=/usr/aarch64-linux-gnu/include
	loader=$(find "$DEB_ROOT" -name 'ld-linux-x86-64.so.2' | head -n 1)
	clang=$(find "$DEB_ROOT/usr/lib" -path '*/llvm-*/bin/clang' | head -n 1)
	if [ -z "$loader" ] || [ -z "$clang" ]; then cannot "no clang in the packages of $DEB_RELEASE"; fi
	clang=$(readlink -f "$clang")
	version=${clang#*/llvm-} version=${version%%/*}
	"$loader" --library-path "$DEB_ROOT/lib/x86_64-linux-gnu:$DEB_ROOT/usr/lib/x86_64-linux-gnu:${clang%/bin/*}/lib" "$clang" \
		-g -O2 -target bpf -mcpu=v3 -ffreestanding -D__TARGET_ARCH_$target -resource-dir "$(find "${clang%/bin/*}/lib/clang" -mindepth 1 -maxdepth 1 -type d | head -n 1)" \
		-I "$root/src" -idirafter "$headers" -idirafter /usr/include \
		-c "$root/src/collect/bpf/sampler.bpf.c" -o "$1/clang-$version.o" || cannot "clang $version did not compile the sampler"
}

put_samplers() {
	local release why
	mkdir -p "$guest/objects"
	for release; do
		why=$(packages_of amd64 "$release" && locked unpack_with_depends clang && compile_sampler "$guest/objects" 2>&1) ||
			echo "clang of $release: ${why##*$'\n'}" >>"$guest/objects/missing"
	done
}
