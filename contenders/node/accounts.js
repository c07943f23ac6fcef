// The accounts: an asynchronous function for each unit and each auditor, all on one loop. What runs there is not
// interrupted before its next await, so a transfer needs no lock.

import { Queue } from './queue.js';
import { clock, oneOf, read, report, wholeNumber } from './settings.js';
import { lineFromStdin } from './stdin.js';
import { FACTOR, MODULUS } from './work.js';

const OPENING_BALANCE = 1000;
// A unit reads the clock before and after one of so many transfers.
const TIMED = 16;

const given = read();
const accounts = wholeNumber(given, 'accounts', '', 2, 100_000);
const units = wholeNumber(given, 'units', '', 1, 10_000);
const transfers = wholeNumber(given, 'transfers', '', 1, 1_000_000);
const auditors = wholeNumber(given, 'auditors', '', 1, 1000);
const every = wholeNumber(given, 'every', '', 1, 1_000_000);
const hot = wholeNumber(given, 'hot', '0', 0, 100);
const seed = wholeNumber(given, 'seed', '0', 0, 4_294_967_295);
const hold = oneOf(given, 'hold', '0', ['0', '1']) === '1';
const repeats = wholeNumber(given, 'repeats', '1', 1, 3000);
wholeNumber(given, 'cores', '1', 1, 1024); // Unused: there is one loop.

class Bank {
  #balances = new Array(accounts).fill(OPENING_BALANCE);

  transfer(source, target, amount) {
    this.#balances[source] -= amount;
    this.#balances[target] += amount;
  }

  balances() {
    return this.#balances.slice();
  }
}

class Auditor {
  #questions = new Queue();
  audits = 0;
  wrong = 0;
  first = 0;
  last = 0;

  // A promise of the answer.
  ask() {
    return new Promise((resolve) => this.#questions.put(resolve));
  }

  end() {
    this.#questions.put(null);
  }

  async work(bank, books) {
    let answer;
    while ((answer = await this.#questions.get()) !== null) {
      const balances = bank.balances();
      const total = balances.reduce((sum, balance) => sum + balance, 0);
      this.wrong += total === accounts * OPENING_BALANCE ? 0 : 1;
      this.last = books.counted;
      if (this.audits++ === 0) {
        this.first = this.last;
      }
      answer(total);
    }
  }
}

async function work(unit, bank, all, books) {
  let x = 1 + ((seed + unit) % (MODULUS - 1));
  let turn = unit;
  for (let made = 0; made < transfers; ) {
    x = (FACTOR * x) % MODULUS;
    const amount = 1 + (x % 1000);
    const isHot = Math.floor(x / 1000) % 100 < hot;
    x = (FACTOR * x) % MODULUS;
    const source = isHot ? 0 : x % accounts;
    x = (FACTOR * x) % MODULUS;
    let target = x % (accounts - 1);
    target += target >= source ? 1 : 0;
    if (made % TIMED === 0) {
      const begin = clock();
      bank.transfer(source, target, amount);
      books.transferNs.push(clock() - begin);
    } else {
      bank.transfer(source, target, amount);
    }
    made++;
    books.finished++;
    if (made % every === 0) {
      books.counted += every;
      const begin = clock();
      await all[turn++ % auditors].ask();
      books.auditNs.push(clock() - begin);
    } else {
      await null; // The other units have their turns.
    }
  }
}

// The smallest times that so many percent do not exceed; 0 where there is none.
function percentiles(name, times) {
  const sorted = Float64Array.from(times.length > 0 ? times : [0]).sort();
  const at = (percent) => sorted[Math.ceil((sorted.length * percent) / 100) - 1];
  return `${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}`;
}

let folded = 0;
const totals = { finished: 0, audits: 0, wrong: 0 };
for (let time = 1; time <= repeats; time++) {
  const bank = new Bank();
  if (hold && time === 1) {
    report('::await name=opened');
    await lineFromStdin();
  }
  const books = { counted: 0, finished: 0, transferNs: [], auditNs: [] };
  const begin = clock();
  const all = Array.from({ length: auditors }, () => new Auditor());
  const auditing = all.map((auditor) => auditor.work(bank, books));
  await Promise.all(Array.from({ length: units }, (_, unit) => work(unit, bank, all, books)));
  all.forEach((auditor) => auditor.end());
  await Promise.all(auditing);
  report(`::phase name=transfer ns=${clock() - begin}`);
  for (const balance of bank.balances()) {
    folded = (31 * folded + (((balance % MODULUS) + MODULUS) % MODULUS)) % MODULUS;
  }
  totals.finished += books.finished;
  for (const auditor of all) {
    totals.audits += auditor.audits;
    totals.wrong += auditor.wrong;
  }
  if (time === repeats) {
    const counts = `transfers=${totals.finished} audits=${totals.audits} wrong=${totals.wrong}`;
    const first = all.map((auditor) => auditor.first).join();
    const last = all.map((auditor) => auditor.last).join();
    const times = `${percentiles('transfer', books.transferNs)} ${percentiles('audit', books.auditNs)}`;
    report(`::result balances=${folded} ${counts} first=${first} last=${last} ${times}`);
  }
}
