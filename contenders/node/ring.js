// The ring on async functions with a queue between neighbours.

import { flush, print } from './output.js';
import { Queue } from './queue.js';
import { clock, oneOf, read, report, wholeNumber } from './settings.js';
import { lineFromStdin } from './stdin.js';

const MODULUS = 2147483647;

// Unit N's result over all values, including those of earlier rings.
class Evidence {
  order = 0;
  #sum = 0;
  #whole = 0n;

  add(value) {
    this.order = (31 * this.order + value) % MODULUS;
    this.#sum += value;
    // Numbers are exact up to 2^53 only.
    if (this.#sum > 2 ** 52) {
      this.#whole += BigInt(this.#sum);
      this.#sum = 0;
    }
  }

  get checksum() {
    return this.#whole + BigInt(this.#sum);
  }
}

// One ring; the evidence goes on from that of the rings before.
async function ring({ nodes, messages, capacity, token, trace }, hold, evidence) {
  let start = clock();
  const arrived = token ? new Queue() : null;
  const first = new Queue(capacity);
  let inbox = first;
  const units = [];
  for (let i = 1; i < nodes; i++) {
    const outbox = new Queue(capacity);
    units.push(relay(i, inbox, outbox, trace));
    inbox = outbox;
  }
  const last = lastUnit(nodes, inbox, arrived, trace, evidence);
  report(`::phase name=spawn ns=${clock() - start}`);
  if (hold) {
    report('::await name=spawned');
    await lineFromStdin();
  }

  start = clock();
  for (let r = messages - 1; r >= 0; r--) {
    const full = first.put(r);
    if (full) {
      await full;
    }
    if (token) {
      await arrived.get();
    }
  }
  const end = await last;
  report(`::phase name=relay ns=${end - start}`);
  await Promise.all(units);
  flush();
}

// Unit i, one of 1 … N-1. It runs up to its first receive when it is called.
async function relay(i, inbox, outbox, trace) {
  const terminator = terminatorOf(i);
  const name = trace && `unit-${i}`;
  for (;;) {
    const value = await inbox.get();
    if (trace) {
      print(
        value > terminator
          ? `: Proc: ${name}, Seq#: ${i}, Msg#: ${value - terminator} ..`
          : `* Proc: ${name}, Seq#: ${i}, Msg#: terminate!`,
      );
    }
    // As `drain` is awaited only after a `write` that returned false: an `await` costs a turn.
    const full = outbox.put(value + i);
    if (full) {
      await full;
    }
    if (value === terminator) {
      return;
    }
  }
}

// Unit N: resolves to the time when the last message came.
async function lastUnit(n, inbox, arrived, trace, evidence) {
  const terminator = terminatorOf(n);
  const name = trace && `unit-${n}`;
  for (;;) {
    const value = await inbox.get();
    evidence.add(value);
    if (trace) {
      print(
        value > terminator
          ? `> Proc: ${name}, Seq#: ${n}, Msg#: ${value - terminator} ..`
          : `@ Proc: ${name}, Seq#: ${n}, ring terminated.`,
      );
    }
    arrived?.put(true);
    if (value === terminator) {
      return clock();
    }
  }
}

// Message 0, which ends the ring, as unit i receives it: the units before have added their numbers.
function terminatorOf(i) {
  return (i * (i - 1)) / 2;
}

function capacityOf(given) {
  const text = oneOf(given, 'capacity', 'own', ['own', '1', '30', '1000', 'unbounded']);
  return text === 'own' || text === 'unbounded' ? Infinity : Number(text);
}

const given = read();
const settings = {
  nodes: wholeNumber(given, 'nodes', '', 2),
  messages: wholeNumber(given, 'messages', '', 1),
  capacity: capacityOf(given),
  token: oneOf(given, 'mode', 'pipelined', ['pipelined', 'token']) === 'token',
  trace: oneOf(given, 'trace', '0', ['0', '1']) === '1',
};
const hold = oneOf(given, 'hold', '0', ['0', '1']) === '1';
const repeats = wholeNumber(given, 'repeats', '1', 1, 3000);

const evidence = new Evidence();
for (let i = 0; i < repeats; i++) {
  await ring(settings, hold && i === 0, evidence);
}
report(`::result checksum=${evidence.checksum} order=${evidence.order}`);
