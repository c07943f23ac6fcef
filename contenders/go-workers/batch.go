// The batch on a pool: as many workers as cores, which take cases from one
// channel and put answers into another.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// ahead is how many cases may wait for a worker. With none each case wakes one
// goroutine and puts another to sleep, and the cores stand idle in between.
const ahead = 100

// task is a case that waits for a worker, answer what the worker made of it.
// Cases are numbered from 0.
type task struct {
	index int
	text  caseText
}

type answer struct {
	index   int
	product int
	err     error
}

type batch struct {
	tasks   chan task
	answers chan answer
	senders sync.WaitGroup // the workers and the goroutine that reads

	read, waitAhead   time.Duration // of the goroutine that reads
	write, waitEmpty  time.Duration // of the one that writes
	compute, waitFull atomic.Int64  // nanoseconds, summed over the workers
}

func main() {
	s := parse(os.Args[1:])
	runtime.GOMAXPROCS(s.cores)
	out := bufio.NewWriter(os.Stdout)

	cases := 0
	for i := 0; i < s.repeats; i++ {
		begin := time.Now()
		b := start(s)
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

// start begins to read and to compute.
func start(s settings) *batch {
	b := &batch{
		tasks:   make(chan task, ahead),
		answers: make(chan answer, s.capacity),
	}
	b.senders.Add(1 + s.cores)
	go b.readAll(s.path)
	for i := 0; i < s.cores; i++ {
		go b.work()
	}
	go func() {
		b.senders.Wait()
		close(b.answers)
	}()
	return b
}

// readAll closes the channel of tasks when the last was taken.
func (b *batch) readAll(path string) {
	defer b.senders.Done()
	begin := time.Now()
	if err := b.handOverAll(path); err != nil {
		b.answers <- answer{err: err}
	}
	b.read = time.Since(begin) - b.waitAhead
	close(b.tasks)
}

func (b *batch) handOverAll(path string) error {
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
		waiting := time.Now()
		b.tasks <- task{index: i, text: text}
		b.waitAhead += time.Since(waiting)
	}
	return in.end()
}

func (b *batch) work() {
	defer b.senders.Done()
	for task := range b.tasks {
		begin := time.Now()
		product, err := task.text.product()
		if err != nil {
			err = fmt.Errorf("case %d: %w", task.index+1, err)
		}
		computed := time.Now()
		b.answers <- answer{index: task.index, product: product, err: err}
		b.waitFull.Add(time.Since(computed).Nanoseconds())
		b.compute.Add(computed.Sub(begin).Nanoseconds())
	}
}

// writeAll writes the answers in the order of the cases and returns how many
// there were.
func (b *batch) writeAll(out *bufio.Writer) (int, error) {
	begin := time.Now()
	early := map[int]int{} // products before their turn
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
		early[came.index] = came.product
		for {
			product, ok := early[next]
			if !ok {
				break
			}
			delete(early, next)
			next++
			// An error stays with the writer, until the phases are reported.
			fmt.Fprintf(out, "Case #%d: %d\n", next, product)
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
