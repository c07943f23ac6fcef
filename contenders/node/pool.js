// A pool of worker threads. Each has one task at a time; the others wait, in their order.

import { Worker } from 'node:worker_threads';

export class Pool {
  #workers;
  #idle;
  #waiting = [];
  #next = 0; // of those that wait

  constructor(file, size, workerData) {
    this.#workers = Array.from({ length: size }, (_, number) => {
      const worker = new Worker(new URL(file, import.meta.url), { workerData });
      worker.number = number;
      worker.on('message', (answer) => this.#done(worker, answer));
      worker.on('error', (error) => worker.task.reject(error));
      return worker;
    });
    this.#idle = [...this.#workers].reverse();
  }

  // The worker's answer, and its number.
  run(message) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ message, resolve, reject });
      this.#startWhatCan();
    });
  }

  end() {
    return Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #done(worker, answer) {
    const { resolve } = worker.task;
    worker.task = null;
    this.#idle.push(worker);
    this.#startWhatCan();
    resolve({ answer, worker: worker.number });
  }

  #startWhatCan() {
    while (this.#idle.length > 0 && this.#next < this.#waiting.length) {
      const task = this.#waiting[this.#next];
      this.#waiting[this.#next++] = undefined;
      const worker = this.#idle.pop();
      worker.task = task;
      worker.postMessage(task.message);
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
  }
}
