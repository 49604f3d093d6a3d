// SPDX-License-Identifier: GPL-2.0-or-later
const std = @import("std");
fn Square(comptime T: type) type {
    return struct {
        side: T,
        noinline fn area(self: @This(), scale: f64) f64 {
            var r: f64 = 0;
            var i: f64 = 0;
            while (i < 1000) : (i += 1) r += @as(f64, self.side) * scale * i;
            return r;
        }
    };
}
pub fn main() void {
    const one = Square(f64){ .side = 1.5 };
    const two = Square(f32){ .side = 2.5 };
    var total: f64 = 0;
    for (0..200000) |_| total += one.area(3) + two.area(3);
    std.debug.print("{d}\n", .{total});
}
