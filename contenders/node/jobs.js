// The background jobs: promises. Those that sleep wait for timers of the loop, those that compute for worker
// threads.

import { setTimeout as sleep } from 'node:timers/promises';

import { Heart } from './heart.js';
import { Pool } from './pool.js';
import { Queue } from './queue.js';
import { clock, oneOf, read, report, wholeNumber } from './settings.js';
import { lineFromStdin } from './stdin.js';
import { MODULUS, advance, first } from './work.js';

const TIMES_ALONE = 5;

// All jobs, once; the evidence goes on.
async function inBackground({ kind, count, workers, cores, rounds, durationMs, seed, trace }, hold, evidence) {
  const start = clock();
  // Jobs that compute are in progress in a thread each, and more threads than cores are of no use.
  const pool = kind === 'cpu' ? new Pool('./jobs-worker.js', Math.min(workers, cores), { rounds }) : null;
  const places = new Queue();
  for (let place = 0; place < workers; place++) {
    places.put(place);
  }
  const inPlace = async (number) => {
    const place = await places.get();
    const begin = clock();
    if (kind === 'sleep') {
      await sleep(durationMs);
    }
    const value = advance(first(seed, number), 1);
    const end = clock();
    places.put(place);
    return { value, unit: place, begin, end };
  };
  const inThread = async (number) => {
    const { answer, worker } = await pool.run(first(seed, number));
    return { ...answer, unit: worker };
  };
  const job = pool ? inThread : inPlace;
  const jobs = Array.from({ length: count }, (_, number) => job(number));
  const submitted = clock();
  report(`::phase name=submit ns=${submitted - start}`);
  const heart = new Heart(submitted);
  if (hold) {
    report('::await name=submitted');
    await lineFromStdin();
  }
  const answers = [];
  for (const one of jobs) {
    answers.push(await one);
  }
  const end = clock();
  report(`::phase name=makespan ns=${end - start}`);
  heart.stop(end);
  await pool?.end();

  report(`::phase name=gap ns=${heart.gap}`);
  for (const answer of answers) {
    evidence.order = (31 * evidence.order + answer.value) % MODULUS;
    if (trace) {
      report(`::span unit=${answer.unit} begin=${answer.begin - start} end=${answer.end - start}`);
    }
  }
  evidence.beats += heart.beats;
}

const given = read();
const settings = {
  kind: oneOf(given, 'kind', '', ['sleep', 'cpu', 'noop']),
  count: wholeNumber(given, 'jobs', '', 1, 1_000_000),
  workers: wholeNumber(given, 'workers', '', 1, 1024),
  cores: wholeNumber(given, 'cores', '1', 1, 1024),
  rounds: wholeNumber(given, 'rounds', '1000000', 1),
  durationMs: wholeNumber(given, 'duration_ms', '1000', 0, 3_600_000),
  seed: wholeNumber(given, 'seed', '0', 0, 4_294_967_295),
  trace: oneOf(given, 'trace', '0', ['0', '1']) === '1',
};
const hold = oneOf(given, 'hold', '0', ['0', '1']) === '1';
const repeats = wholeNumber(given, 'repeats', '1', 1, 3000);

// Each begins with the answer of the one before.
let last = first(settings.seed, 0);
if (settings.kind === 'cpu') {
  for (let i = 0; i < TIMES_ALONE; i++) {
    const start = clock();
    last = advance(last, settings.rounds);
    report(`::phase name=alone ns=${clock() - start}`);
  }
}
const evidence = { order: 0, beats: 0 };
for (let i = 0; i < repeats; i++) {
  await inBackground(settings, hold && i === 0, evidence);
}
report(`::result answers=${repeats * settings.count} order=${evidence.order} beats=${evidence.beats} alone=${last}`);
