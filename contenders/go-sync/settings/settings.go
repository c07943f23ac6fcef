// Package settings reads the key=value arguments. A value that cannot be used
// ends the program with status 2 and one line; unknown keys are ignored.
package settings

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Most is the largest whole number that an argument may be.
const Most = 1_000_000_000

// Given holds the arguments by key.
type Given map[string]string

// Read takes the program's arguments.
func Read() Given {
	given := Given{}
	for _, argument := range os.Args[1:] {
		key, value, _ := strings.Cut(argument, "=")
		given[key] = value
	}
	return given
}

// WholeNumber is the value of a key that must be there.
func (g Given) WholeNumber(key string, least, most uint64) int {
	number, err := strconv.ParseUint(g[key], 10, 64)
	if err != nil || number < least || number > most {
		refuse(key, fmt.Sprintf("a whole number from %d to %d", least, most), g[key])
	}
	return int(number)
}

// WholeNumberOr has a default for a key that is not there.
func (g Given) WholeNumberOr(key string, least, most uint64, otherwise int) int {
	if _, ok := g[key]; !ok {
		return otherwise
	}
	return g.WholeNumber(key, least, most)
}

// Cores is for runtime.GOMAXPROCS, which makes room for as many as it is told.
func (g Given) Cores() int { return g.WholeNumberOr("cores", 1, 1024, 1) }

// Repeats is how often the program does its work.
func (g Given) Repeats() int { return g.WholeNumberOr("repeats", 1, 3000, 1) }

// Text is the value of a key that must be there.
func (g Given) Text(key string) string {
	if g[key] == "" {
		refuse(key, "given", g[key])
	}
	return g[key]
}

// Port is where a server listens; 0 is any that is free.
func (g Given) Port() int { return g.WholeNumberOr("port", 0, 65535, 0) }

// Host is the IPv4 address where a server listens.
func (g Given) Host() string {
	host, ok := g["host"]
	if !ok {
		return "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || ip.To4() == nil {
		refuse("host", "an IPv4 address", host)
	}
	return host
}

// OneOf takes the first choice as the default.
func (g Given) OneOf(key string, choices ...string) string {
	if _, ok := g[key]; !ok {
		return choices[0]
	}
	return g.Needed(key, choices...)
}

// Needed is one of the choices for a key that must be there.
func (g Given) Needed(key string, choices ...string) string {
	for _, choice := range choices {
		if g[key] == choice {
			return choice
		}
	}
	refuse(key, strings.Join(choices, " or "), g[key])
	return ""
}

// URLs is a list of so many http://127.0.0.1:PORT/ with commas between them.
func (g Given) URLs(key string, count int) []string {
	urls := strings.Split(g[key], ",")
	usable := len(urls) == count
	for _, one := range urls {
		parsed, err := url.Parse(one)
		usable = usable && err == nil && parsed.Scheme == "http" && parsed.User == nil &&
			parsed.Hostname() == "127.0.0.1" && isPort(parsed.Port()) && strings.HasPrefix(parsed.Path, "/")
	}
	if !usable {
		refuse(key, fmt.Sprintf("%d of http://127.0.0.1:PORT/, with commas between them", count), g[key])
	}
	return urls
}

func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return err == nil && port > 0
}

func refuse(key, wanted, value string) {
	fmt.Fprintf(os.Stderr, "%s: %s must be %s, not %q\n", filepath.Base(os.Args[0]), key, wanted, value)
	os.Exit(2)
}
