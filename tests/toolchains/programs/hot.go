// SPDX-License-Identifier: GPL-2.0-or-later
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

type shape interface{ area(scale float64) float64 }
type polygon[T float32 | float64] struct{ side T }

//go:noinline
func (p polygon[T]) area(scale float64) float64 {
	var sum float64
	for i := 0; i < 1000; i++ {
		sum += float64(p.side) * scale * float64(i)
	}
	return sum
}

//go:noinline
func all(list []shape) (sum float64) {
	for _, s := range list {
		sum += func(k float64) float64 { return s.area(k) }(3)
	}
	return
}

//go:noinline
func words(n int) int {
	m := map[string]int{}
	for i := 0; i < n; i++ {
		m[strconv.Itoa(i*7919%101)] += i
	}
	keys := make([]string, 0)
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return m[keys[i]] < m[keys[j]] })
	return len(keys)
}

func main() {
	seconds := 0.6
	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	list := []shape{polygon[float64]{1.5}, polygon[float32]{2.5}}
	sum := 0.0
	for time.Now().Before(end) {
		sum += all(list) + float64(words(500))
	}
	fmt.Println(sum)
}
