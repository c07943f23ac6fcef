package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ownCapacity is what `capacity=own` means.
const ownCapacity = 100

type settings struct {
	path                     string
	cores, capacity, repeats int
}

// given holds the key=value arguments.
type given map[string]string

// parse exits with status 2 when a value cannot be used; it ignores unknown keys.
func parse(arguments []string) settings {
	g := given{"cores": "1", "capacity": "own", "repeats": "1"}
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		g[key] = value
	}
	return settings{
		path: g.text("input"),
		// The runtime makes room for as many as it is told.
		cores:    g.wholeNumber("cores", 1, 1024),
		capacity: g.places("capacity", "own", "0", "1", "100", "10000"),
		repeats:  g.wholeNumber("repeats", 1, 3000),
	}
}

func (g given) text(key string) string {
	if g[key] == "" {
		g.refuse(key, "given")
	}
	return g[key]
}

func (g given) wholeNumber(key string, least, most uint64) int {
	number, err := strconv.ParseUint(g[key], 10, 64)
	if err != nil || number < least || number > most {
		g.refuse(key, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return int(number)
}

func (g given) places(key string, choices ...string) int {
	for _, choice := range choices {
		if g[key] != choice {
			continue
		}
		if choice == "own" {
			return ownCapacity
		}
		return g.wholeNumber(key, 0, 10000)
	}
	g.refuse(key, strings.Join(choices, " or "))
	return 0
}

func (g given) refuse(key, wanted string) {
	fmt.Fprintf(os.Stderr, "batch: %s must be %s, not %q\n", key, wanted, g[key])
	os.Exit(2)
}
