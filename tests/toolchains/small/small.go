// SPDX-License-Identifier: GPL-2.0-or-later
package main

type square[T int32 | float64] struct{ side T }

//go:noinline
func (s square[T]) area(scale T) T { return s.side * scale * s.side }

func twice(n int32) int32 { return n*2 + n>>3 }

//go:noinline
func every(n int32) int32 {
	return square[int32]{n}.area(3) + int32(square[float64]{1.5}.area(float64(n))) + twice(n)
}

func main() { println(every(41)) }
