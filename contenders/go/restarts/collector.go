package main

import (
	"fmt"
	"slices"
	"time"
)

// unitBook is what the collector knows of a unit.
type unitBook struct {
	number, left, folded int
	sent                 time.Duration
	// When the message was sent that made it fail, until it has answered since.
	failed    time.Duration
	hasFailed bool
}

// collector knows each unit's next message, and takes the answers and the failures.
type collector struct {
	messages, failingBelow   int
	failing                  bool
	units                    []unitBook
	open                     int // units with messages left
	answers, failures, fresh int
	others                   *[]time.Duration
	answer, recovery, calm   []time.Duration
}

func newCollector(units, messages, every, seed int) *collector {
	c := &collector{messages: messages, failingBelow: modulus / every, units: make([]unitBook, units)}
	for unit := range c.units {
		c.units[unit].number = 1 + (seed+unit)%(modulus-1)
	}
	return c
}

func (c *collector) begin(pass string) {
	c.failing = pass == "failing"
	c.others = &c.calm
	if c.failing {
		c.others = &c.answer
	}
	*c.others = (*c.others)[:0]
	for unit := range c.units {
		c.units[unit].left = c.messages
	}
	c.open = len(c.units)
}

// message is the unit's next, which is sent now.
func (c *collector) message(unit int) message {
	u := &c.units[unit]
	u.number = factor * u.number % modulus
	u.left--
	fails := c.failing && u.number < c.failingBelow && u.left > 0 && !u.hasFailed
	u.sent = now()
	return message{u.number, fails}
}

func (c *collector) failed(unit int) {
	u := &c.units[unit]
	c.failures++
	u.failed, u.hasFailed = u.sent, true
}

// answered takes an answer, and returns whether the unit has another message.
func (c *collector) answered(e event) bool {
	came, u := now(), &c.units[e.unit]
	if u.hasFailed {
		if e.born >= u.failed {
			c.fresh++
		}
		c.recovery = append(c.recovery, came-u.failed)
		u.hasFailed = false
	} else {
		*c.others = append(*c.others, came-u.sent)
	}
	c.answers++
	u.folded = (31*u.folded + e.folded + e.handled) % modulus
	if u.left == 0 {
		c.open--
	}
	return u.left > 0
}

func (c *collector) report() {
	order := 0
	for _, u := range c.units {
		order = (31*order + u.folded) % modulus
	}
	report("::result answers=%d failures=%d fresh=%d order=%d %s %s %s\n", c.answers, c.failures, c.fresh, order,
		percentiles("answer", c.answer), percentiles("recovery", c.recovery), percentiles("calm", c.calm))
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
