/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All time is spent in leaf(), which a function calls that keeps SVE's vectors on its stack: the
 * size of its frame depends on the processor. For AArch64 alone (tests/guest/run builds it, with
 * SVE).
 */
#include <arm_sve.h>

#include "work.h"

/* No caller may know the registers that it leaves alone. */
#define SEPARATE __attribute__((noipa))

static volatile uint64_t sink;

static SEPARATE void leaf(void)
{
	sink = work_unit(sink);
}

static SEPARATE svfloat32_t with_vectors(svfloat32_t a, svfloat32_t b, svbool_t p)
{
	svfloat32_t product = svmul_x(p, a, b);

	leaf();
	return svadd_x(p, product, svadd_x(p, a, b));
}

static SEPARATE void outer(float *data)
{
	svbool_t p = svptrue_b32();

	svst1(p, data, with_vectors(svld1(p, data), svdup_f32(1), p));
	sink++;
}

int main(int argc, char **argv)
{
	static float data[64]; /* the longest vector has 2048 bits */
	struct until until = until_argument(argc, argv);

	while (until_next(&until))
		outer(data);
	return 0;
}
