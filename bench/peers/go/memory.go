// The cases of bench/memory/rota.cpp.
package main

import (
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func residentBytes() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		fail(err.Error())
	}
	pages, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		fail(err.Error())
	}
	return pages * 4096
}

// Waits until `begun` says so many, and then until they have gone to sleep, too.
func waitFor(begun *atomic.Int64, n int) {
	for begun.Load() < int64(n) {
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
}

func sleepingTask(j job) {
	var begun atomic.Int64
	before := residentBytes()
	for i := 0; i < j.operations; i++ {
		go func() {
			begun.Add(1)
			time.Sleep(time.Hour)
		}()
	}
	waitFor(&begun, j.operations)
	report(j, "bytes", (residentBytes()-before)/float64(j.operations), "")
}

func echo(connection net.Conn, begun *atomic.Int64) {
	var buffer [64]byte
	begun.Add(1)
	for {
		got, err := connection.Read(buffer[:])
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:got]); err != nil {
			return
		}
	}
}

// The clients are bare sockets, so that only the server's side costs memory of this process.
func idleConnection(j job) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err.Error())
	}
	var begun atomic.Int64
	port := listener.Addr().(*net.TCPAddr).Port
	before := residentBytes()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				fail(err.Error())
			}
			go echo(connection, &begun)
		}
	}()
	for i := 0; i < j.operations; i++ {
		connectBare(port)
	}
	waitFor(&begun, j.operations)
	report(j, "bytes", (residentBytes()-before)/float64(j.operations), "")
}

func connectBare(port int) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		fail(err.Error())
	}
}
