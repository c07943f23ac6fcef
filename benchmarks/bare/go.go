package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"
)

func relay(i, messages int, in <-chan int, out chan<- int) {
	for ; messages > 0; messages-- {
		out <- <-in + i
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	n, _ := strconv.Atoi(os.Args[1])
	m, _ := strconv.Atoi(os.Args[2])
	first := make(chan int)
	in := first
	for i := 1; i < n; i++ {
		out := make(chan int)
		go relay(i, m, in, out)
		in = out
	}
	start := time.Now()
	go func() {
		for r := m - 1; r >= 0; r-- {
			first <- r
		}
	}()
	checksum, order := 0, 0
	for ; m > 0; m-- {
		value := <-in
		checksum += value
		order = (31*order + value) % 2147483647
	}
	elapsed := time.Since(start)
	if order < 0 {
		panic("cannot be")
	}
	fmt.Println(elapsed.Nanoseconds(), checksum)
}
