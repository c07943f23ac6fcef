package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
)

func fib(n int) int {
	if n <= 2 {
		return 1
	}
	return fib(n-1) + fib(n-2)
}

func serve(client net.Conn) {
	defer client.Close()
	buffer := make([]byte, 100)
	for {
		count, err := client.Read(buffer)
		if err != nil {
			return
		}
		n, _ := strconv.Atoi(strings.TrimSpace(string(buffer[:count])))
		fmt.Fprintf(client, "%d\n", fib(n))
	}
}

func main() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("::ready port=%d\n", server.Addr().(*net.TCPAddr).Port)
	for {
		client, err := server.Accept()
		switch {
		case err != nil:
			panic(err)
		case os.Args[1] == "sync":
			serve(client)
		default:
			go serve(client)
		}
	}
}
