// reading.go PATH: reads the batch's input and divides it into cases as Go's contender does (its input.go is built
// with this file), and computes nothing.
package main

import (
	"fmt"
	"os"
)

func main() {
	file, err := os.Open(os.Args[1])
	check(err)
	in := newInput(file)
	cases, err := in.cases()
	check(err)
	for range cases {
		_, err := in.next()
		check(err)
	}
	check(in.end())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
