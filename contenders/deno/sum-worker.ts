// Computes sums in a worker thread.

import { sum } from "./sum.ts";

self.onmessage = ({ data: work }) => self.postMessage(sum(work));
