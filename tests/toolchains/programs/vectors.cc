/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates of the C++ library: fills and sorts vectors. */
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

volatile double sink;

__attribute__((noinline)) void fill(std::vector<double> &v, int n)
{
	std::uniform_real_distribution<double> any(0, 1e5);
	std::default_random_engine engine;

	for (int i = 0; i < n; i++)
		v.push_back(any(engine));
}

__attribute__((noinline)) void work(int n)
{
	std::vector<double> v;

	fill(v, n);
	std::sort(v.begin(), v.end());
	sink += v[0];
}

int main(int argc, char **argv)
{
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5);

	while ((double)clock() / CLOCKS_PER_SEC < end)
		work(20000);
	return 0;
}
