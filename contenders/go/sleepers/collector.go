package main

import (
	"slices"
	"time"
)

// collector keeps what came, and reports after each tenth of it.
type collector struct {
	tasks, reports int
	begin          time.Time
	numbers        []int
	late           []time.Duration
}

func newCollector(tasks int, begin time.Time) *collector {
	return &collector{tasks: tasks, reports: min(10, tasks), begin: begin}
}

func (c *collector) take(w wake) {
	before := len(c.numbers) * c.reports / c.tasks
	c.numbers = append(c.numbers, w.number)
	c.late = append(c.late, w.late)
	if len(c.numbers)*c.reports/c.tasks > before {
		report("::phase name=wake ns=%d\n", time.Since(c.begin).Nanoseconds())
	}
}

func (c *collector) report() {
	slices.Sort(c.numbers)
	slices.Sort(c.late)
	sum, order := 0, 0
	for _, number := range c.numbers {
		sum += number
		order = (31*order + number) % modulus
	}
	report("::result sum=%d order=%d late_p50_ns=%d late_p99_ns=%d late_max_ns=%d\n",
		sum, order, c.percentile(50), c.percentile(99), c.percentile(100))
}

// percentile is the smallest lateness that so many percent do not exceed.
func (c *collector) percentile(percent int) int64 {
	return c.late[(c.tasks*percent+99)/100-1].Nanoseconds()
}
