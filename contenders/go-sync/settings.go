package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

type settings struct {
	host        string
	port, cores int
}

// given holds the key=value arguments.
type given map[string]string

// parse exits with status 2 when a value cannot be used; it ignores unknown keys.
func parse(arguments []string) settings {
	g := given{"host": "127.0.0.1", "port": "0", "cores": "1"}
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		g[key] = value
	}
	return settings{
		host:  g["host"],
		port:  g.wholeNumber("port", 0, 65535),
		cores: g.wholeNumber("cores", 1, 1_000_000_000),
	}
}

func (g given) wholeNumber(key string, least, most uint64) int {
	number, err := strconv.ParseUint(g[key], 10, 64)
	if err != nil || number < least || number > most {
		fmt.Fprintf(os.Stderr, "fib: %s must be a whole number from %d to %d, not %q\n", key, least, most, g[key])
		os.Exit(2)
	}
	return int(number)
}
