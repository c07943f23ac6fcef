// A queue of promises: `get` waits for a value, `put` for a place. Node's library has none.

export class Queue {
  #capacity;
  #values = new Fifo();
  #getters = new Fifo();
  #putters = new Fifo();

  constructor(capacity = Infinity) {
    this.#capacity = capacity;
  }

  // A promise where it has to wait, else nothing.
  put(value) {
    if (this.#getters.length > 0) {
      this.#getters.shift()(value);
    } else if (this.#values.length < this.#capacity) {
      this.#values.push(value);
    } else {
      return new Promise((resolve) => this.#putters.push({ value, resolve }));
    }
  }

  // The value where there is one, else a promise of it.
  get() {
    if (this.#values.length === 0) {
      return new Promise((resolve) => this.#getters.push(resolve));
    }
    const value = this.#values.shift();
    if (this.#putters.length > 0) {
      const waiting = this.#putters.shift();
      this.#values.push(waiting.value);
      waiting.resolve();
    }
    return value;
  }
}

// A linked list: Array.shift moves all that is behind the first.
class Fifo {
  #first = null;
  #last = null;
  length = 0;

  push(value) {
    const link = { value, next: null };
    if (this.length++ === 0) {
      this.#first = link;
    } else {
      this.#last.next = link;
    }
    this.#last = link;
  }

  shift() {
    const { value, next } = this.#first;
    this.#first = next;
    this.length--;
    return value;
  }
}
