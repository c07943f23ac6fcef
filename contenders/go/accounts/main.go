// The accounts: a goroutine for each unit and each auditor. A mutex for each
// account guards its balance; with sharing=one-lock one mutex guards all, with
// sharing=owner a goroutine has them, to which all others send requests, and with
// sharing=coordinator there is a goroutine for each account.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringside/contenders/go/settings"
)

const (
	modulus = 2147483647
	factor  = 48271
	// A unit reads the clock before and after one of so many transfers.
	timed = 16
)

type problem struct {
	accounts, units, transfers, auditors, every, hot, seed int
	open                                                   func(accounts int) bank
}

// tally is of all repeats, but for the times and the auditors' counts, which are
// of the last.
type tally struct {
	folded                int64
	finished              int
	audits, wrong         int
	first, last           []int64
	transferred, auditing []time.Duration
}

func main() {
	given := settings.Read()
	runtime.GOMAXPROCS(given.Cores())
	p := problem{
		accounts:  given.WholeNumber("accounts", 2, 100_000),
		units:     given.WholeNumber("units", 1, 10_000),
		transfers: given.WholeNumber("transfers", 1, 1_000_000),
		auditors:  given.WholeNumber("auditors", 1, 1000),
		every:     given.WholeNumber("every", 1, 1_000_000),
		hot:       given.WholeNumberOr("hot", 0, 100, 0),
		seed:      given.WholeNumberOr("seed", 0, 4_294_967_295, 0),
	}
	switch given.OneOf("sharing", "lock-for-each", "one-lock", "owner", "coordinator") {
	case "lock-for-each":
		p.open = func(accounts int) bank { return newLockForEach(accounts) }
	case "one-lock":
		p.open = func(accounts int) bank { return newOneLock(accounts) }
	case "owner":
		p.open = func(accounts int) bank { return newOwner(accounts) }
	case "coordinator":
		p.open = func(accounts int) bank { return newCoordinator(accounts) }
	}
	hold := given.OneOf("hold", "0", "1") == "1"
	var t tally
	for range given.Repeats() {
		b := p.open(p.accounts)
		if hold {
			report("::await name=opened\n")
			// The end of stdin is as good as a line.
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			hold = false
		}
		p.once(b, &t)
	}
	report("::result balances=%d transfers=%d audits=%d wrong=%d first=%s last=%s %s %s\n", t.folded, t.finished,
		t.audits, t.wrong, joined(t.first), joined(t.last), percentiles("transfer", t.transferred),
		percentiles("audit", t.auditing))
}

// once has all units and auditors do their work, and adds to the tally.
func (p problem) once(b bank, t *tally) {
	begin := time.Now()
	var finished atomic.Int64
	auditors := make([]*auditor, p.auditors)
	var auditing, working sync.WaitGroup
	for i := range auditors {
		a := &auditor{questions: make(chan chan<- int64)}
		auditors[i] = a
		auditing.Add(1)
		go func() {
			defer auditing.Done()
			a.work(b.client(), p.accounts, &finished)
		}()
	}
	units := make([]unit, p.units)
	for i := range units {
		working.Add(1)
		go func() {
			defer working.Done()
			units[i].work(i, p, b.client(), auditors, &finished)
		}()
	}
	working.Wait()
	for _, a := range auditors {
		close(a.questions)
	}
	auditing.Wait()
	report("::phase name=transfer ns=%d\n", time.Since(begin).Nanoseconds())

	balances := make([]int64, p.accounts)
	b.client().balances(balances)
	b.close()
	for _, balance := range balances {
		t.folded = (31*t.folded + (balance%modulus+modulus)%modulus) % modulus
	}
	t.transferred, t.auditing, t.first, t.last = nil, nil, nil, nil
	for _, u := range units {
		t.finished += u.finished
		t.transferred = append(t.transferred, u.transferred...)
		t.auditing = append(t.auditing, u.auditing...)
	}
	for _, a := range auditors {
		t.audits += a.audits
		t.wrong += a.wrong
		t.first = append(t.first, a.first)
		t.last = append(t.last, a.last)
	}
}

// unit is what a goroutine that transfers has done.
type unit struct {
	finished              int
	transferred, auditing []time.Duration
}

func (u *unit) work(number int, p problem, b client, auditors []*auditor, finished *atomic.Int64) {
	x := 1 + (p.seed+number)%(modulus-1)
	draw := func() int {
		x = factor * x % modulus
		return x
	}
	answer, turn := make(chan int64), number
	for u.finished < p.transfers {
		drawn, source := draw(), draw()
		amount := int64(1 + drawn%1000)
		if drawn/1000%100 < p.hot {
			source = 0
		} else {
			source %= p.accounts
		}
		target := draw() % (p.accounts - 1)
		if target >= source {
			target++
		}
		if u.finished%timed == 0 {
			begin := time.Now()
			b.transfer(source, target, amount)
			u.transferred = append(u.transferred, time.Since(begin))
		} else {
			b.transfer(source, target, amount)
		}
		u.finished++
		if u.finished%p.every == 0 {
			finished.Add(int64(p.every))
			begin := time.Now()
			auditors[turn%len(auditors)].questions <- answer
			<-answer
			u.auditing = append(u.auditing, time.Since(begin))
			turn++
		}
	}
}

// auditor is a goroutine that adds up all accounts for each unit that asks.
type auditor struct {
	questions chan chan<- int64
	audits    int
	wrong     int
	// How many transfers had been counted at the first audit, and at the last.
	first, last int64
}

func (a *auditor) work(b client, accounts int, finished *atomic.Int64) {
	balances := make([]int64, accounts)
	for answer := range a.questions {
		b.balances(balances)
		var total int64
		for _, balance := range balances {
			total += balance
		}
		if total != int64(accounts)*openingBalance {
			a.wrong++
		}
		a.last = finished.Load()
		if a.audits == 0 {
			a.first = a.last
		}
		a.audits++
		answer <- total
	}
}

func joined(numbers []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

// percentiles are the smallest times that so many percent do not exceed; 0 where there is none.
func percentiles(name string, times []time.Duration) string {
	if len(times) == 0 {
		times = []time.Duration{0}
	}
	slices.Sort(times)
	at := func(percent int) int64 { return times[(len(times)*percent+99)/100-1].Nanoseconds() }
	return fmt.Sprintf("%[1]s_p50_ns=%[2]d %[1]s_p99_ns=%[3]d %[1]s_max_ns=%[4]d", name, at(50), at(99), at(100))
}

func report(format string, arguments ...any) {
	if _, err := fmt.Printf(format, arguments...); err != nil {
		fmt.Fprintf(os.Stderr, "accounts: cannot write to stdout: %v\n", err)
		os.Exit(1)
	}
}
