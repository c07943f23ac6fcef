// The jobs: a goroutine for each; so many work at one time; and a
// channel for each answer.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"time"

	"ringside/contenders/go/settings"
)

const (
	modulus = 2147483647
	// timesAlone is how often a job is done before all else.
	timesAlone = 5
)

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	j := jobs{
		count:   given.WholeNumber("jobs", 1, 1_000_000),
		seed:    given.WholeNumberOr("seed", 0, 4_294_967_295, 0),
		do:      work(given),
		workers: given.WholeNumber("workers", 1, 1024),
		trace:   given.OneOf("trace", "0", "1") == "1",
	}
	hold := given.OneOf("hold", "0", "1") == "1"
	repeats := given.Repeats()
	out := bufio.NewWriter(os.Stdout)

	// Each begins with the answer of the one before.
	last := first(j.seed, 0)
	if given["kind"] == "cpu" {
		for i := 0; i < timesAlone; i++ {
			start := time.Now()
			last = j.do(last)
			report(out, "::phase name=alone ns=%d\n", time.Since(start).Nanoseconds())
		}
	}
	var e evidence
	for i := 0; i < repeats; i++ {
		j.once(&e, hold && i == 0, out)
	}
	report(out, "::result answers=%d order=%d beats=%d alone=%d\n", e.answers, e.order, e.beats, last)
}

// jobs does the work of each repeat.
type jobs struct {
	count, seed int
	do          func(x int) int
	workers     int
	trace       bool
}

// evidence is of all answers and beats so far.
type evidence struct{ answers, order, beats int }

// once starts the jobs, gathers their answers and adds to the evidence.
func (j jobs) once(e *evidence, hold bool, out *bufio.Writer) {
	places := newPlaces(j.workers)
	start := time.Now()
	answers := make([]chan answer, j.count)
	for i := range answers {
		answers[i] = places.start(j.do, first(j.seed, i))
	}
	submitted := time.Now()
	report(out, "::phase name=submit ns=%d\n", submitted.Sub(start).Nanoseconds())
	heart := newHeart(submitted)
	if hold {
		report(out, "::await name=submitted\n")
		await(lineFromStdin(), heart)
	}
	var traced []answer
	for _, found := range answers {
		answer := await(found, heart)
		e.answers++
		e.order = (31*e.order + answer.value) % modulus
		if j.trace {
			traced = append(traced, answer)
		}
	}
	end := time.Now()
	report(out, "::phase name=makespan ns=%d\n", end.Sub(start).Nanoseconds())
	heart.stop(end)
	e.beats += heart.beats

	report(out, "::phase name=gap ns=%d\n", heart.gap.Nanoseconds())
	for _, answer := range traced {
		begin, end := answer.begin.Sub(start), answer.end.Sub(start)
		report(out, "::span unit=%d begin=%d end=%d\n", answer.place, begin.Nanoseconds(), end.Nanoseconds())
	}
}

// first is the number that job i begins with.
func first(seed, i int) int { return 1 + (seed+i)%(modulus-1) }

// work is what each job does with its first number.
func work(given settings.Given) func(x int) int {
	duration := time.Duration(given.WholeNumberOr("duration_ms", 0, 3_600_000, 1000)) * time.Millisecond
	rounds := given.WholeNumberOr("rounds", 1, 1_000_000_000, 1_000_000)
	switch given.Needed("kind", "sleep", "cpu", "noop") {
	case "sleep":
		return func(x int) int {
			time.Sleep(duration)
			return advance(x, 1)
		}
	case "cpu":
		return func(x int) int { return advance(x, rounds) }
	default:
		return func(x int) int { return advance(x, 1) }
	}
}

func advance(x, rounds int) int {
	for ; rounds > 0; rounds-- {
		x = 48271 * x % modulus
	}
	return x
}

// answer is what a job found, and where and when it was done.
type answer struct {
	value, place int
	begin, end   time.Time
}

// places is a semaphore: who has one of its numbers may work.
type places chan int

func newPlaces(workers int) places {
	p := make(places, workers)
	for place := 0; place < workers; place++ {
		p <- place
	}
	return p
}

// start returns at once. The channel has room for the answer: the job does not
// wait until somebody asks for it.
func (p places) start(do func(int) int, x int) chan answer {
	found := make(chan answer, 1)
	go func() {
		place := <-p
		begin := time.Now()
		value := do(x)
		found <- answer{value: value, place: place, begin: begin, end: time.Now()}
		p <- place
	}()
	return found
}

func lineFromStdin() <-chan struct{} {
	came := make(chan struct{})
	go func() {
		// The end of stdin is as good as a line.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(came)
	}()
	return came
}

func report(out *bufio.Writer, format string, arguments ...any) {
	fmt.Fprintf(out, format, arguments...)
	if err := out.Flush(); err != nil {
		fmt.Fprintf(os.Stderr, "jobs: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}
