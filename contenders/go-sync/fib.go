// The fibonacci service, one connection at a time.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// longest is the number of bytes that a line may have, its newline included.
const longest = 100

func main() {
	s := parse(os.Args[1:])
	runtime.GOMAXPROCS(s.cores)
	go exitOnSignal(notified())
	listener, err := net.Listen("tcp4", net.JoinHostPort(s.host, strconv.Itoa(s.port)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "fib: cannot listen: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("::ready port=%d\n", listener.Addr().(*net.TCPAddr).Port)
	go exitOnEndOfInput()

	for {
		connection, err := listener.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		answer(connection)
	}
}

// answer answers one connection's requests until its end.
func answer(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewReaderSize(connection, longest)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			fmt.Fprintf(connection, "error: a line may have %d bytes\n", longest)
			drain(connection)
			return
		}
		if err != nil {
			return
		}
		n, err := strconv.ParseUint(string(line[:len(line)-1]), 10, 64)
		if err != nil || n < 1 || n > 90 {
			_, err = fmt.Fprintln(connection, "error: n must be a whole number from 1 to 90")
		} else {
			_, err = fmt.Fprintln(connection, fib(n))
		}
		if err != nil {
			return
		}
	}
}

func fib(n uint64) uint64 {
	if n <= 2 {
		return 1
	}
	return fib(n-1) + fib(n-2)
}

// drain lets the client read the last line: closing with bytes unread would
// reset the connection.
func drain(connection net.Conn) {
	_ = connection.(*net.TCPConn).CloseWrite()
	_ = connection.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, connection)
}

func notified() <-chan os.Signal {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	return terminated
}

func exitOnSignal(terminated <-chan os.Signal) {
	<-terminated
	os.Exit(0)
}

func exitOnEndOfInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
