/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef ASSAY_ERROR_H
#define ASSAY_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Why a function failed. The size of this struct never changes. */
struct assay_error {
	int code;       /* a negative errno */
	char text[764]; /* a sentence for people, UTF-8, ends with '\0' */
};

/* The version of the library: "1.0.0". */
const char *assay_version(void);

#ifdef __cplusplus
}
#endif
#endif
