// SPDX-License-Identifier: GPL-2.0-or-later
protocol Shape { func area(_ scale: Double) -> Double }
struct Square<T: BinaryFloatingPoint>: Shape {
    let side: T
    @inline(never) func area(_ scale: Double) -> Double {
        var r = 0.0
        for i in 0..<1000 { r += Double(side) * scale * Double(i) }
        return r
    }
}

@inline(never) func every(_ list: [Shape]) -> Double {
    return list.map { $0.area(3) }.reduce(0, +)
}

@inline(never) func words(_ n: Int) -> Int {
    var counts: [String: Int] = [:]
    for i in 0..<n { counts[String(i * 7919 % 101), default: 0] += 1 }
    return counts.keys.sorted().count
}

let list: [Shape] = [Square<Double>(side: 1.5), Square<Float>(side: 2.5)]
var total = 0.0
let seconds = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1])! : 0
for _ in 0..<(seconds > 0 ? 3000 * seconds : 1500) { total += every(list) + Double(words(200)) }
print(total)
