package main

import (
	"bytes"
	"fmt"
	"sort"
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
	room := len(line)/2 + 1 // for a digit and a space each: more there cannot be
	if n < room {
		room = n
	}
	numbers := make([]int, 0, room)
	for more := len(line) > 0; more; {
		number, after, ok := leading(line)
		if !ok || len(after) > 0 && after[0] != ' ' {
			return nil, fmt.Errorf("a number must be from %d to %d, not %.20q", -largest, largest, word(line))
		}
		numbers = append(numbers, number)
		if more = len(after) > 0; more {
			line = after[1:]
		}
	}
	if len(numbers) != n {
		return nil, fmt.Errorf("a vector has %d numbers instead of %d", len(numbers), n)
	}
	return numbers, nil
}

// leading is the number at the beginning of a text, and what comes after it. In
// one pass, since the batch is nothing but this and sorting.
func leading(text []byte) (number int, after []byte, ok bool) {
	digits, negative := text, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		digits, negative = text[1:], text[0] == '-'
	}
	i := 0
	for ; i < len(digits) && '0' <= digits[i] && digits[i] <= '9'; i++ {
		number = 10*number + int(digits[i]-'0')
		if number > largest {
			return 0, nil, false
		}
	}
	if negative {
		number = -number
	}
	return number, digits[i:], i > 0
}

// word is the beginning of a text up to a space.
func word(text []byte) []byte {
	found, _, _ := bytes.Cut(text, []byte(" "))
	return found
}
