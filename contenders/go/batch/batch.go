// The batch: a goroutine for each case, a channel for the answers.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ringside/contenders/go/settings"
)

// ownCapacity is what `capacity=own` means.
const ownCapacity = 100

// A case takes a place, and one more for each 4 KiB of its text, from when it was
// read until its answer is written. So neither cases nor text pile up.
const (
	mostPlaces = 4096
	placeBytes = 4096
)

// answer is what a unit made of a case, or why there is none.
type answer struct {
	index   int // of the case, from 0
	product int
	places  int
	err     error
}

type batch struct {
	answers   chan answer
	ahead     semaphore
	caseTakes int // the most places that one case takes
	units     sync.WaitGroup

	read, waitAhead   time.Duration // of the goroutine that reads
	write, waitEmpty  time.Duration // of the one that writes
	compute, waitFull atomic.Int64  // nanoseconds, summed over the units
}

func main() {
	given := settings.Read()
	cores := given.Cores()
	if given.OneOf("gomaxprocs", "cores", "unset") == "cores" {
		runtime.GOMAXPROCS(cores)
	}
	path := given.Text("input")
	capacity := given.OneOf("capacity", "own", "0", "1", "100", "10000", "unbounded")
	repeats := given.Repeats()
	out := bufio.NewWriter(os.Stdout)

	cases := 0
	for i := 0; i < repeats; i++ {
		begin := time.Now()
		b := newBatch(cores, places(capacity))
		go b.readAll(path)
		written, err := b.writeAll(out)
		if err != nil {
			fmt.Fprintf(os.Stderr, "batch: %v\n", err)
			os.Exit(2)
		}
		b.reportPhases(out, time.Since(begin))
		cases += written
	}
	fmt.Fprintf(out, "::result cases=%d\n", cases)
	flush(out)
}

func newBatch(cores, places int) *batch {
	return &batch{
		answers: make(chan answer, places),
		ahead:   make(semaphore, mostPlaces),
		// However large the cases are, each core can have one.
		caseTakes: mostPlaces / cores,
	}
}

// places is the capacity of the channel of answers. A case under way takes a
// place of the semaphore at least: no more answers can wait at one time.
func places(capacity string) int {
	switch capacity {
	case "own":
		return ownCapacity
	case "unbounded":
		return mostPlaces
	default:
		number, _ := strconv.Atoi(capacity)
		return number
	}
}

// readAll closes the channel of answers when the last is in it.
func (b *batch) readAll(path string) {
	begin := time.Now()
	if err := b.startAll(path); err != nil {
		b.answers <- answer{err: err}
	}
	b.read = time.Since(begin) - b.waitAhead
	b.units.Wait()
	close(b.answers)
}

func (b *batch) startAll(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := newInput(file)
	cases, err := in.cases()
	if err != nil {
		return err
	}
	for i := 0; i < cases; i++ {
		text, err := in.next()
		if err != nil {
			return fmt.Errorf("case %d: %w", i+1, err)
		}
		b.start(i, text)
	}
	return in.end()
}

// start waits until the case may be under way.
func (b *batch) start(i int, text caseText) {
	places := 1 + text.size()/placeBytes
	if places > b.caseTakes {
		places = b.caseTakes
	}
	waiting := time.Now()
	b.ahead.take(places)
	b.waitAhead += time.Since(waiting)
	b.units.Add(1)
	go b.unit(i, text, places)
}

func (b *batch) unit(i int, text caseText, places int) {
	defer b.units.Done()
	begin := time.Now()
	product, err := text.product()
	if err != nil {
		err = fmt.Errorf("case %d: %w", i+1, err)
	}
	computed := time.Now()
	b.answers <- answer{index: i, product: product, places: places, err: err}
	b.waitFull.Add(time.Since(computed).Nanoseconds())
	b.compute.Add(computed.Sub(begin).Nanoseconds())
}

// writeAll writes the answers in the order of the cases and returns how many
// there were.
func (b *batch) writeAll(out *bufio.Writer) (int, error) {
	begin := time.Now()
	early := map[int]answer{} // before their turn
	next := 0
	for {
		waiting := time.Now()
		came, ok := <-b.answers
		b.waitEmpty += time.Since(waiting)
		if !ok {
			break
		}
		if came.err != nil {
			return 0, came.err
		}
		early[came.index] = came
		for {
			due, ok := early[next]
			if !ok {
				break
			}
			delete(early, next)
			next++
			// An error stays with the writer, until the phases are reported.
			fmt.Fprintf(out, "Case #%d: %d\n", next, due.product)
			b.ahead.give(due.places)
		}
	}
	_ = out.Flush()
	b.write = time.Since(begin) - b.waitEmpty
	return next, nil
}

func (b *batch) reportPhases(out *bufio.Writer, work time.Duration) {
	phases := []struct {
		name string
		time time.Duration
	}{
		{"work", work},
		{"read", b.read},
		{"compute", time.Duration(b.compute.Load())},
		{"write", b.write},
		{"wait_ahead", b.waitAhead},
		{"wait_full", time.Duration(b.waitFull.Load())},
		{"wait_empty", b.waitEmpty},
	}
	for _, phase := range phases {
		fmt.Fprintf(out, "::phase name=%s ns=%d\n", phase.name, phase.time.Nanoseconds())
	}
	flush(out)
}

// flush ends the program when its reader has gone.
func flush(out *bufio.Writer) {
	if err := out.Flush(); err != nil {
		fmt.Fprintf(os.Stderr, "batch: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}

// semaphore has as many places as the channel. Only one goroutine may take from
// it: two that want several could wait for each other.
type semaphore chan struct{}

func (s semaphore) take(places int) {
	for ; places > 0; places-- {
		s <- struct{}{}
	}
}

func (s semaphore) give(places int) {
	for ; places > 0; places-- {
		<-s
	}
}
