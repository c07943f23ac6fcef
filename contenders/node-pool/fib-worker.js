// Computes fib(n).

import { parentPort } from 'node:worker_threads';

parentPort.on('message', (n) => parentPort.postMessage(fib(n)));

function fib(n) {
  return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
}
