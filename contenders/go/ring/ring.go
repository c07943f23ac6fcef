// The ring on goroutines and channels.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"ringside/contenders/go/settings"
)

const modulus = 2147483647

// evidence is what unit N knows when the last message has arrived: the checksum and
// the order of all values so far, those of earlier rings among them.
type evidence struct {
	arrived         time.Time
	checksum, order int
}

// work does the work of each ring.
type work struct {
	nodes, messages int
	capacity        int
	token           bool
	trace           *tracer // nil: no trace
}

// ring is what all units share.
type ring struct {
	work
	arrived chan struct{} // nil: the feeder does not wait
	done    chan evidence
}

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	out := bufio.NewWriter(os.Stdout)
	w := work{
		nodes:    given.WholeNumber("nodes", 2, settings.Most),
		messages: given.WholeNumber("messages", 1, settings.Most),
		capacity: capacity(given.OneOf("capacity", "own", "0", "1", "30", "1000")),
		token:    given.OneOf("mode", "pipelined", "token") == "token",
	}
	if given.OneOf("trace", "0", "1") == "1" {
		w.trace = &tracer{out: out}
	}
	hold := given.OneOf("hold", "0", "1") == "1"
	repeats := given.Repeats()

	var e evidence
	for i := 0; i < repeats; i++ {
		e = w.once(e, hold && i == 0, out)
	}
	report(out, "::result checksum=%d order=%d\n", e.checksum, e.order)
}

// once makes a ring, sends all messages through it and returns the evidence, which
// goes on from that of the rings before.
func (w work) once(before evidence, hold bool, out *bufio.Writer) evidence {
	r := newRing(w)
	start := time.Now()
	first := r.spawn(before)
	report(out, "::phase name=spawn ns=%d\n", time.Since(start).Nanoseconds())
	if hold {
		report(out, "::await name=spawned\n")
		// The end of stdin is as good as a line.
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}

	start = time.Now()
	r.feed(first)
	e := <-r.done
	report(out, "::phase name=relay ns=%d\n", e.arrived.Sub(start).Nanoseconds())
	return e
}

// capacity is that of a channel; by itself it has none.
func capacity(text string) int {
	places, _ := strconv.Atoi(text)
	return places
}

func newRing(w work) *ring {
	r := &ring{work: w, done: make(chan evidence)}
	if w.token {
		r.arrived = make(chan struct{})
	}
	return r
}

// spawn starts the units and returns the channel into the first.
func (r *ring) spawn(before evidence) chan<- int {
	first := make(chan int, r.capacity)
	in := first
	for i := 1; i < r.nodes; i++ {
		out := make(chan int, r.capacity)
		go r.relay(i, in, out)
		in = out
	}
	go r.last(in, before)
	return first
}

func (r *ring) feed(first chan<- int) {
	for message := r.messages - 1; message >= 0; message-- {
		first <- message
		if r.arrived != nil {
			<-r.arrived
		}
	}
}

// relay is unit i, one of 1 … N-1.
func (r *ring) relay(i int, in <-chan int, out chan<- int) {
	terminator := terminator(i)
	name := r.trace.nameOf(in)
	for {
		value := <-in
		if r.trace != nil {
			if value > terminator {
				r.trace.printf(": Proc: %s, Seq#: %d, Msg#: %d ..\n", name, i, value-terminator)
			} else {
				r.trace.printf("* Proc: %s, Seq#: %d, Msg#: terminate!\n", name, i)
			}
		}
		out <- value + i
		if value == terminator {
			return
		}
	}
}

// last is unit N.
func (r *ring) last(in <-chan int, e evidence) {
	terminator := terminator(r.nodes)
	name := r.trace.nameOf(in)
	for {
		value := <-in
		e.checksum += value
		e.order = (31*e.order + value) % modulus
		if r.trace != nil {
			if value > terminator {
				r.trace.printf("> Proc: %s, Seq#: %d, Msg#: %d ..\n", name, r.nodes, value-terminator)
			} else {
				r.trace.printf("@ Proc: %s, Seq#: %d, ring terminated.\n", name, r.nodes)
			}
		}
		if r.arrived != nil {
			r.arrived <- struct{}{}
		}
		if value == terminator {
			e.arrived = time.Now()
			r.done <- e
			return
		}
	}
}

// terminator is message 0, the one that ends the ring, as unit i receives it:
// the units before have added their numbers.
func terminator(i int) int { return i * (i - 1) / 2 }

// tracer lets goroutines share one buffered writer.
type tracer struct {
	mu  sync.Mutex
	out *bufio.Writer
}

// nameOf is a unit's name, by the channel that it receives from; made once.
func (t *tracer) nameOf(in <-chan int) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%p", in)
}

func (t *tracer) printf(format string, arguments ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.out, format, arguments...)
}

// report writes a protocol line. Only main calls it, while no unit is tracing.
func report(out *bufio.Writer, format string, arguments ...any) {
	fmt.Fprintf(out, format, arguments...)
	if err := out.Flush(); err != nil {
		fmt.Fprintf(os.Stderr, "ring: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}
