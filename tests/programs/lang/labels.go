// SPDX-License-Identifier: GPL-2.0-or-later
// Goroutines with labels of runtime/pprof, which spin in functions of their own for ever, or for as many seconds as the argument says.
package main

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"
	"time"
)

var sink int

//go:noinline
func spin(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 1000000; i++ {
			sink += i * i
		}
	}
}

//go:noinline
func spinAlpha(until time.Time) { spin(until) }

//go:noinline
func spinBeta(until time.Time) { spin(until) }

//go:noinline
func spinPlain(until time.Time) { spin(until) }

func labelled(endpoint, trace, span string, f func(time.Time), until time.Time) {
	labels := pprof.Labels("endpoint", endpoint, "trace_id", trace, "span_id", span, "unasked", "secret")
	pprof.Do(context.Background(), labels, func(context.Context) { f(until) })
}

func main() {
	until := time.Now().Add(time.Hour)
	if len(os.Args) > 1 {
		seconds, _ := strconv.ParseFloat(os.Args[1], 64)
		until = time.Now().Add(time.Duration(seconds * float64(time.Second)))
	}
	go labelled("/alpha", "0123456789abcdef0123456789abcdef", "0123456789abcdef", spinAlpha, until)
	go labelled("/beta", "fedcba9876543210fedcba9876543210", "fedcba9876543210", spinBeta, until)
	spinPlain(until)
}
