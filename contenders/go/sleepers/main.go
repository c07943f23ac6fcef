// The sleepers: a goroutine for each, and a channel to the one that collects.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"ringside/contenders/go/settings"
)

const (
	modulus = 2147483647
	factor  = 48271
)

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	tasks := given.WholeNumber("tasks", 1, 1_000_000)
	seconds := given.WholeNumber("seconds", 2, 3600)
	seed := given.WholeNumberOr("seed", 0, 4_294_967_295, 0)
	hold := given.OneOf("hold", "0", "1") == "1"

	begin := time.Now()
	lastSecond := time.Duration(seconds-1) * time.Second
	numbers := make(chan wake)
	var started sync.WaitGroup
	started.Add(tasks)
	x := 1 + seed%(modulus-1)
	for i := 0; i < tasks; i++ {
		x = factor * x % modulus
		due := lastSecond + time.Duration(x)*time.Second/modulus
		go sleeper(x, begin.Add(due), &started, numbers)
	}
	started.Wait()
	report("::phase name=start ns=%d\n", time.Since(begin).Nanoseconds())
	if hold {
		report("::await name=started\n")
		// The end of stdin is as good as a line.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	c := newCollector(tasks, begin)
	for i := 0; i < tasks; i++ {
		c.take(<-numbers)
	}
	c.report()
}

// wake is what a task hands over: its number, and how late it woke.
type wake struct {
	number int
	late   time.Duration
}

func sleeper(number int, instant time.Time, started *sync.WaitGroup, numbers chan<- wake) {
	started.Done()
	time.Sleep(time.Until(instant))
	numbers <- wake{number, time.Since(instant)}
}

func report(format string, arguments ...any) {
	if _, err := fmt.Printf(format, arguments...); err != nil {
		fmt.Fprintf(os.Stderr, "sleepers: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}
