package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

type settings struct {
	nodes, messages, cores int
	token, trace, hold     bool
}

// given holds the key=value arguments.
type given map[string]string

// parse exits with status 2 when a value cannot be used; it ignores unknown keys.
func parse(arguments []string) settings {
	g := given{}
	for _, argument := range arguments {
		key, value, _ := strings.Cut(argument, "=")
		g[key] = value
	}
	if _, ok := g["cores"]; !ok {
		g["cores"] = "1"
	}
	return settings{
		nodes:    g.wholeNumber("nodes", 2),
		messages: g.wholeNumber("messages", 1),
		cores:    g.wholeNumber("cores", 1),
		token:    g.oneOf("mode", "pipelined", "token") == "token",
		trace:    g.oneOf("trace", "0", "1") == "1",
		hold:     g.oneOf("hold", "0", "1") == "1",
	}
}

func (g given) wholeNumber(key string, least uint64) int {
	const most = 1_000_000_000
	number, err := strconv.ParseUint(g[key], 10, 64)
	if err != nil || number < least || number > most {
		refuse(key, fmt.Sprintf("a whole number from %d to %d", least, most), g[key])
	}
	return int(number)
}

// oneOf takes the first choice as the default.
func (g given) oneOf(key string, choices ...string) string {
	value, ok := g[key]
	if !ok {
		return choices[0]
	}
	for _, choice := range choices {
		if value == choice {
			return value
		}
	}
	refuse(key, strings.Join(choices, " or "), value)
	return ""
}

func refuse(key, wanted, value string) {
	fmt.Fprintf(os.Stderr, "ring: %s must be %s, not %q\n", key, wanted, value)
	os.Exit(2)
}
