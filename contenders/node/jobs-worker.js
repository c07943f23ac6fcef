// Does the jobs that compute.

import { parentPort, workerData } from 'node:worker_threads';

import { clock } from './settings.js';
import { advance } from './work.js';

parentPort.on('message', (x) => {
  const begin = clock();
  parentPort.postMessage({ value: advance(x, workerData.rounds), begin, end: clock() });
});
