// The cases of bench/tls/rota.cpp, by crypto/tls, which is not OpenSSL. A program cannot choose the cipher of TLS 1.3 there: on processors with
// instructions for AES it is the same as everybody's, and that is checked.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"
	"net"
	"sync"
	"time"
)

var tlsCases = []benchCase{
	{"handshake", 3000, 600, handshakes(false)},
	{"handshake_resumed", 4000, 800, handshakes(true)},
	{"echo_1", 50_000, 10_000, tlsEchoes(1)},
	{"echo_50", 100_000, 20_000, tlsEchoes(50)},
	{"bulk", 1024, 128, tlsBlocks},
	{"handshake_1", 3000, 600, handshakes(false)},
	{"handshake_resumed_1", 4000, 800, handshakes(true)},
	{"echo_1_1", 50_000, 10_000, tlsEchoes(1)},
	{"echo_50_1", 100_000, 20_000, tlsEchoes(50)},
	{"bulk_1", 1024, 128, tlsBlocks},
}

const (
	visitors     = 8
	messageBytes = 64
	blockBytes   = 16 << 10
	blocksOfAMib = 1 << 20 / blockBytes
)

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}

func require(right bool, what string) {
	if !right {
		fail(what)
	}
}

// place is what all connections have in common. Each client has sessions of its own.
type place struct {
	resumes  bool
	listener net.Listener
	clients  []*tls.Config
}

func ownCertificate() (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	from := x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, &from, &from, &key.PublicKey, key)
	check(err)
	own, err := x509.ParseCertificate(der)
	check(err)
	trusted := x509.NewCertPool()
	trusted.AddCert(own)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, trusted
}

// What is common to both sides. Records have their full size from the beginning, as OpenSSL's.
func config(tickets bool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, CurvePreferences: []tls.CurveID{tls.X25519},
		DynamicRecordSizingDisabled: true, SessionTicketsDisabled: !tickets}
}

func newPlace(tickets bool, clients int) *place {
	own, trusted := ownCertificate()
	server := config(tickets)
	server.Certificates = []tls.Certificate{own}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", server)
	check(err)
	here := &place{resumes: tickets, listener: listener}
	for i := 0; i < clients; i++ {
		client := config(tickets)
		client.RootCAs, client.ServerName = trusted, "localhost"
		if tickets {
			client.ClientSessionCache = tls.NewLRUClientSessionCache(1)
		}
		here.clients = append(here.clients, client)
	}
	return here
}

func (here *place) serve(work func(*tls.Conn)) {
	for {
		connection, err := here.listener.Accept()
		check(err)
		go func() {
			stream := connection.(*tls.Conn)
			check(stream.Handshake())
			work(stream)
		}()
	}
}

func (here *place) connect(which int, resumed bool) *tls.Conn {
	address := here.listener.Addr().String()
	socket, err := net.Dial("tcp", address)
	check(err)
	stream := tls.Client(socket, here.clients[which])
	check(stream.Handshake())
	state := stream.ConnectionState()
	require(state.CipherSuite == tls.TLS_AES_128_GCM_SHA256, "another cipher than everybody's")
	require(state.DidResume == resumed, "a session was resumed that should not, or was not")
	return stream
}

func expectEnd(from *tls.Conn) {
	var one [1]byte
	_, err := from.Read(one[:])
	require(err == io.EOF, "not the end")
}

func greet(stream *tls.Conn) {
	_, err := stream.Write([]byte{1})
	check(err)
	expectEnd(stream)
	check(stream.CloseWrite())
	check(stream.NetConn().Close())
}

func (here *place) visit(which int, resumed bool) {
	stream := here.connect(which, resumed)
	var one [1]byte
	_, err := io.ReadFull(stream, one[:])
	check(err)
	check(stream.CloseWrite())
	expectEnd(stream)
	check(stream.NetConn().Close())
}

// atATime calls each(i, share) for so many, in a goroutine each.
func atATime(many, n int, each func(i, n int)) {
	var all sync.WaitGroup
	all.Add(many)
	for i := 0; i < many; i++ {
		some := n / many
		if i < n%many {
			some++
		}
		go func(i int) {
			each(i, some)
			all.Done()
		}(i)
	}
	all.Wait()
}

func handshakes(tickets bool) func(job) {
	return func(j job) {
		here := newPlace(tickets, visitors)
		go here.serve(greet)
		atATime(visitors, 0, func(i, _ int) { here.visit(i, false) })
		measured(func(n int) {
			atATime(visitors, n, func(i, n int) {
				for ; n > 0; n-- {
					here.visit(i, tickets)
				}
			})
		})(j)
	}
}

func answerInPrivate(stream *tls.Conn) {
	var one [messageBytes]byte
	for {
		got, err := stream.Read(one[:])
		if err != nil {
			return // the run is over
		}
		_, err = stream.Write(one[:got])
		check(err)
	}
}

func ask(over *tls.Conn, n int) {
	var sent, got [messageBytes]byte
	for ; n > 0; n-- {
		binary.LittleEndian.PutUint64(sent[:], uint64(n))
		_, err := over.Write(sent[:])
		check(err)
		_, err = io.ReadFull(over, got[:])
		check(err)
		require(got == sent, "an answer is not what was asked")
	}
}

func (here *place) connectAll(many int) (streams []*tls.Conn) {
	for i := 0; i < many; i++ {
		streams = append(streams, here.connect(0, false))
	}
	return
}

func tlsEchoes(connections int) func(job) {
	return func(j job) {
		here := newPlace(false, 1)
		go here.serve(answerInPrivate)
		streams := here.connectAll(connections)
		measured(func(n int) { atATime(connections, n, func(i, n int) { ask(streams[i], n) }) })(j)
	}
}

func takeBlocks(stream *tls.Conn) {
	block := make([]byte, blockBytes)
	for left := uint64(0); ; {
		if _, err := io.ReadFull(stream, block); err != nil {
			return // the run is over
		}
		number := binary.LittleEndian.Uint64(block)
		require(left == 0 || number == left, "another block than was sent")
		left = number - 1
		if left == 0 {
			_, err := stream.Write(block[:1])
			check(err)
		}
	}
}

func sendBlocks(over *tls.Conn, n int) {
	block := make([]byte, blockBytes)
	for left := n * blocksOfAMib; left > 0; left-- {
		binary.LittleEndian.PutUint64(block, uint64(left))
		_, err := over.Write(block)
		check(err)
	}
	_, err := io.ReadFull(over, block[:1])
	check(err)
}

func tlsBlocks(j job) {
	here := newPlace(false, 1)
	go here.serve(takeBlocks)
	stream := here.connect(0, false)
	measured(func(n int) { sendBlocks(stream, n) })(j)
}
