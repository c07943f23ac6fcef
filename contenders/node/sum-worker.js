// Computes sums.

import { parentPort } from 'node:worker_threads';

import { sum } from './sum.js';

parentPort.on('message', (work) => parentPort.postMessage(sum(work)));
