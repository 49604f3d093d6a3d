// SPDX-License-Identifier: GPL-2.0-or-later
module small;
struct Square(T)
{
    T side;
    pragma(inline, false) T area(T scale) { return side * scale * side; }
}
int twice(int n) { return n * 2 + (n >> 3); }
int every(int n)
{
    return Square!int(n).area(3) + cast(int) Square!double(1.5).area(n) + twice(n);
}
