/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++ names as they are in real programs: templates in namespaces, lambdas, operators. */
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "work.h"

namespace shop
{
template <typename Key, typename Value, int Depth> struct catalogue {
	NOINLINE uint64_t search(const Key &, uint64_t x) const
	{
		return work_unit(x) + Depth;
	}
	NOINLINE uint64_t operator()(uint64_t x) const
	{
		return work_unit(x) - Depth;
	}
};
} // namespace shop

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	shop::catalogue<std::string, std::map<std::string, std::vector<std::pair<int, double>>>, 3>
		goods;
	std::function<uint64_t(uint64_t)> call = goods;
	uint64_t x = 1;

	while (until_next(&until))
		x = call(goods.search("hammer", x));
	printf("%llx\n", (unsigned long long)x);
	return 0;
}
