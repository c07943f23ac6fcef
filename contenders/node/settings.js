// Reads the arguments, `key=value` each, and writes protocol lines. A value that cannot be used ends the program
// with status 2 and one line; unknown keys are ignored.

import { basename } from 'node:path';

const MOST = 1_000_000_000;

process.stdout.on('error', (error) => {
  complain(`cannot write to stdout: ${error.code}`);
  process.exit(1);
});

export function read() {
  const pairs = process.argv.slice(2).map((argument) => {
    const [key, ...value] = argument.split('=');
    return [key, value.join('=')];
  });
  return new Map(pairs);
}

export function wholeNumber(given, key, fallback, least, most = MOST) {
  const text = given.get(key) ?? fallback;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least || number > most) {
    refuse(key, `a whole number from ${least} to ${most}`, text);
  }
  return number;
}

export function oneOf(given, key, fallback, choices) {
  const text = given.get(key) ?? fallback;
  if (!choices.includes(text)) {
    refuse(key, choices.join(' or '), text);
  }
  return text;
}

export function refuse(key, wanted, text) {
  complain(`${key} must be ${wanted}, not ${JSON.stringify(text)}`);
  process.exit(2);
}

export function complain(why) {
  process.stderr.write(`${basename(process.argv[1], '.js')}: ${why}\n`);
}

// Writes to pipes and files are synchronous on Linux, so a line has left when this returns.
export function report(line) {
  process.stdout.write(`${line}\n`);
}

// Bun (PR 34424 of oven-sh/bun) and Deno count from the start of each thread: that start, in some days, makes the
// threads agree.
const COUNTS_BY_THREAD = process.versions.bun || process.versions.deno;
const ORIGIN_NS = COUNTS_BY_THREAD ? Math.round((performance.timeOrigin % 1e9) * 1e6) : 0;

// Nanoseconds of the monotonic clock, which all threads share.
export function clock() {
  return Number(process.hrtime.bigint()) + ORIGIN_NS;
}
