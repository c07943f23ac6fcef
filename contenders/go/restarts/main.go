// The restarts: a goroutine for each unit. One that panics ends; its deferred
// function recovers and tells the owner of all, which starts another.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"ringside/contenders/go/settings"
)

const (
	modulus = 2147483647
	factor  = 48271
)

var errFailure = errors.New("a message that makes its unit fail")

// The clock of the program.
var start = time.Now()

func now() time.Duration { return time.Since(start) }

type message struct {
	number int
	fails  bool
}

// event is an answer of a unit: how many numbers it handled since it began, and
// their fold; or, with err, its end.
type event struct {
	unit, handled, folded int
	born                  time.Duration
	err                   any
}

// startUnit returns where the new unit takes its messages.
func startUnit(unit int, events chan<- event) chan<- message {
	inbox := make(chan message)
	go func() {
		defer func() {
			if err := recover(); err != nil {
				events <- event{unit: unit, err: err}
			}
		}()
		serve(unit, inbox, events)
	}()
	return inbox
}

func serve(unit int, inbox <-chan message, events chan<- event) {
	answer := event{unit: unit, born: now()}
	for m := range inbox {
		if m.fails {
			panic(errFailure)
		}
		answer.handled++
		answer.folded = (31*answer.folded + m.number) % modulus
		events <- answer
	}
}

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	units := given.WholeNumber("units", 1, 100_000)
	messages := given.WholeNumber("messages", 2, 1_000_000)
	every := given.WholeNumber("every", 2, 1_000_000)
	seed := given.WholeNumberOr("seed", 0, 4_294_967_295, 0)

	begin := now()
	events := make(chan event)
	inboxes := make([]chan<- message, units)
	for unit := range inboxes {
		inboxes[unit] = startUnit(unit, events)
	}
	report("::phase name=start ns=%d\n", (now() - begin).Nanoseconds())
	c := newCollector(units, messages, every, seed)
	for _, pass := range []string{"warm", "failing", "calm"} {
		begin = now()
		c.begin(pass)
		for unit, inbox := range inboxes {
			inbox <- c.message(unit)
		}
		for c.open > 0 {
			e := <-events
			if e.err != nil {
				c.failed(e.unit)
				inboxes[e.unit] = startUnit(e.unit, events)
			} else if !c.answered(e) {
				continue
			}
			inboxes[e.unit] <- c.message(e.unit)
		}
		report("::phase name=%s ns=%d\n", pass, (now() - begin).Nanoseconds())
	}
	c.report()
}

func report(format string, arguments ...any) {
	if _, err := fmt.Printf(format, arguments...); err != nil {
		fmt.Fprintf(os.Stderr, "restarts: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}
