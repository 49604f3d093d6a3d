/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starve MB[,MB…] FORMAT FILE…
 *
 * Reads each FILE with libassay: rows, trees, samples, and an export in FORMAT. It does so in a
 * process that may use only so many MB more than before. It prints "MB FILE: whole", "not enough
 * memory" or "refused". The exit status is 1 if the library ended a process, printed something, or
 * left out samples without an error.
 */
#include <assay/assay.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WHOLE, NO_MEMORY, REFUSED, N_ENDS };
static const char *const ends[N_ENDS] = { "whole", "not enough memory", "refused" };

static int end_of(int r)
{
	return r >= 0 ? WHOLE : r == -ENOMEM ? NO_MEMORY : REFUSED;
}

static int take(void *context, const struct assay_sample *sample)
{
	*(uint64_t *)context += sample->samples;
	return 0;
}

/* All answers must be of all samples. */
static int read_rows(struct assay_session *session)
{
	static int (*const views[])(struct assay_session *, const struct assay_query *,
				    struct assay_rows **,
				    struct assay_error *) = { assay_rows, assay_tree,
							      assay_inverted_tree };
	struct assay_rows *rows;
	uint64_t n = 0, total = 0;
	int r = 0;

	for (size_t i = 0; i < 3 && r >= 0; i++) {
		r = views[i](session, NULL, &rows, NULL);
		for (size_t k = 0; r >= 0 && !i && k < assay_rows_count(rows); k++)
			n += assay_row_samples(rows, k, 0);
		total = r >= 0 ? assay_rows_total_samples(rows, 0) : 0;
		if (r >= 0 && !i && n != total)
			_exit(99);
		if (r >= 0)
			assay_rows_free(rows);
	}
	return r;
}

static int use(const char *path, const char *format)
{
	struct assay_session *session;
	uint64_t n_samples = 0;
	int r = assay_open(path, NULL, &session, NULL);

	if (r < 0)
		return end_of(r);
	r = read_rows(session);
	r = r < 0 ? r : assay_samples(session, take, &n_samples, NULL);
	r = r < 0 ? r : assay_export(session, NULL, format, "starved.out", NULL);
	assay_close(session);
	return end_of(r);
}

static void limit_memory(size_t more)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	struct rlimit limit;

	if (!f || fscanf(f, "%lu", &pages) != 1)
		_exit(98);
	fclose(f);
	limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
	setrlimit(RLIMIT_AS, &limit);
}

/* In a child whose output is in the file "printed". */
static int starve(const char *path, const char *format, size_t more)
{
	struct stat printed;
	pid_t pid = fork();
	int status;

	if (!pid) {
		int fd = open("printed", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		dup2(fd, 1);
		dup2(fd, 2);
		limit_memory(more);
		_exit(use(path, format));
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || stat("printed", &printed) < 0)
		return -1;
	if (WIFEXITED(status) && WEXITSTATUS(status) < N_ENDS && !printed.st_size)
		return WEXITSTATUS(status);
	fprintf(stderr, "%s, %zu MB: ended with status %#x, and printed %lld bytes\n", path,
		more >> 20, (unsigned int)status, (long long)printed.st_size);
	return -1;
}

int main(int argc, char **argv)
{
	int is_bad = 0;

	for (int i = 3; i < argc; i++)
		for (char *mb = argv[1]; mb; mb = strchr(mb, ',') ? strchr(mb, ',') + 1 : NULL) {
			int end = starve(argv[i], argv[2], strtoul(mb, NULL, 10) << 20);

			is_bad |= end < 0;
			if (end >= 0)
				printf("%lu %s: %s\n", strtoul(mb, NULL, 10), argv[i], ends[end]);
		}
	return is_bad;
}
