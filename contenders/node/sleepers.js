// The sleepers: an asynchronous function for each, which awaits a timer, and a queue to the one that collects.

import { setTimeout as sleep } from 'node:timers/promises';

import { Collector } from './collector.js';
import { Queue } from './queue.js';
import { clock, oneOf, read, report, wholeNumber } from './settings.js';
import { lineFromStdin } from './stdin.js';
import { FACTOR, MODULUS } from './work.js';

const SECOND_NS = 1_000_000_000;

async function sleeper(number, instant, numbers) {
  let late;
  // Timers count whole milliseconds, and the loop's own time, which may be behind.
  while ((late = clock() - instant) < 0) {
    await sleep(Math.ceil(-late / 1e6));
  }
  numbers.put({ number, late });
}

const given = read();
const tasks = wholeNumber(given, 'tasks', '', 1, 1_000_000);
const seconds = wholeNumber(given, 'seconds', '', 2, 3600);
const seed = wholeNumber(given, 'seed', '0', 0, 4_294_967_295);
const hold = oneOf(given, 'hold', '0', ['0', '1']) === '1';
wholeNumber(given, 'cores', '1', 1, 1024); // Unused: there is one loop.

const begin = clock();
const lastSecond = begin + (seconds - 1) * SECOND_NS;
const numbers = new Queue();
let number = 1 + (seed % (MODULUS - 1));
for (let i = 0; i < tasks; i++) {
  number = (FACTOR * number) % MODULUS;
  sleeper(number, lastSecond + Math.floor((number / MODULUS) * SECOND_NS), numbers);
}
// An asynchronous function runs up to its first await when it is called.
report(`::phase name=start ns=${clock() - begin}`);
if (hold) {
  report('::await name=started');
  await lineFromStdin();
}
const collector = new Collector(tasks, begin);
for (let i = 0; i < tasks; i++) {
  collector.take(await numbers.get());
}
collector.report();
