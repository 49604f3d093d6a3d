# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel takes the sampler from any compiler. Objects of compilers that are not here: ASSAY_BPF_OBJECTS, a folder.
load helpers

# The program that checks an object; skips where no object can be loaded.
need_loader() {
	loader=$PROGRAMS/load_sampler
	[ -x "$loader" ] || skip "this build has no BPF sampler"
	assay doctor >out || true
	grep -q '^ *BPF  *ok' out || skip "the kernel takes no BPF program here: $(grep -m1 '^ *BPF ' out | xargs)"
}

@test "the sampler of each installed clang is loaded, with each way to walk stacks" {
	need_loader
	[ "$(uname -m)" = x86_64 ] || skip "the command is for x86-64"
	n=0
	for clang in $(compgen -c clang | grep -xE 'clang(-[0-9]+)?' | sort -u); do
		"$clang" -g -O2 -target bpf -mcpu=v3 -ffreestanding -D__TARGET_ARCH_x86 -I "$ROOT/src" \
			-idirafter /usr/include/x86_64-linux-gnu -c "$ROOT/src/collect/bpf/sampler.bpf.c" -o "$clang.o"
		"$loader" "$clang.o"
		n=$((n + 1))
	done
	[ "$n" -gt 0 ] || skip "clang is not installed"
}

@test "samplers of other releases' compilers are loaded" {
	[ -n "${ASSAY_BPF_OBJECTS-}" ] || skip "ASSAY_BPF_OBJECTS names no folder of objects that other compilers made"
	need_loader
	for object in "$ASSAY_BPF_OBJECTS"/*.o; do
		"$loader" "$object"
	done
}
