// Computes cases.

import { parentPort } from 'node:worker_threads';

import { clock } from './settings.js';

const LARGEST = 100_000;
// So many products of two numbers are exact in one sum: 2^53 is 9 × 10^15.
const EXACT = 100_000;

parentPort.on('message', ({ before, piece }) => {
  const start = clock();
  try {
    const products = piece.map(({ size, first, second }, index) =>
      smallestProduct(vector(first, size, before + index + 1), vector(second, size, before + index + 1)),
    );
    parentPort.postMessage({ before, products, ns: clock() - start });
  } catch (error) {
    parentPort.postMessage({ error: error.message });
  }
});

// The numbers of a line, sorted.
function vector(text, size, number) {
  const words = text === '' ? [] : text.split(' ');
  if (words.length !== size) {
    throw new Error(`case ${number}: a vector has ${words.length} numbers instead of ${size}`);
  }
  return Int32Array.from(words, (word) => {
    const value = word === '' ? NaN : Number(word);
    if (!Number.isInteger(value) || Math.abs(value) > LARGEST) {
      throw new Error(`case ${number}: numbers must be from ${-LARGEST} to ${LARGEST}`);
    }
    return value;
  }).sort();
}

function smallestProduct(first, second) {
  const last = first.length - 1;
  let product = 0n;
  for (let begin = 0; begin <= last; begin += EXACT) {
    let part = 0;
    for (let i = begin; i < Math.min(begin + EXACT, last + 1); i++) {
      part += first[i] * second[last - i];
    }
    product += BigInt(part);
  }
  return product;
}
