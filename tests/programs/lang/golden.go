// SPDX-License-Identifier: GPL-2.0-or-later
// As golden.py: stacks that are known. `golden ROUNDS` ends, and prints its CPU time in milliseconds.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var sink int64
var done int32

//go:noinline
func spin() (x int64) {
	for i := int64(0); i < 20000; i++ {
		x += i*i ^ x>>1
	}
	return x
}

//go:noinline
func spinCallback() int64 { return spin() }

//go:noinline
func callback() {
	list := []int{3, 1, 2}
	sort.Slice(list, func(a, b int) bool {
		sink += spinCallback()
		return list[a] < list[b]
	})
}

type shape interface{ area() int64 }
type square struct{ side int64 }
type circle struct{ radius int64 }

//go:noinline
func (s *square) area() int64 { return s.spinMethod() }

//go:noinline
func (s *square) spinMethod() int64 { return spin() + s.side }

//go:noinline
func (c circle) area() int64 { return c.spinOther() }

//go:noinline
func (c circle) spinOther() int64 { return spin() + c.radius }

//go:noinline
func shapes(all []shape) {
	for _, s := range all {
		sink += s.area()
	}
}

//go:noinline
func spinClosure() int64 { return spin() }

//go:noinline
func innermost(a int64) func() int64 {
	return func() int64 { return spinClosure() + a }
}

//go:noinline
func inner(f func() int64) func() int64 {
	return func() int64 { return f() + 1 }
}

//go:noinline
func closure() { sink += inner(innermost(1))() }

//go:noinline
func recursion(n int) int64 {
	if n > 1 {
		return recursion(n-1) + 1
	}
	return spinDeep()
}

//go:noinline
func spinDeep() int64 { return spin() }

//go:noinline
func spinHandler() int64 { return spin() }

//go:noinline
func spinFinally() { sink += spin() }

//go:noinline
func exception() {
	defer spinFinally()
	failing()
}

//go:noinline
func failing() {
	defer func() {
		recover()
		sink += spinHandler()
	}()
	panic("golden")
}

//go:noinline
func spinThread() int64 { return spin() }

//go:noinline
func worker() {
	for n := int64(0); atomic.LoadInt32(&done) == 0; n += spinThread() {
	}
}

//go:noinline
func everything() {
	callback()
	shapes([]shape{&square{1}, circle{2}})
	closure()
	recursion(100)
	exception()
}

func main() {
	last := os.Args[len(os.Args)-1]
	rounds, err := strconv.Atoi(last)
	var usage syscall.Rusage

	if last == "--version" {
		fmt.Println("Go", strings.TrimPrefix(runtime.Version(), "go"))
		return
	}
	go worker()
	for i := 0; err != nil || i < rounds; i++ {
		everything()
	}
	atomic.StoreInt32(&done, 1)
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	fmt.Println((usage.Utime.Nano() + usage.Stime.Nano()) / 1000000)
}
