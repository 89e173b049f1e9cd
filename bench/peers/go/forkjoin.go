// The cases of bench/forkjoin/rota.cpp. The problems are bench/support/forkjoin_problems.hpp's, told again in Go. A child is a
// goroutine, and a WaitGroup waits for it; of two or four children the last is called. Missing, since a run takes minutes:
// skynet with its 10^8 goroutines, and nqueens_1. The short parts of quicksort are left to sort.Slice, which calls a closure for
// each comparison.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"
)

// peakMiB is as bench/support/peak_memory.hpp.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err.Error())
	}
	_, behind, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(behind, &kib); err != nil {
		fail(err.Error())
	}
	return kib / 1024
}

func expect(right bool, what string) {
	if !right {
		fail("a wrong result of " + what)
	}
}

// pieces returns the sizes of problems that have exactly so many operations together, the largest that fits first.
// operationsOf has the operations of a problem of size 0, 1, 2 ...
func pieces(operationsOf []int, operations int) (sizes []int) {
	for operations > 0 {
		size := sort.SearchInts(operationsOf, operations+1) - 1
		operations -= operationsOf[size]
		sizes = append(sizes, size)
	}
	return sizes
}

func reportSpent(j job, cpu float64, begin time.Time) {
	wall, n := float64(time.Since(begin).Nanoseconds()), float64(j.operations)
	report(j, "ns", wall/n, fmt.Sprintf(",\"cpu_ns\":%.4f", (cpuNs()-cpu)/n))
	j.name += ".peak"
	report(j, "MiB", peakMiB(), "")
}

// solved solves problems that have as many operations as the job says, after those of the warm-up.
func solved(solve func(size int), operationsOf []int) func(job) {
	return func(j job) {
		for _, size := range pieces(operationsOf, j.warmUp) {
			solve(size)
		}
		sizes := pieces(operationsOf, j.operations)
		cpu, begin := cpuNs(), time.Now()
		for _, size := range sizes {
			solve(size)
		}
		reportSpent(j, cpu, begin)
	}
}

func powers(of, count int) []int {
	all := []int{1}
	for len(all) < count {
		all = append(all, all[len(all)-1]*of)
	}
	return all
}

var fibCalls = func() []int {
	calls := []int{1, 1}
	for n := 2; n <= 40; n++ {
		calls = append(calls, 1+calls[n-1]+calls[n-2])
	}
	return calls
}()

func fib(n int) int {
	if n < 2 {
		return n
	}
	var one int
	var children sync.WaitGroup
	children.Add(1)
	go func() {
		one = fib(n - 1)
		children.Done()
	}()
	other := fib(n - 2)
	children.Wait()
	return one + other
}

func solveFib(n int) {
	one, next := 0, 1
	for i := 0; i < n; i++ {
		one, next = next, one+next
	}
	expect(fib(n) == one, "fib")
}

func total(parts []int) (sum int) {
	for _, part := range parts {
		sum += part
	}
	return sum
}

// The column of the queen in each row.
type board [14]int8

var queensBoards = []int{0, 1, 2, 5, 16, 53, 152, 551, 2056, 8393, 35538, 166925, 856188, 4674889, 27358552}
var queensSolutions = []int{1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596}

// isFree says whether a queen may stand there, beside those in the rows above.
func isFree(queens *board, row, column int) bool {
	for above := 0; above < row; above++ {
		aside, down := int(queens[above])-column, row-above
		if aside == 0 || aside == down || aside == -down {
			return false
		}
	}
	return true
}

func nqueens(queens board, row, n int) int {
	if row == n {
		return 1
	}
	var solutions [14]int
	var children sync.WaitGroup
	for column := 0; column < n; column++ {
		if !isFree(&queens, row, column) {
			continue
		}
		children.Add(1)
		go func(next board, column int) {
			next[row] = int8(column)
			solutions[column] = nqueens(next, row+1, n)
			children.Done()
		}(queens, column)
	}
	children.Wait()
	return total(solutions[:])
}

func solveNqueens(n int) { expect(nqueens(board{}, 0, n) == queensSolutions[n], "nqueens") }

const leafSide = 32

var leafProducts = powers(8, 8)

// A square inside a matrix that is kept by rows.
type square struct {
	at     []int32
	stride int
}

func (s square) quarter(half, row, column int) square {
	return square{s.at[row*half*s.stride+column*half:], s.stride}
}

