// The servers of bench/echo/rota.cpp. Go sets TCP_NODELAY itself.
package main

import (
	"fmt"
	"net"
)

func answer(connection net.Conn, size int) {
	buffer := make([]byte, size)
	for {
		got, err := connection.Read(buffer)
		if err != nil {
			break
		}
		if _, err := connection.Write(buffer[:got]); err != nil {
			break
		}
	}
	connection.Close()
}

func echoServer(size int) func(job) {
	return func(j job) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fail(err.Error())
		}
		fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
		for {
			connection, err := listener.Accept()
			if err != nil {
				fail(err.Error())
			}
			go answer(connection, size)
		}
	}
}
