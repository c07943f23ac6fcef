// Reads an input of the batch, case by case.

import { createReadStream } from 'node:fs';

const BLOCK_BYTES = 256 * 1024;
const NEWLINE = 10;
const MOST_SIZE = 1_000_000;

// An error in an input, and its position.
export class InputError extends Error {}

// The cases of a file, each with the size of its vectors and the text of both.
export async function* cases(path) {
  const input = lines(path);
  const next = async (what) => {
    const { done, value } = await input.next();
    if (done) {
      throw new InputError(`${what} is missing`);
    }
    return value;
  };
  const count = wholeNumber(await next('the number of cases'), 'the number of cases', Number.MAX_SAFE_INTEGER);
  for (let number = 1; number <= count; number++) {
    const what = `case ${number}`;
    const size = wholeNumber(await next(what), what, MOST_SIZE);
    yield { size, first: await next(what), second: await next(what) };
  }
  if (!(await input.next()).done) {
    throw new InputError(`it goes on after case ${count}, the last`);
  }
}

function wholeNumber(text, what, most) {
  if (!/^\d{1,16}$/.test(text) || Number(text) > most) {
    throw new InputError(`${what}: a whole number from 0 to ${most} is needed, not ${JSON.stringify(text.slice(0, 20))}`);
  }
  return Number(text);
}

// The lines of a file. `readline` would hide that the last one has no end, and takes other ends for one.
async function* lines(path) {
  const parts = []; // of a line that has not ended
  try {
    for await (const block of createReadStream(path, { highWaterMark: BLOCK_BYTES })) {
      let begin = 0;
      for (let end; (end = block.indexOf(NEWLINE, begin)) >= 0; begin = end + 1) {
        parts.push(block.latin1Slice(begin, end));
        yield parts.length === 1 ? parts[0] : parts.join('');
        parts.length = 0;
      }
      parts.push(block.latin1Slice(begin));
    }
  } catch (error) {
    throw new InputError(`it cannot be read: ${error.code ?? error.message}`);
  }
  if (parts.some((part) => part !== '')) {
    throw new InputError('it ends in the middle of a line');
  }
}
