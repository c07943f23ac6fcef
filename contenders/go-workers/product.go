package main

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
)

// largest is how far from 0 a number in a vector may be.
const largest = 100_000

// product is the smallest scalar product that any order of the vectors gives.
func (t caseText) product() (int, error) {
	first, err := vector(t.first, t.n)
	if err != nil {
		return 0, err
	}
	second, err := vector(t.second, t.n)
	if err != nil {
		return 0, err
	}
	sort.Ints(first)
	sort.Ints(second)
	product := 0
	for i, number := range first {
		// The second downwards.
		product += number * second[t.n-1-i]
	}
	return product, nil
}

func vector(line []byte, n int) ([]int, error) {
	separator := []byte(" ")
	found := 0
	if len(line) > 0 {
		found = bytes.Count(line, separator) + 1
	}
	if found != n {
		return nil, fmt.Errorf("a vector has %d numbers instead of %d", found, n)
	}
	numbers := make([]int, n)
	for i := range numbers {
		var digits []byte
		digits, line, _ = bytes.Cut(line, separator)
		number, err := strconv.Atoi(string(digits))
		if err != nil || number < -largest || number > largest {
			return nil, fmt.Errorf("a number must be from %d to %d, not %.20q", -largest, largest, digits)
		}
		numbers[i] = number
	}
	return numbers, nil
}
