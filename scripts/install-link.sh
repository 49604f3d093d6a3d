#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs a symbolic link to $1 as $2 below the prefix; Meson calls it at install time.
set -eu
ln -sfn "$1" "$MESON_INSTALL_DESTDIR_PREFIX/$2"
