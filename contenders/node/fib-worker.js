// fib(n); as a worker thread, for each n that it is sent.

import { isMainThread, parentPort } from 'node:worker_threads';

if (!isMainThread) {
  parentPort.on('message', (n) => parentPort.postMessage(fib(n)));
}

export function fib(n) {
  return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
}
