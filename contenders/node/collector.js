// Keeps the numbers of the sleepers, and reports after each tenth of them.

import { clock, report } from './settings.js';
import { MODULUS } from './work.js';

const REPORTS = 10;

export class Collector {
  constructor(tasks, begin) {
    this.tasks = tasks;
    this.begin = begin;
    this.reports = Math.min(REPORTS, tasks);
    this.numbers = [];
    this.late = [];
  }

  take({ number, late }) {
    const before = this.share();
    this.numbers.push(number);
    this.late.push(late);
    if (this.share() > before) {
      report(`::phase name=wake ns=${clock() - this.begin}`);
    }
  }

  share() {
    return Math.floor((this.numbers.length * this.reports) / this.tasks);
  }

  report() {
    const numbers = Float64Array.from(this.numbers).sort();
    const late = Float64Array.from(this.late).sort();
    // The smallest lateness that so many percent do not exceed.
    const percentile = (percent) => late[Math.ceil((this.tasks * percent) / 100) - 1];
    const order = numbers.reduce((folded, number) => (31 * folded + number) % MODULUS, 0);
    const sum = numbers.reduce((total, number) => total + number, 0);
    const lateness = `late_p50_ns=${percentile(50)} late_p99_ns=${percentile(99)} late_max_ns=${percentile(100)}`;
    report(`::result sum=${sum} order=${order} ${lateness}`);
  }
}
