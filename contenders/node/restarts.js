// The restarts: an asynchronous function for each unit. The promise of one that throws is rejected, which tells the
// collector, and that calls the function anew.

import { Books } from './books.js';
import { Queue } from './queue.js';
import { clock, read, report, wholeNumber } from './settings.js';
import { MODULUS } from './work.js';

class Failure extends Error {}

async function serve(unit, inbox, events) {
  const born = clock();
  let handled = 0;
  let folded = 0;
  for (;;) {
    const { number, fails } = await inbox.get();
    if (fails) {
      throw new Failure('a message that makes its unit fail');
    }
    handled++;
    folded = (31 * folded + number) % MODULUS;
    events.put({ unit, handled, folded, born });
  }
}

// The queue of the new unit.
function start(unit, events) {
  const inbox = new Queue();
  serve(unit, inbox, events).catch((error) => events.put({ unit, error }));
  return inbox;
}

const given = read();
const units = wholeNumber(given, 'units', '', 1, 100_000);
const messages = wholeNumber(given, 'messages', '', 2, 1_000_000);
const every = wholeNumber(given, 'every', '', 2, 1_000_000);
const seed = wholeNumber(given, 'seed', '0', 0, 4_294_967_295);
wholeNumber(given, 'cores', '1', 1, 1024); // Unused: there is one loop.

let begin = clock();
const events = new Queue();
const inboxes = Array.from({ length: units }, (_, unit) => start(unit, events));
report(`::phase name=start ns=${clock() - begin}`);
const books = new Books(units, messages, every, seed);
for (const pass of ['warm', 'failing', 'calm']) {
  begin = clock();
  books.begin(pass);
  inboxes.forEach((inbox, unit) => inbox.put(books.message(unit)));
  while (books.open > 0) {
    const event = await events.get();
    if (event.error) {
      books.failed(event.unit);
      inboxes[event.unit] = start(event.unit, events);
    } else if (!books.answered(event)) {
      continue;
    }
    inboxes[event.unit].put(books.message(event.unit));
  }
  report(`::phase name=${pass} ns=${clock() - begin}`);
}
books.report();
