# SPDX-License-Identifier: GPL-2.0-or-later
# A thin front for Meson: `make help` lists what there is.
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

.PHONY: all deb rpm dist site tarball image demo check check-containers check-fleet check-packages check-languages check-long check-steady check-tarball check-guests check-hardware check-mutants check-releases check-toolchains bench cross-arm64 guest-shell install format help deps clean

all:					## install missing packages, build assay (build/assay)
	@scripts/deps.sh build
	@[ -f $(BUILD)/build.ninja ] || said=$$(meson setup $(BUILD) 2>&1) || { echo "$$said" | tail -20; exit 1; }
	@ninja -C $(BUILD)

deb:					## Debian packages of HEAD for this release (build-deb/*.deb)
	@scripts/deb.sh

dist:					## the source of HEAD for a release, with its bill of materials and checksums (build-dist/)
	@scripts/dist.sh

site: all				## the documents and man pages as a static site (build-site/)
	@scripts/deps.sh check
	@scripts/site.py $(BUILD)/man build-site

rpm:					## RPM packages of HEAD (build-rpm/RPMS)
	@scripts/rpm.sh

tarball:				## one tarball for Debian 11 and all newer releases (x86-64; ARCH=aarch64)
	@scripts/deps.sh build
	@scripts/tarball.sh

image: tarball				## a container image with assay alone, by podman or docker (docs/howto/containers.md)
	@scripts/image.sh

demo: all				## build assay, profile something, show it
	@scripts/demo.sh $(BUILD)/assay

check:					## every test and style check; T=annotate is one area, N='words' one test of it
	@scripts/deps.sh check
	@tests/run $(if $(N),-n '$(N)') $(T)

check-containers: all			## tests with podman, as root and not; CONTAINERS=1000 short ones
	@scripts/deps.sh check
	@$(MAKE) --no-print-directory tarball || true
	@bats --tap tests/containers | tests/tools/tap_sum

check-fleet: all			## faults in a fleet: FAULTS=1000 ASSAY_CLICKHOUSE=http://127.0.0.1:8123 DIR=faults; a second run goes on
	@scripts/deps.sh check
	@ASSAY=$(CURDIR)/build/assay WORKLOAD=$(CURDIR)/build/tests/programs/split CLOCK_SHIFT_SO=$(CURDIR)/build/tests/programs/clock_shift.so python3 tests/fleet/faults.py $(or $(DIR),build/faults) $(or $(FAULTS),1000) $(ASSAY_CLICKHOUSE)
	@tests/run cli/clickhouse_shards

check-guests:				## tests in virtual machines that take long
	@scripts/deps.sh check
	@$(MAKE) --no-print-directory all
	@tests/guest/run --long | tests/tools/tap_sum

check-long:				## an hour: fuzzing, 1,000 kills, each failing call, hostile tenants, races; SECONDS=3 KILLS=20 STEP=50 is short
	@scripts/deps.sh check
	@CRASH_STEP=$(or $(STEP),1) CRASH_KILLS=$(or $(KILLS),1000) CRASH_SEED=$$(date +%s) FUZZ_LIMITS=1 FUZZ_SECONDS=$(or $(SECONDS),60) FUZZ_SEED=$$(date +%s) THREADS=all \
		tests/run $(or $(T),fuzz cli/crash cli/hostile cli/hostile_cache cli/hostile_flood cli/hostile_jit cli/hostile_names cli/hostile_tenant sanitized threads)

check-packages:				## the Debian packages in fresh chroots: built, installed, upgraded, removed; RELEASE='trixie sid'; an hour
	@tests/packages.sh $(RELEASE)

check-steady:				## `make check` on busy and slow machines: KIND=quiet N=5; hours
	@scripts/deps.sh check
	@tests/steady $(KIND) $(N)

check-tarball:				## the tarballs that `make tarball` made, where nothing else is installed
	@scripts/deps.sh check
	@tests/tarball.sh build-tarball*/assay-*.tar.gz | tests/tools/tap_sum

check-languages: all			## stacks of interpreters of Debian releases: RELEASE='trixie sid' PYTHONS='/opt/python3.7/bin/python3'
	@PYTHONS='$(PYTHONS)' tests/languages_check.sh $(RELEASE) | tests/tools/tap_sum

check-hardware: all			## each feature of this machine's processor, on programs whose truth is known: hardware.json, which you can send in
	@tests/hardware_check.py $(BUILD)/assay

check-mutants:				## whether the tests notice small faults in src/: N='1 2 3' are seeds; hours
	@scripts/deps.sh check
	@tests/mutants $(N)

check-releases:				## `make demo` and `make check` in fresh chroots of Debian releases: RELEASE=trixie; hours
	@tests/newcomer.sh $(RELEASE)

check-toolchains: all			## names, lines and stacks of every compiler, against LLVM and gdb: RELEASE='trixie sid' K='gcc-16'; hours
	@tests/toolchains/run $(if $(K),-k '$(K)') $(RELEASE)

bench: all				## measure against perf; ONLY='record-true accuracy' ROUNDS=5
	@scripts/deps.sh bench
	@bench/run --assay $(BUILD)/assay $(if $(ROUNDS),--rounds $(ROUNDS)) $(ONLY)

cross-arm64:				## build assay for AArch64 (build-arm64/assay)
	@scripts/cross-arm64.sh

guest-shell: all			## a prompt in a virtual machine with assay; ARCH=arm64 has counters, ARCH=amd64 modules
	@tests/guest/run --shell $(or $(ARCH),arm64)

install: all				## install below PREFIX (and DESTDIR)
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD)

format:					## clang-format every C file in place
	@scripts/check-format.sh --fix

deps:					## install the packages that building, checking and bench need
	@scripts/deps.sh bench

clean:					## remove the build folders
	@rm -rf build build-check build-fuzz build-no-oprofile build-threads build-arm64 build-tarball build-tarball-aarch64 build-deb build-dist build-release build-rpm build-site

help:					## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile | expand -t 22
