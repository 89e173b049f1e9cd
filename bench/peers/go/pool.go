// The cases of bench/pool/rota.cpp: a work is a goroutine.
package main

import (
	"math"
	"runtime"
	"sync"
	"time"
)

const chains = 64

func submitFrom(producers int) func(n int) {
	return func(n int) {
		var all sync.WaitGroup
		for i := 0; i < producers; i++ {
			all.Add(n/producers + 1)
			produce := func() {
				for i := 0; i < n/producers; i++ {
					go all.Done()
				}
				all.Done()
			}
			if producers == 1 {
				produce()
			} else {
				go produce()
			}
		}
		all.Wait()
	}
}

func submitInside(n int) {
	var all sync.WaitGroup
	all.Add(chains)
	var next func(left int)
	next = func(left int) {
		if left == 0 {
			all.Done()
		} else {
			go next(left - 1)
		}
	}
	for i := 0; i < chains; i++ {
		go next((n+chains-1)/chains - 1)
	}
	all.Wait()
}

func takeRoots(count int) float64 {
	sum := 0.0
	for i := 0; i < count; i++ {
		sum += math.Sqrt(float64(i))
	}
	return sum
}

var rootsSink [1024]float64

func rootWorks(count int) func(n int) {
	return func(n int) {
		var all sync.WaitGroup
		all.Add(n)
		for i := 0; i < n; i++ {
			sink := &rootsSink[i%len(rootsSink)]
			go func() {
				*sink = takeRoots(count)
				all.Done()
			}()
		}
		all.Wait()
	}
}

func timerWorks(n int) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go func() {
			for i := 0; i < 3; i++ {
				time.Sleep(10 * time.Millisecond)
			}
			all.Done()
		}()
	}
	all.Wait()
}

func yieldWorks(n int) {
	var all sync.WaitGroup
	all.Add(n / 10)
	for i := 0; i < n/10; i++ {
		go func() {
			for i := 0; i < 10; i++ {
				runtime.Gosched()
			}
			all.Done()
		}()
	}
	all.Wait()
}

func spinFor(span time.Duration) {
	for begin := time.Now(); time.Since(begin) < span; {
	}
}

// Go has no priorities: what is waited for is the same, and comes when it comes.
func priorityWorks(j job) {
	var high, all sync.WaitGroup
	high.Add(j.operations)
	all.Add(j.operations/4 + 3*j.operations)
	submit := func(isHigh bool) {
		go func() {
			spinFor(2 * time.Millisecond)
			for i := 0; i < 2; i++ {
				time.Sleep(3 * time.Millisecond)
				spinFor(2 * time.Millisecond)
			}
			if isHigh {
				high.Done()
			}
			all.Done()
		}()
	}
	begin := time.Now()
	for i := 0; i < j.operations/4; i++ {
		submit(false)
	}
	for i := 0; i < j.operations; i++ {
		submit(false)
		submit(false)
		submit(true)
	}
	name := j.name
	high.Wait()
	j.name = name + ".high"
	report(j, "ms", float64(time.Since(begin).Nanoseconds())/1e6, "")
	all.Wait()
	j.name = name + ".all"
	report(j, "ms", float64(time.Since(begin).Nanoseconds())/1e6, "")
}
