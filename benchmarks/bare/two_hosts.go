// two_hosts.go here|there ADDRESS NODES MESSAGES MODE: the ring with its second half of units on another host, over a
// TCP connection. `there` runs on the other host. `here` prints the nanoseconds from the first message to the last
// one's arrival, as it knows of it, and the sum.
package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	nodes, _ := strconv.Atoi(os.Args[3])
	messages, _ := strconv.Atoi(os.Args[4])
	isToken := os.Args[5] == "token"
	if os.Args[1] == "there" {
		there(os.Args[2], nodes, messages, isToken)
	} else {
		here(os.Args[2], nodes, messages, isToken)
	}
}

func here(address string, nodes, messages int, isToken bool) {
	connection := must(dial(address))
	first := make(chan int64)
	go send(connection, chain(first, 1, nodes/2, messages), messages)
	answers := bufio.NewReader(connection)
	begin := time.Now()
	for r := messages - 1; r >= 0; r-- {
		first <- int64(r)
		if isToken {
			receive(answers)
		}
	}
	sum := receive(answers)
	fmt.Println(time.Since(begin).Nanoseconds(), sum)
}

func there(address string, nodes, messages int, isToken bool) {
	listener := must(net.Listen("tcp", address))
	connection := must(listener.Accept())
	first := make(chan int64)
	arrived := chain(first, nodes/2+1, nodes-1, messages)
	go func() {
		values := bufio.NewReader(connection)
		for range messages {
			first <- receive(values)
		}
	}()
	var sum int64
	for range messages {
		sum += <-arrived
		if isToken {
			_ = binary.Write(connection, binary.BigEndian, int64(0))
		}
	}
	_ = binary.Write(connection, binary.BigEndian, sum)
	_, _ = io.Copy(io.Discard, connection) // Until the other side has read it.
}

// chain starts units first … last, and returns the channel of the last one.
func chain(inbox <-chan int64, first, last, messages int) <-chan int64 {
	for i := first; i <= last; i++ {
		in, out := inbox, make(chan int64)
		go func() {
			for range messages {
				out <- <-in + int64(i)
			}
		}()
		inbox = out
	}
	return inbox
}

func send(connection net.Conn, values <-chan int64, messages int) {
	for range messages {
		_ = binary.Write(connection, binary.BigEndian, <-values)
	}
}

func receive(from io.Reader) (value int64) {
	if err := binary.Read(from, binary.BigEndian, &value); err != nil {
		panic(err)
	}
	return value
}

// dial tries for a while: the other side may be starting still.
func dial(address string) (connection net.Conn, err error) {
	for range 50 {
		if connection, err = net.Dial("tcp", address); err == nil {
			return connection, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
