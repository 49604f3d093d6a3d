// SPDX-License-Identifier: GPL-2.0-or-later
// As stops.java: the numbers of functions are in the file of the argument.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

const (
	depth = 1
	first = 2
)

var notes *[1024]int32
var names []string
var sink int

func id(name string) int32 {
	names = append(names, name)
	return int32(len(names) - 1)
}

var (
	run, leaf, small, loop, recursion, less, sorting = id("s_run"), id("s_leaf"), id("s_small"), id("s_loop"), id("s_recursion"), id("Less"), id("s_sort")
	inner, closure, square, circle, shapes           = id("s_closure.func1"), id("s_closure"), id("s_square"), id("s_circle"), id("s_shapes")
	recovered, panics, text, array, maps             = id("guarded.func1"), id("s_panics"), id("s_text"), id("s_array"), id("s_maps")
	deferred, defers, calls, deep                    = id("s_deferred"), id("s_defers"), id("s_calls"), id("s_deep")
)

func enter(id int32) {
	n := atomic.LoadInt32(&notes[depth])
	atomic.StoreInt32(&notes[first+n], id)
	atomic.StoreInt32(&notes[depth], n+1)
}

func leave(x int) int {
	atomic.AddInt32(&notes[depth], -1)
	return x
}

//go:noinline
func s_leaf(x int) int {
	enter(leaf)
	for i := 0; i < 40; i++ {
		x = x*31 + i
	}
	return leave(x)
}

//go:noinline
func s_small(x int) int {
	enter(small)
	return leave(s_leaf(x) + 1)
}

//go:noinline
func s_loop(n int) int {
	enter(loop)
	x := 0
	for i := 0; i < n; i++ {
		x += s_small(i)
	}
	return leave(x)
}

//go:noinline
func s_recursion(n int) int {
	enter(recursion)
	if n > 0 {
		return leave(s_recursion(n-1) + 1)
	}
	return leave(s_loop(20))
}

// Its frames make the stack grow.
//
//go:noinline
func s_deep(n int) int {
	enter(deep)
	var room [500]int
	room[n%500] = n
	if n > 0 {
		return leave(s_deep(n-1) + room[n%500])
	}
	return leave(s_leaf(n))
}

type list []int

func (l list) Len() int      { return len(l) }
func (l list) Swap(i, j int) { l[i], l[j] = l[j], l[i] }

//go:noinline
func (l list) Less(i, j int) bool {
	enter(less)
	return leave(l[i]-l[j]+0*s_leaf(i)) < 0
}

//go:noinline
func s_sort() int {
	enter(sorting)
	l := make(list, 24)
	for i := range l {
		l[i] = i * 7919 % 101
	}
	sort.Sort(l)
	return leave(l[0])
}

//go:noinline
func s_calls(f func() int) int {
	enter(calls)
	return leave(f())
}

//go:noinline
func s_closure(x int) int {
	enter(closure)
	return leave(s_calls(func() int {
		enter(inner)
		return leave(s_small(x))
	}))
}

type shape interface{ area(x int) int }
type squares struct{}
type circles struct{}

func (squares) area(x int) int { return s_square(x) }
func (circles) area(x int) int { return s_circle(x) }

//go:noinline
func s_square(x int) int {
	enter(square)
	return leave(s_leaf(x))
}

//go:noinline
func s_circle(x int) int {
	enter(circle)
	return leave(s_small(x))
}

//go:noinline
func s_shapes() int {
	enter(shapes)
	x := 0
	for _, s := range []shape{squares{}, circles{}, squares{}} {
		x += s.area(x)
	}
	return leave(x)
}

//go:noinline
func throws() int {
	panic("stops")
}

//go:noinline
func guarded() int {
	defer func() {
		enter(recovered)
		recover()
		leave(s_small(2))
	}()
	return throws()
}

//go:noinline
func s_panics() int {
	enter(panics)
	return leave(guarded())
}

//go:noinline
func s_deferred() {
	enter(deferred)
	leave(s_small(3))
}

//go:noinline
func s_defers() int {
	enter(defers)
	defer leave(0)
	defer s_deferred()
	return s_leaf(2)
}

//go:noinline
func s_text() int {
	enter(text)
	var b strings.Builder
	for i := 0; i < 30; i++ {
		fmt.Fprintf(&b, "%d %g", i, float64(i)*0.5)
	}
	return leave(b.Len())
}

//go:noinline
func s_array() int {
	enter(array)
	var l [][]int
	for i := 0; i < 50; i++ {
		l = append(l, make([]int, 100))
	}
	return leave(len(l))
}

//go:noinline
func s_maps() int {
	enter(maps)
	m := map[string]int{}
	for _, s := range strings.Fields("a b c d e f g h i j k l m n") {
		m[s] = len(m)
	}
	return leave(m["c"])
}

//go:noinline
func s_run() int {
	enter(run)
	return leave(s_loop(5) + s_recursion(25) + s_deep(30) + s_sort() + s_closure(3) + s_shapes() + s_panics() + s_defers() + s_text() + s_array() + s_maps())
}

func init() {
	runtime.LockOSThread()
}

func main() {
	file, err := os.OpenFile(os.Args[1], os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	bytes, err := syscall.Mmap(int(file.Fd()), 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	notes = (*[1024]int32)(unsafe.Pointer(&bytes[0]))
	notes[0] = int32(syscall.Gettid())
	fmt.Println(strings.Join(names, " "))
	for {
		sink = s_run()
	}
}
