// The other work: a beat that is due 10 ms after the one before. A timer of the loop makes it.

import { clock } from './settings.js';

const BEAT_NS = 10_000_000;

export class Heart {
  beats = 0;
  gap = 0; // the longest so far
  #last;
  #timer;

  constructor(now) {
    this.#last = now;
    this.#wait(now + BEAT_NS);
  }

  stop(now) {
    clearTimeout(this.#timer);
    this.#lookBack(now);
  }

  #wait(due) {
    // A timer counts milliseconds, and may be early by a part of one.
    this.#timer = setTimeout(() => this.#beatIfDue(due), Math.ceil((due - clock()) / 1e6));
  }

  #beatIfDue(due) {
    const now = clock();
    if (now < due) {
      this.#wait(due);
      return;
    }
    this.beats++;
    this.#lookBack(now);
    this.#last = now;
    this.#wait(now + BEAT_NS);
  }

  #lookBack(now) {
    this.gap = Math.max(this.gap, now - this.#last);
  }
}
