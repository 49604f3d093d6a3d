#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a large C++ program with debug information: big_program.py DIR [UNITS]

It has UNITS files (16), each with about 2.5 MB of code. Each file fills the standard library's
templates with different types, so no two files have code in common. Prints the program's path.
"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

UNIT = r'''
#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit@N@ {
template <int K> struct item {
	std::string name;
	int value = K;
	bool operator<(const item &o) const { return value != o.value ? value < o.value : name < o.name; }
	bool operator==(const item &o) const { return value == o.value && name == o.name; }
};
template <int K> struct hash_of {
	size_t operator()(const item<K> &i) const { return std::hash<std::string>()(i.name) ^ size_t(i.value); }
};
template <int K> int work(const std::vector<std::string> &words)
{
	std::vector<item<K>> v;
	std::map<item<K>, std::vector<item<K>>> tree;
	std::unordered_map<item<K>, std::list<item<K>>, hash_of<K>> table;
	std::deque<item<K>> queue;
	std::multiset<item<K>> bag;
	for (auto &w : words) {
		item<K> i{ w, int(w.size()) * K };
		v.push_back(i);
		tree[i].push_back(i);
		table[i].push_front(i);
		queue.push_front(i);
		bag.insert(i);
	}
	std::sort(v.begin(), v.end());
	std::stable_sort(queue.begin(), queue.end(), [](auto &a, auto &b) { return b < a; });
	std::partial_sort(v.begin(), v.begin() + long(v.size() / 2), v.end());
	std::make_heap(v.begin(), v.end());
	v.erase(std::unique(v.begin(), v.end()), v.end());
	auto shared = std::make_shared<item<K>>(v.empty() ? item<K>{} : v.front());
	std::function<int(int)> f = [shared](int x) { return x + shared->value; };
	std::ostringstream out;
	for (auto &p : tree)
		out << p.first.name << p.second.size();
	return f(int(table.size() + bag.size() + queue.size())) + int(out.str().size()) +
	       std::accumulate(v.begin(), v.end(), 0, [](int s, auto &i) { return s + i.value; });
}
int run(const std::vector<std::string> &words)
{
	int sum = 0;
	std::regex re("(a|b)*c+[d-f]{2,}");
	for (auto &w : words)
		sum += std::regex_search(w, re);
	@CALLS@
	return sum;
}
}
'''

MAIN = '''
#include <string>
#include <vector>
%s
int main(int argc, char **argv)
{
	std::vector<std::string> words(argv, argv + argc);
	int sum = 0;
	%s
	return sum & 1;
}
'''


def main():
    where = sys.argv[1]
    units = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    os.makedirs(where, exist_ok=True)
    sources = []
    for n in range(units):
        calls = '\n\t'.join(f'sum += work<{n * 100 + k}>(words);' for k in range(8))
        sources.append(f'{where}/unit{n}.cc')
        with open(sources[-1], 'w') as f:
            f.write(UNIT.replace('@N@', str(n)).replace('@CALLS@', calls))
    sources.append(f'{where}/main.cc')
    with open(sources[-1], 'w') as f:
        f.write(MAIN % ('\n'.join(f'namespace unit{n} {{ int run(const std::vector<std::string> &); }}'
                                  for n in range(units)),
                        '\n\t'.join(f'sum += unit{n}::run(words);' for n in range(units))))

    def build(source):
        subprocess.run(['g++', '-O2', '-g', '-c', source, '-o', source[:-3] + '.o'], check=True)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(build, sources))
    program = f'{where}/big'
    subprocess.run(['g++', '-Wl,--build-id', '-o', program] + [s[:-3] + '.o' for s in sources], check=True)
    print(program)


if __name__ == '__main__':
    main()
