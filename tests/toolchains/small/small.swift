// SPDX-License-Identifier: GPL-2.0-or-later
struct Square { let side: Int32
    @inline(never) func area(_ scale: Int32) -> Int32 { return side &* scale &* side }
}
@inline(__always) func twice(_ n: Int32) -> Int32 { return n &* 2 &+ (n >> 3) }
@inline(never) public func every(_ n: Int32) -> Int32 { return Square(side: n).area(3) &+ twice(n) }
