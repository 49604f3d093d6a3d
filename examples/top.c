/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ten hottest functions: cc top.c $(pkg-config --cflags --libs assay) && ./a.out assay.data */
#include <assay/assay.h>
#include <err.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct assay_session *session;
	struct assay_rows *rows;
	struct assay_error error;

	if (assay_open(argc > 1 ? argv[1] : "assay.data", NULL, &session, &error) < 0)
		errx(1, "%s", error.text);
	if (assay_rows(session, NULL, &rows, &error) < 0)
		errx(1, "%s", error.text);
	for (size_t i = 0; i < assay_rows_count(rows) && i < 10; i++)
		printf("%6.2f %%  %-40s %s\n",
		       100.0 * (double)assay_row_samples(rows, i, 0) /
			       (double)assay_rows_total_samples(rows, 0),
		       assay_row_text(rows, i, "symbol"), assay_row_text(rows, i, "image"));
	assay_rows_free(rows);
	assay_close(session);
	return 0;
}
