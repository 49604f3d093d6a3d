# SPDX-License-Identifier: GPL-2.0-or-later
# A thin front for Meson: `make help` lists what there is.
PREFIX  ?= /usr/local
DESTDIR ?=
BUILD   ?= build

.PHONY: all demo check bench cross-arm64 guest-shell install format help deps clean

all: $(BUILD)/build.ninja		## build assay (build/assay)
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo "meson is missing: run 'make deps'" >&2; exit 1; }
	@meson setup $(BUILD) >/dev/null

demo:					## install what is missing, build, profile something, show it
	@scripts/deps.sh build
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh $(BUILD)/assay

check:					## every test and style check; the last line is the sum
	@scripts/deps.sh check
	@scripts/check.sh

bench:					## measure against perf; ONLY='record-true accuracy' ROUNDS=5
	@scripts/deps.sh bench
	@$(MAKE) --no-print-directory all
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
	@rm -rf build build-check build-fuzz build-arm64

help:					## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile | expand -t 22
