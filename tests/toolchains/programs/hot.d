// SPDX-License-Identifier: GPL-2.0-or-later
import core.time : MonoTime, msecs;
import std.algorithm : map, sort, sum;
import std.array : array;
import std.conv : to;
import std.range : iota;
import std.stdio : writeln;

interface Shape { double area(double scale); }
class Square(T) : Shape
{
    T side;
    this(T s) { side = s; }
    pragma(inline, false) double area(double scale)
    {
        double r = 0;
        foreach (i; 0 .. 1000)
            r += side * scale * i;
        return r;
    }
}

double every(Shape[] list)
{
    return list.map!(s => s.area(3)).sum;
}

size_t words(int n)
{
    int[string] counts;
    foreach (i; 0 .. n)
        counts[(i * 7919 % 101).to!string]++;
    auto keys = counts.keys.array;
    keys.sort!((a, b) => counts[a] < counts[b]);
    return keys.length;
}

void main(string[] arguments)
{
    auto end = MonoTime.currTime + (arguments.length > 1 ? arguments[1].to!int * 1000 : 600).msecs;
    Shape[] list = [cast(Shape) new Square!double(1.5), new Square!float(2.5)];
    double total = 0;
    while (MonoTime.currTime < end)
        total += every(list) + words(300);
    writeln(total);
}
