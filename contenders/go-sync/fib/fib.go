// The fibonacci service, one connection at a time.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"time"

	"ringside/contenders/go-sync/service"
	"ringside/contenders/go-sync/settings"
)

// longest is the number of bytes that a line may have, its newline included.
const longest = 100

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	service.Run(given.Host(), given.Port(), serve)
}

func serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			// No descriptor is free: some connection may end.
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
