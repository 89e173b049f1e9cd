// The cases of bench/sync/rota.cpp. Go's locks are sync.Mutex and sync.RWMutex; a channel with room for n stands for a semaphore, one
// with room for one for an event, and sync.Once for a once-cell. Go has no barrier.
package main

import (
	"runtime"
	"strings"
	"sync"
	"time"
)

var syncCases = []benchCase{
	{"mutex", 10_000_000, 3_000_000, rounds(aloneRound, mutexAlone)},
	{"rwlock_read", 10_000_000, 3_000_000, rounds(aloneRound, rwlockRead)},
	{"rwlock_write", 10_000_000, 3_000_000, rounds(aloneRound, rwlockWrite)},
	{"semaphore", 10_000_000, 3_000_000, rounds(aloneRound, semaphoreAlone)},
	{"oncecell_get", 50_000_000, 20_000_000, rounds(aloneRound, onceGet)},
	{"oncecell_set", 10_000_000, 3_000_000, rounds(aloneRound, onceSet)},
	{"notify", 10_000_000, 3_000_000, rounds(aloneRound, notifyAlone)},
	{"mutex_contended", 2_000_000, 500_000, rounds(taskRound, mutexAmong(4))},
	{"rwlock_contended", 2_000_000, 500_000, rounds(taskRound, rwlockAmong)},
	{"semaphore_contended", 2_000_000, 500_000, rounds(taskRound, semaphoreAmong)},
	{"task_spawn", 500_000, 100_000, rounds(taskRound, timed(spawnAwait))},
	{"task_spawn_batch", 1_000_000, 300_000, rounds(taskRound, timed(spawnBatches))},
	{"mutex_lock", 10_000_000, 2_000_000, rounds(oneRound, lockAlone)},
	{"mutex_2", 2_000_000, 500_000, mutexForLonger(2)},
	{"mutex_8", 2_000_000, 500_000, mutexForLonger(8)},
	{"mutex_64", 2_000_000, 500_000, mutexForLonger(64)},
}

const (
	aloneRound        = 1_000_000
	aloneChannelRound = 100_000
	taskRound         = 10_000
	oneRound          = 1 << 62
)

// times is what of a round is to be timed.
type times struct{ wall, cpu float64 }

type stretch struct {
	cpu   float64
	begin time.Time
}

func beginStretch() stretch { return stretch{cpuNs(), time.Now()} }
func (s stretch) end() times {
	return times{float64(time.Since(s.begin).Nanoseconds()), cpuNs() - s.cpu}
}

// timed is a round all of which is timed.
func timed(work func(n int)) func(int) times {
	return func(n int) times {
		measured := beginStretch()
		work(n)
		return measured.end()
	}
}

// play runs rounds of a size, and sums up.
func play(operations, size int, round func(n int) times) times {
	var sum times
	for left := operations; left > 0; left -= size {
		part := size
		if left < size {
			part = left
		}
		t := round(part)
		sum.wall += t.wall
		sum.cpu += t.cpu
	}
	return sum
}

// rounds is a case whose operations come in rounds, each with something new. What is allocated counts from a round's first line to its
// last, whatever is timed; stacks of goroutines are not in these counts.
func rounds(size int, round func(n int) times) func(job) {
	return func(j job) {
		play(j.warmUp, size, round)
		var before, after runtime.MemStats
		if j.allocations {
			runtime.ReadMemStats(&before)
		}
		sum, n := play(j.operations, size, round), float64(j.operations)
		more := []string{field("cpu_ns", sum.cpu/n)}
		if j.allocations {
			runtime.ReadMemStats(&after)
			more = append(more, field("bytes_per_op", float64(after.TotalAlloc-before.TotalAlloc)/n),
				field("allocations_per_op", float64(after.Mallocs-before.Mallocs)/n))
		}
		report(j, "ns", sum.wall/n, strings.Join(more, ""))
	}
}

// sink is where values go that must not be dropped.
var sink uint64

