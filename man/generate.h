/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The shells' completion files, each written to stdout from the command tables. */
#pragma once

void complete_bash(void);
void complete_zsh(void);
void complete_fish(void);
