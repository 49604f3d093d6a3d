/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Templates, lambdas, virtual calls, exceptions and containers. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace shapes {
struct shape {
	virtual ~shape() = default;
	virtual double area(double scale) const = 0;
};

template <typename T, int Sides> struct polygon : shape {
	T side;
	explicit polygon(T s) : side(s) {}
	__attribute__((noinline)) double area(double scale) const override
	{
		volatile double sum = 0;
		for (int i = 0; i < 200 * Sides; i++)
			sum = sum + side * scale * i;
		return sum;
	}
};
} // namespace shapes

template <typename Function> __attribute__((noinline)) auto apply(Function &&f, int n)
{
	return f(n);
}

__attribute__((noinline)) static int thrower(int n)
{
	if (n % 16 == 0)
		throw std::runtime_error("every sixteenth");
	return n;
}

__attribute__((noinline)) static double all(const std::vector<std::unique_ptr<shapes::shape>> &list)
{
	double sum = 0;
	for (const auto &s : list)
		sum += apply([&](int k) { return s->area(k) + [k](double x) { return x * k; }(2.0); }, 3);
	return sum;
}

int main(int argc, char **argv)
{
	int round = 0;
	double end = (double)clock() / CLOCKS_PER_SEC + (argc > 1 ? atof(argv[1]) : 0.5), sum = 0;
	std::vector<std::unique_ptr<shapes::shape>> list;
	std::map<std::string, std::pair<int, double>> by_name;

	list.push_back(std::make_unique<shapes::polygon<double, 3>>(1.5));
	list.push_back(std::make_unique<shapes::polygon<float, 4>>(2.5f));
	while ((double)clock() / CLOCKS_PER_SEC < end) {
		sum += all(list);
		for (int i = 0; i < 50; i++) {
			by_name[std::to_string(i * 7919 % 1009)] = std::make_pair(i, sum);
		}
		/* Seldom: while one is thrown, libgcc writes over its own frame. */
		try {
			sum += thrower(round++);
		} catch (const std::exception &e) {
			sum += e.what()[0];
		}
		std::vector<std::pair<int, double>> v;
		for (auto &entry : by_name)
			v.push_back(entry.second);
		std::sort(v.begin(), v.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
		std::function<double(double)> f = [&](double x) { return x + v.size(); };
		sum += f(sum);
	}
	printf("%f\n", sum);
	return 0;
}
