// Node has no queue: a linked list of values, and one of those who wait for a value.
class Fifo {
  head = null;
  tail = null;

  push(value) {
    const link = { value, next: null };
    if (this.head) {
      this.tail.next = link;
    } else {
      this.head = link;
    }
    this.tail = link;
  }

  shift() {
    const { value, next } = this.head;
    this.head = next;
    return value;
  }
}

class Queue {
  values = new Fifo();
  waiting = new Fifo();

  put(value) {
    if (this.waiting.head) {
      this.waiting.shift()(value);
    } else {
      this.values.push(value);
    }
  }

  get() {
    return this.values.head ? this.values.shift() : new Promise((resolve) => this.waiting.push(resolve));
  }
}

async function relay(i, messages, inbox, outbox) {
  for (; messages > 0; messages--) {
    outbox.put((await inbox.get()) + i);
  }
}

async function receive(messages, inbox) {
  let checksum = 0;
  let order = 0;
  for (; messages > 0; messages--) {
    const value = await inbox.get();
    checksum += value;
    order = (31 * order + value) % 2147483647;
  }
  return { end: process.hrtime.bigint(), checksum, order };
}

const [n, m] = process.argv.slice(2).map(Number);
const queues = Array.from({ length: n }, () => new Queue());
for (let i = 1; i < n; i++) {
  relay(i, m, queues[i - 1], queues[i]);
}
const last = receive(m, queues[n - 1]);
const start = process.hrtime.bigint();
for (let r = m - 1; r >= 0; r--) {
  queues[0].put(r);
}
const { end, checksum } = await last;
console.log(`${end - start} ${checksum}`);
