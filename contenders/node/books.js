// What the collector of the restarts knows of its units: each one's next message, its answers and failures.

import { clock, report } from './settings.js';
import { FACTOR, first, MODULUS } from './work.js';

export class Books {
  constructor(units, messages, every, seed) {
    this.messages = messages;
    this.failingBelow = Math.floor(MODULUS / every);
    // `failed`: when the message was sent that made it fail; 0 when it has answered since.
    this.units = Array.from({ length: units }, (_, unit) => {
      return { number: first(seed, unit), left: 0, folded: 0, sent: 0, failed: 0 };
    });
    this.answers = 0;
    this.failures = 0;
    this.fresh = 0;
    this.times = { answer: [], recovery: [], calm: [] };
  }

  begin(pass) {
    this.failing = pass === 'failing';
    this.others = this.times[this.failing ? 'answer' : 'calm'];
    this.others.length = 0;
    this.open = this.units.length; // units with messages left
    for (const unit of this.units) {
      unit.left = this.messages;
    }
  }

  // The unit's next message, which is sent now.
  message(index) {
    const unit = this.units[index];
    unit.number = (FACTOR * unit.number) % MODULUS;
    unit.left--;
    const fails = this.failing && unit.number < this.failingBelow && unit.left > 0 && unit.failed === 0;
    unit.sent = clock();
    return { number: unit.number, fails };
  }

  failed(index) {
    this.failures++;
    this.units[index].failed = this.units[index].sent;
  }

  // Takes an answer, and returns whether the unit has another message.
  answered({ unit: index, handled, folded, born }) {
    const now = clock();
    const unit = this.units[index];
    if (unit.failed > 0) {
      this.fresh += born >= unit.failed ? 1 : 0;
      this.times.recovery.push(now - unit.failed);
      unit.failed = 0;
    } else {
      this.others.push(now - unit.sent);
    }
    this.answers++;
    unit.folded = (31 * unit.folded + folded + handled) % MODULUS;
    if (unit.left === 0) {
      this.open--;
    }
    return unit.left > 0;
  }

  report() {
    const order = this.units.reduce((folded, unit) => (31 * folded + unit.folded) % MODULUS, 0);
    const times = Object.entries(this.times).map(([name, each]) => percentiles(name, each));
    const counts = `answers=${this.answers} failures=${this.failures} fresh=${this.fresh}`;
    report(`::result ${counts} order=${order} ${times.join(' ')}`);
  }
}

// The smallest times that so many percent do not exceed; 0 where there is none.
function percentiles(name, times) {
  const sorted = Float64Array.from(times.length > 0 ? times : [0]).sort();
  const at = (percent) => sorted[Math.ceil((sorted.length * percent) / 100) - 1];
  return `${name}_p50_ns=${at(50)} ${name}_p99_ns=${at(99)} ${name}_max_ns=${at(100)}`;
}
