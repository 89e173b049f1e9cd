// The cases of bench/channel/rota.cpp. Go's channels have a limit, and neither broadcast nor watch. A new channel with room for one is
// the oneshot.
package main

var channelCases = []benchCase{
	{"channel_send", 5_000_000, 1_000_000, rounds(aloneChannelRound, channelSend)},
	{"channel_recv", 5_000_000, 1_000_000, rounds(aloneChannelRound, channelRecv)},
	{"channel_roundtrip", 5_000_000, 1_000_000, rounds(aloneChannelRound, channelRoundtrip)},
	{"oneshot", 5_000_000, 1_000_000, rounds(aloneChannelRound, timed(oneshot))},
	{"channel_mpmc", 2_000_000, 500_000, rounds(taskRound, timed(channelMpmc))},
	{"round_trip", 1_000_000, 200_000, rounds(oneRound, timed(roundTrip))},
	{"mpsc_1", 5_000_000, 1_000_000, rounds(oneRound, mpsc(1))},
	{"mpsc_4", 5_000_000, 1_000_000, rounds(oneRound, mpsc(4))},
	{"select", 2_000_000, 500_000, rounds(oneRound, timed(selectOfTwo))},
}

func trySend(to chan<- uint64, item uint64) {
	select {
	case to <- item:
	default:
		fail("a channel has no room")
	}
}

func tryRecv(from <-chan uint64, item uint64) {
	select {
	case got := <-from:
		if got != item {
			fail("a channel has lost its order")
		}
	default:
		fail("a channel has lost an item")
	}
}

func fillAndDrain(n int) (sends, receives times) {
	c := make(chan uint64, aloneChannelRound)
	sending := beginStretch()
	for i := 0; i < n; i++ {
		trySend(c, uint64(i))
	}
	sends = sending.end()
	receiving := beginStretch()
	for i := 0; i < n; i++ {
		tryRecv(c, uint64(i))
	}
	return sends, receiving.end()
}

func channelSend(n int) times {
	sends, _ := fillAndDrain(n)
	return sends
}

func channelRecv(n int) times {
	_, receives := fillAndDrain(n)
	return receives
}

func channelRoundtrip(n int) times {
	c := make(chan uint64, 1)
	measured := beginStretch()
	for i := 0; i < n; i++ {
		trySend(c, uint64(i))
		tryRecv(c, uint64(i))
	}
	return measured.end()
}

func oneshot(n int) {
	for i := 0; i < n; i++ {
		c := make(chan uint64, 1)
		c <- uint64(i)
		tryRecv(c, uint64(i))
	}
}

func channelMpmc(n int) {
	const sides = 4
	c := make(chan uint64, 1000)
	counts := make(chan int, sides)
	for i := 0; i < sides; i++ {
		go func() {
			count := 0
			for range c {
				count++
			}
			counts <- count
		}()
	}
	among(sides, func(int) {
		for i := 0; i < n/sides; i++ {
			c <- uint64(i)
		}
	})
	close(c)
	count := 0
	for i := 0; i < sides; i++ {
		count += <-counts
	}
	if count != n/sides*sides {
		fail("a channel has lost an item")
	}
}

func roundTrip(n int) {
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	go func() {
		for item := range there {
			back <- item
		}
	}()
	for i := 0; i < n; i++ {
		there <- uint64(i)
		if <-back != uint64(i) {
			fail("a channel has lost its order")
		}
	}
	close(there)
}

func mpsc(senders int) func(int) times {
	return timed(func(n int) {
		c := make(chan uint64, 128)
		for i := 0; i < senders; i++ {
			go func() {
				for k := 0; k < n/senders; k++ {
					c <- uint64(k)
				}
			}()
		}
		for i := 0; i < n/senders*senders; i++ {
			<-c
		}
	})
}

func selectOfTwo(n int) {
	left, right := make(chan uint64, 128), make(chan uint64, 128)
	for _, c := range []chan uint64{left, right} {
		go func(to chan<- uint64) {
			for k := 0; k < n/2; k++ {
				to <- uint64(k)
			}
		}(c)
	}
	fromLeft, fromRight := uint64(0), uint64(0)
	for i := 0; i < n/2*2; i++ {
		select {
		case got := <-left:
			if got != fromLeft {
				fail("a channel has lost its order")
			}
			fromLeft++
		case got := <-right:
			if got != fromRight {
				fail("a channel has lost its order")
			}
			fromRight++
		}
	}
}
