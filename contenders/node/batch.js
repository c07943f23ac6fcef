// The batch: the main thread reads and writes, worker threads compute.

import { flush, print } from './output.js';
import { InputError, cases } from './input.js';
import { Pool } from './pool.js';
import { clock, complain, oneOf, read, refuse, report, wholeNumber } from './settings.js';

// A worker is handed at most so much text at one time.
const PIECE_CHARACTERS = 128 * 1024;
// For each worker so many pieces may be under way, from their reading until their answers are written.
const AHEAD = 3;

class Batch {
  times = { read: 0, compute: 0, write: 0, wait_ahead: 0 };
  #pool;
  #most;
  #writing = []; // promises of the pieces under way, in their order

  constructor(cores, pieceCases) {
    this.pieceCases = pieceCases;
    this.#pool = new Pool('./batch-worker.js', cores);
    this.#most = AHEAD * cores;
  }

  // The number of cases.
  async run(path) {
    const { times } = this;
    let count = 0;
    let piece = [];
    let characters = 0;
    let start = clock();
    for await (const one of cases(path)) {
      piece.push(one);
      characters += one.first.length + one.second.length;
      count++;
      if (piece.length === this.pieceCases || characters >= PIECE_CHARACTERS) {
        times.read += clock() - start;
        await this.#submit(count - piece.length, piece);
        [piece, characters, start] = [[], 0, clock()];
      }
    }
    times.read += clock() - start;
    await this.#submit(count - piece.length, piece);
    while (this.#writing.length > 0) {
      await this.#writeNext();
    }
    await this.#pool.end();
    flush();
    return count;
  }

  async #submit(before, piece) {
    const found = this.#pool.run({ before, piece });
    // Whoever awaits it later hears of an error; Node would end the program sooner.
    found.catch(() => {});
    this.#writing.push(found);
    while (this.#writing.length > this.#most) {
      await this.#writeNext();
    }
  }

  async #writeNext() {
    const waiting = clock();
    const { answer } = await this.#writing.shift();
    const start = clock();
    this.times.wait_ahead += start - waiting;
    if (answer.error) {
      throw new InputError(answer.error);
    }
    this.times.compute += answer.ns;
    answer.products.forEach((product, index) => print(`Case #${answer.before + index + 1}: ${product}`));
    this.times.write += clock() - start;
  }
}

const given = read();
const cores = wholeNumber(given, 'cores', '1', 1, 1024);
oneOf(given, 'capacity', 'own', ['own', 'unbounded']);
const repeats = wholeNumber(given, 'repeats', '1', 1, 3000);
const pieceCases = wholeNumber(given, 'piece', '100', 1, 1000);
const path = given.get('input') || refuse('input', 'the path of a file', '');

let all = 0;
for (let i = 0; i < repeats; i++) {
  const start = clock();
  const batch = new Batch(cores, pieceCases);
  try {
    all += await batch.run(path);
  } catch (error) {
    if (!(error instanceof InputError)) {
      throw error;
    }
    complain(`input ${JSON.stringify(path)}: ${error.message}`);
    process.exit(2);
  }
  for (const [name, ns] of Object.entries({ work: clock() - start, ...batch.times })) {
    report(`::phase name=${name} ns=${ns}`);
  }
}
report(`::result cases=${all}`);
