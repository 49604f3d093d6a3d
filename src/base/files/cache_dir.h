/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where what can be made again is kept between runs. */
#pragma once

/*
 * $XDG_CACHE_HOME/assay/WHAT, else ~/.cache/assay/WHAT. A directory of
 * another user (sudo keeps HOME) is passed over for our own home, so that root
 * leaves no files where they later can't be replaced. NULL if there is none. The caller frees.
 */
char *cache_dir(const char *what);
