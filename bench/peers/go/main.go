// QUESTION  What do the cases of rota's benchmarks cost with Go's goroutines?
// WHY       The best known scheduler of this kind, with stacks instead of state machines.
// BASELINE  rota's own programs, which print the same lines: bench/<suite>/rota.cpp says what one operation is.
// READ IT   As those. A goroutine has no handle: waiting for one is a WaitGroup or a channel. Every goroutine is in the
// scheduler, so there is no shape `block_on`, and no foreign thread to measure a latency from: those cases are missing.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

type job struct {
	name        string
	workers     int
	operations  int
	warmUp      int
	allocations bool
}

type benchCase struct {
	name        string
	full, quick int
	run         func(job)
}

var cases = []benchCase{
	{"spawn_await", 1_000_000, 200_000, measured(spawnAwait)},
	{"spawn_100k_outside", 100_000, 100_000, measured(spawnMany)},
	{"yield_alone", 5_000_000, 1_000_000, measured(yieldAlone)},
	{"yield_1000", 5_000_000, 1_000_000, measured(yield1000)},
	{"ping_pong", 1_000_000, 200_000, measured(pingPong)},
	{"hop", 5_000_000, 1_000_000, hop},
	{"fan_in_1", 10_000_000, 2_000_000, fanIn(1)},
	{"fan_in_8", 10_000_000, 2_000_000, fanIn(8)},
	{"fan_in_64", 10_000_000, 2_000_000, fanIn(64)},
	{"ring", 10_000_000, 2_000_000, ring},
	{"arm_cancel", 2_000_000, 400_000, measured(armCancel)},
	{"sleeps_100k", 100_000, 100_000, sleeps},
	{"sleeping_task", 1_000_000, 100_000, sleepingTask},
	{"idle_connection", 4000, 1000, idleConnection},
	{"echo_64", 1, 1, echoServer(128)},
	{"echo_16k", 1, 1, echoServer(32768)},
	{"submit_outside", 1_000_000, 200_000, measured(submitFrom(1))},
	{"submit_outside_4", 1_000_000, 200_000, measured(submitFrom(4))},
	{"submit_inside", 1_000_000, 200_000, measured(submitInside)},
	{"submit_inside_alone", 1_000_000, 200_000, measured(submitInside)},
	{"submit_wait", 50_000, 10_000, measured(spawnAwait)},
	{"sync_works", 1000, 200, measured(rootWorks(100_000))},
	{"short_works", 1_000_000, 200_000, measured(rootWorks(10))},
	{"timer_works", 50, 50, measured(timerWorks)},
	{"yield_works", 100_000, 100_000, measured(yieldWorks)},
	{"priority_works", 200, 20, priorityWorks},
	{"fib", fibCalls[35], fibCalls[27], solved(solveFib, fibCalls)},
	{"fib_1", fibCalls[35], fibCalls[27], solved(solveFib, fibCalls)},
	{"nqueens", queensBoards[14], queensBoards[11], solved(solveNqueens, queensBoards)},
	{"matmul", leafProducts[6], leafProducts[4], solved(solveMatmul, leafProducts)},
	{"matmul_1", leafProducts[6], leafProducts[4], solved(solveMatmul, leafProducts)},
	{"quicksort", 10_000_000, 1_000_000, sortKeys},
	{"uts", treeNodes[3], treeNodes[2], solved(solveUts, treeNodes)},
}

func cpuNs() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		fail(err.Error())
	}
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

func report(j job, unit string, value float64, more string) {
	fmt.Printf("{\"case\":\"%s\",\"workers\":%d,\"unit\":\"%s\",\"value\":%.4f%s}\n", j.name, j.workers, unit, value, more)
}

// field is one more of a line.
func field(name string, value float64) string { return fmt.Sprintf(",\"%s\":%.4f", name, value) }

// measured runs the loop twice, once to warm up.
func measured(work func(n int)) func(job) {
	return func(j job) {
		work(j.warmUp)
		cpu, begin := cpuNs(), time.Now()
		work(j.operations)
		wall, n := float64(time.Since(begin).Nanoseconds()), float64(j.operations)
		report(j, "ns", wall/n, field("cpu_ns", (cpuNs()-cpu)/n))
	}
}

func spawnAwait(n int) {
	done := make(chan struct{})
	for i := 0; i < n; i++ {
		go func() { done <- struct{}{} }()
		<-done
	}
}

func spawnMany(n int) {
	var all sync.WaitGroup
	all.Add(n)
	for i := 0; i < n; i++ {
		go all.Done()
	}
	all.Wait()
}

func yieldAlone(n int) {
	for i := 0; i < n; i++ {
		runtime.Gosched()
	}
}

func yield1000(n int) {
	var all sync.WaitGroup
	all.Add(1000)
	for i := 0; i < 1000; i++ {
		go func() {
			yieldAlone((n + 999) / 1000)
			all.Done()
		}()
	}
	all.Wait()
}

// A channel with room for one is what comes nearest to an event that resets itself.
func pingPong(n int) {
	ping, pong := make(chan struct{}, 1), make(chan struct{}, 1)
	go func() {
		for i := 0; i < n; i++ {
			<-ping
			pong <- struct{}{}
		}
	}()
	for i := 0; i < n; i++ {
		ping <- struct{}{}
		<-pong
	}
}

func armCancel(n int) {
	for i := 0; i < n; i++ {
		time.AfterFunc(time.Second, func() {}).Stop()
	}
}

func sleeps(j job) {
	cpu := cpuNs()
	var all sync.WaitGroup
	all.Add(j.operations)
	for i := 0; i < j.operations; i++ {
		span := time.Duration(50+i*7919%950) * time.Millisecond
		go func() {
			time.Sleep(span)
			all.Done()
		}()
	}
	all.Wait()
	report(j, "cpu ns", (cpuNs()-cpu)/float64(j.operations), "")
}

func parse(c benchCase, arguments []string) job {
	j := job{name: c.name, workers: 2, operations: c.full}
	for i := 0; i+1 < len(arguments); i += 2 {
		value := arguments[i+1]
		n, err := strconv.Atoi(value)
		switch {
		case arguments[i] == "--scale" && value == "quick":
			j.operations = c.quick
		case arguments[i] == "--scale":
		case err != nil || n < 1:
			fail("not a number above 0: " + value)
		case arguments[i] == "--workers":
			j.workers = n
		case arguments[i] == "--operations":
			j.operations = n
		case arguments[i] == "--allocations":
			j.allocations = true
		default:
			fail("unknown option: " + arguments[i])
		}
	}
	j.warmUp = j.operations / 10
	return j
}

func main() {
	if len(os.Args) < 2 {
		fail("CASE [--workers N] [--scale quick|full] [--allocations 1], or --list")
	}
	for _, c := range append(append(append(cases, syncCases...), channelCases...), tlsCases...) {
		if os.Args[1] == "--list" {
			fmt.Println(c.name)
		} else if c.name == os.Args[1] {
			j := parse(c, os.Args[2:])
			runtime.GOMAXPROCS(j.workers)
			c.run(j)
			return
		}
	}
	if os.Args[1] != "--list" {
		fail("there is no such case: " + os.Args[1])
	}
}
