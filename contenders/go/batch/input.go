package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// The limits of an input.
const (
	mostCases   = 1_000_000_000
	mostNumbers = 1_000_000
	longest     = 7 // bytes of a number in a vector, its sign included
)

// input cuts a file into cases.
type input struct{ lines *bufio.Reader }

// caseText is a case as it stands in the input: two lines, which should have n
// numbers each.
type caseText struct {
	n             int
	first, second []byte
}

func newInput(file io.Reader) input {
	return input{lines: bufio.NewReaderSize(file, 64*1024)}
}

// cases is what the first line says.
func (in input) cases() (int, error) { return in.count("the number of cases", mostCases) }

// next is the case that follows.
func (in input) next() (caseText, error) {
	n, err := in.count("n", mostNumbers)
	if err != nil {
		return caseText{}, err
	}
	first, err := in.line(n * (longest + 1))
	if err != nil {
		return caseText{}, err
	}
	second, err := in.line(n * (longest + 1))
	return caseText{n: n, first: first, second: second}, err
}

// end is an error where the input goes on.
func (in input) end() error {
	_, err := in.lines.ReadByte()
	switch {
	case err == nil:
		return errors.New("the input goes on after its last case")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

func (in input) count(what string, most int) (int, error) {
	line, err := in.line(20)
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(string(line))
	if err != nil || number < 0 || number > most {
		return 0, fmt.Errorf("%s must be a whole number from 0 to %d, not %q", what, most, line)
	}
	return number, nil
}

// line returns a copy, without the newline: the case is computed while the next
// is read. Memory grows with the bytes read, not with the size that the input claims.
func (in input) line(most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > most+1:
			return nil, fmt.Errorf("a line has more than %d bytes", most)
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("the input ends in the middle")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (t caseText) size() int { return len(t.first) + len(t.second) }