// To do: c += a * b.
type product struct {
	a, b, c square
	side    int
}

// part returns what the quarters a[row][inner] and b[inner][column] add to c[row][column].
func (p product) part(row, column, inner int) product {
	half := p.side / 2
	return product{p.a.quarter(half, row, inner), p.b.quarter(half, inner, column), p.c.quarter(half, row, column), half}
}

func multiplyLeaf(p product) {
	for i := 0; i < p.side; i++ {
		to := p.c.at[i*p.c.stride:][:p.side]
		for k := 0; k < p.side; k++ {
			factor, from := p.a.at[i*p.a.stride+k], p.b.at[k*p.b.stride:][:len(to)]
			for j := range to {
				to[j] += factor * from[j]
			}
		}
	}
}

func multiply(p product) {
	if p.side <= leafSide {
		multiplyLeaf(p)
		return
	}
	for inner := 0; inner < 2; inner++ {
		var children sync.WaitGroup
		children.Add(3)
		for _, todo := range []product{p.part(0, 0, inner), p.part(0, 1, inner), p.part(1, 0, inner)} {
			go func(todo product) {
				multiply(todo)
				children.Done()
			}(todo)
		}
		multiply(p.part(1, 1, inner))
		children.Wait()
	}
}

func filled(count int, with int32) []int32 {
	all := make([]int32, count)
	for i := range all {
		all[i] = with
	}
	return all
}

func solveMatmul(cuts int) {
	side := leafSide << cuts
	matrix := func(with int32) square { return square{filled(side*side, with), side} }
	all := product{matrix(1), matrix(1), matrix(0), side}
	multiply(all)
	for _, one := range all.c.at {
		expect(one == int32(side), "matmul")
	}
}

// splitmix64 returns the number at a position of the sequence of a seed.
func splitmix64(seed, position uint64) uint64 {
	x := seed + (position+1)*0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

const sortCutOff = 2048

// partition is Hoare's, around the median of three. It returns how many keys the first of the two parts has.
func partition(keys []uint64) int {
	pivot := median(keys[0], keys[len(keys)/2], keys[len(keys)-1])
	for left, right := 0, len(keys)-1; ; left, right = left+1, right-1 {
		for keys[left] < pivot {
			left++
		}
		for keys[right] > pivot {
			right--
		}
		if left >= right {
			return right + 1
		}
		keys[left], keys[right] = keys[right], keys[left]
	}
}

func median(a, b, c uint64) uint64 {
	if a > b {
		a, b = b, a
	}
	if c < a {
		return a
	}
	if c > b {
		return b
	}
	return c
}

func quicksort(keys []uint64) {
	if len(keys) <= sortCutOff {
		sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
		return
	}
	middle := partition(keys)
	var children sync.WaitGroup
	children.Add(1)
	go func() {
		quicksort(keys[:middle])
		children.Done()
	}()
	quicksort(keys[middle:])
	children.Wait()
}

func keysOf(count int) []uint64 {
	keys := make([]uint64, count)
	for i := range keys {
		keys[i] = splitmix64(42, uint64(i))
	}
	return keys
}

func sortKeys(j job) {
	quicksort(keysOf(j.warmUp))
	keys := keysOf(j.operations)
	cpu, begin := cpuNs(), time.Now()
	quicksort(keys)
	reportSpent(j, cpu, begin)
	for i := 1; i < len(keys); i++ {
		expect(keys[i-1] <= keys[i], "quicksort")
	}
}

// Seeds, and children of the root.
var trees = [][2]uint64{{0, 0}, {643, 39}, {10, 200}, {27, 2000}}
var treeNodes = []int{1, 1000, 344169, 5047965}

// uts counts a tree. A node is the hash of its parent's and of which child it is; it has four children with a probability of
// 0.2499, or none.
func uts(node, count uint64) int {
	if count == 0 {
		return 1
	}
	nodes := make([]int, count)
	var children sync.WaitGroup
	children.Add(len(nodes))
	for i := range nodes {
		go func(i int) {
			child, below := splitmix64(node, uint64(i)), uint64(0)
			if child < 4_609_841_344_020_017_152 { // 0.2499 * 2^64
				below = 4
			}
			nodes[i] = uts(child, below)
			children.Done()
		}(i)
	}
	children.Wait()
	return 1 + total(nodes)
}

func solveUts(which int) {
	expect(uts(splitmix64(trees[which][0], 0), trees[which][1]) == treeNodes[which], "uts")
}
