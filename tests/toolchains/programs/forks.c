/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks; parent and children sort numbers. */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

volatile int sink;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) void sort_numbers(int n)
{
	int *v = malloc(n * sizeof(*v));

	for (int i = 0; i < n; i++)
		v[i] = rand();
	qsort(v, n, sizeof(*v), compare);
	sink += v[0];
	free(v);
}

__attribute__((noinline)) void work(int n)
{
	sort_numbers(n);
	sink++;
}

int main(int argc, char **argv)
{
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);

	while ((double)clock() / CLOCKS_PER_SEC < end) {
		pid_t child = fork();

		for (int i = 0; i < 10; i++)
			work(2000);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return 0;
}
