/* SPDX-License-Identifier: GPL-2.0-or-later */
#define NAME spin_other
#include "spin.h"