func mutexAlone(n int) times {
	var lock sync.Mutex
	measured := beginStretch()
	for i := 0; i < n; i++ {
		if !lock.TryLock() {
			fail("a mutex is locked")
		}
		lock.Unlock()
	}
	return measured.end()
}

func rwlockRead(n int) times {
	var lock sync.RWMutex
	measured := beginStretch()
	for i := 0; i < n; i++ {
		if !lock.TryRLock() {
			fail("a lock is locked")
		}
		lock.RUnlock()
	}
	return measured.end()
}

func rwlockWrite(n int) times {
	var lock sync.RWMutex
	measured := beginStretch()
	for i := 0; i < n; i++ {
		if !lock.TryLock() {
			fail("a lock is locked")
		}
		lock.Unlock()
	}
	return measured.end()
}

func semaphoreAlone(n int) times {
	permits := make(chan struct{}, 10)
	measured := beginStretch()
	for i := 0; i < n; i++ {
		select {
		case permits <- struct{}{}:
		default:
			fail("a semaphore has no permit")
		}
		<-permits
	}
	return measured.end()
}

func onceGet(n int) times {
	var once sync.Once
	var value uint64
	once.Do(func() { value = 42 })
	measured := beginStretch()
	for i := 0; i < n; i++ {
		once.Do(func() { value = 43 })
		sink += value
	}
	return measured.end()
}

func onceSet(n int) times {
	var cell struct {
		once  sync.Once
		value uint64
	}
	measured := beginStretch()
	for i := 0; i < n; i++ {
		cell.once = sync.Once{}
		cell.once.Do(func() { cell.value = uint64(i) })
		sink += cell.value
	}
	return measured.end()
}

func notifyAlone(n int) times {
	measured := beginStretch()
	for i := 0; i < n; i++ {
		event := make(chan struct{}, 1)
		event <- struct{}{}
		<-event
	}
	return measured.end()
}

// among runs so many goroutines, each with its own part, and waits for them.
func among(count int, one func(i int)) {
	var all sync.WaitGroup
	all.Add(count)
	for i := 0; i < count; i++ {
		go func(i int) {
			one(i)
			all.Done()
		}(i)
	}
	all.Wait()
}

func mutexAmong(count int) func(int) times {
	return timed(func(n int) {
		var lock sync.Mutex
		value := 0
		among(count, func(int) {
			for k := 0; k < n/count; k++ {
				lock.Lock()
				value++
				lock.Unlock()
			}
		})
		if value != n/count*count {
			fail("a mutex has let two in")
		}
	})
}

var rwlockAmong = timed(func(n int) {
	var lock sync.RWMutex
	value := uint64(0)
	among(6, func(i int) {
		sum := uint64(0)
		for k := 0; k < n/6; k++ {
			if i < 4 {
				lock.RLock()
				sum += value
				lock.RUnlock()
			} else {
				lock.Lock()
				value++
				lock.Unlock()
			}
		}
	})
})

var semaphoreAmong = timed(func(n int) {
	permits := make(chan struct{}, 2)
	among(8, func(int) {
		for k := 0; k < n/8; k++ {
			permits <- struct{}{}
			<-permits
		}
	})
})

func spawnBatches(n int) {
	for i := 0; i < n/100; i++ {
		spawnMany(100)
	}
}

func lockAlone(n int) times {
	var lock sync.Mutex
	measured := beginStretch()
	for i := 0; i < n; i++ {
		lock.Lock()
		sink++
		lock.Unlock()
	}
	return measured.end()
}

func mutexForLonger(count int) func(job) {
	return func(j job) {
		rounds(oneRound, mutexAmong(count))(j)
		var lock sync.Mutex
		longest := time.Duration(0)
		among(count, func(int) {
			for k := 0; k < j.operations/count; k++ {
				begin := time.Now()
				lock.Lock()
				if waited := time.Since(begin); waited > longest {
					longest = waited
				}
				lock.Unlock()
			}
		})
		j.name += ".max_wait"
		report(j, "us", float64(longest.Nanoseconds())/1000, "")
	}
}
