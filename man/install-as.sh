#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs file $1 as $2/$3 below the prefix; Meson calls it at install time.
set -eu
mkdir -p "$MESON_INSTALL_DESTDIR_PREFIX/$2"
install -m 644 "$1" "$MESON_INSTALL_DESTDIR_PREFIX/$2/$3"
