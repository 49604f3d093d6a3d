// SPDX-License-Identifier: GPL-2.0-or-later
namespace shapes {
template <typename T> struct square {
	T side;
	__attribute__((noinline)) T area(T scale) const { return side * scale * side; }
};
} // namespace shapes
static inline int twice(int n) { return n * 2 + (n >> 3); }
template <typename Function> __attribute__((noinline)) int apply(Function &&f, int n) { return f(n) + twice(n); }
int every(int n)
{
	return apply([n](int k) { return shapes::square<int>{k}.area(n); }, n) + (int)shapes::square<double>{1.5}.area(n);
}
