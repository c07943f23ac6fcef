package main

import "time"

const beatEvery = 10 * time.Millisecond

// heart is the other work: a beat that is due 10 ms after the one before.
type heart struct {
	due   *time.Timer
	last  time.Time
	gap   time.Duration // the longest between two beats
	beats int
}

func newHeart(now time.Time) *heart {
	return &heart{due: time.NewTimer(beatEvery), last: now}
}

func (h *heart) beat() {
	now := time.Now()
	h.since(now)
	h.last = now
	h.beats++
	h.due.Reset(beatEvery)
}

func (h *heart) stop(end time.Time) {
	h.due.Stop()
	h.since(end)
}

func (h *heart) since(now time.Time) {
	if gap := now.Sub(h.last); gap > h.gap {
		h.gap = gap
	}
}

// await receives from the channel, and beats until something is there.
func await[T any](from <-chan T, h *heart) T {
	for {
		select {
		case value := <-from:
			return value
		case <-h.due.C:
			h.beat()
		}
	}
}
