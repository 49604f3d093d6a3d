/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Fortran's modules from gfortran and flang; procedures outside of modules have ordinary
 * names.
 *
 *	__shapes_MOD_area		shapes::area
 *	_QMshapesParea			shapes::area
 *	_QMshapesFareaPhelper		shapes::area::helper	(within area)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* Puts the readable form in place of the content of `out`; false, and nothing in it, otherwise. */
bool fortran_demangle(const char *name, size_t len, struct buf *out);
