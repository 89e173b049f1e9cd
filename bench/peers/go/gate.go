// The cases of bench/gate/rota.cpp: a mailbox is a goroutine with a channel.
package main

import "sync"

const channelRoom = 1024

// passRound sends a number round so many goroutines, each of which takes one off it.
func passRound(count, room int) func(n int) {
	channels := make([]chan int, count)
	for i := range channels {
		channels[i] = make(chan int, room)
	}
	end := make(chan struct{})
	for i := range channels {
		go func(from <-chan int, to chan<- int) {
			for left := range from {
				if left == 0 {
					end <- struct{}{}
				} else {
					to <- left - 1
				}
			}
		}(channels[i], channels[(i+1)%count])
	}
	return func(n int) {
		if n < 1 {
			n = 1
		}
		channels[0] <- n - 1
		<-end
	}
}

func hop(j job)  { measured(passRound(2, channelRoom))(j) }
func ring(j job) { measured(passRound(1_000_000, 1))(j) }

func fanIn(senders int) func(job) {
	return measured(func(n int) {
		each := (n + senders - 1) / senders
		to := make(chan int, channelRoom)
		var all sync.WaitGroup
		all.Add(senders)
		for i := 0; i < senders; i++ {
			go func() {
				for m := 0; m < each; m++ {
					to <- m
				}
				all.Done()
			}()
		}
		for i := 0; i < each*senders; i++ {
			<-to
		}
		all.Wait()
	})
}
