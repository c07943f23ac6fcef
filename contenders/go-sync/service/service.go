// Package service is what the servers share: how they begin and end.
package service

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
)

// Run listens, says so, and serves until SIGTERM or the end of stdin.
func Run(host string, port int, serve func(net.Listener)) {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	listener, err := net.Listen("tcp4", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: cannot listen: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
	go serve(listener)
	fmt.Printf("::ready port=%d\n", listener.Addr().(*net.TCPAddr).Port)

	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	select {
	case <-terminated:
	case <-ended:
	}
}
