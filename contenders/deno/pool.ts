// Web workers. Each has one task at a time; the others wait, in their order.

type Task = { work: number; resolve: (sum: bigint) => void };

export class Pool {
  #idle: Worker[] = [];
  #tasks: Task[] = [];

  constructor(url: URL, size: number) {
    for (let i = 0; i < size; i++) {
      this.#idle.push(new Worker(url, { type: "module" }));
    }
  }

  run(work: number): Promise<bigint> {
    return new Promise((resolve) => {
      this.#tasks.push({ work, resolve });
      this.#next();
    });
  }

  #next() {
    const task = this.#tasks[0];
    const worker = task && this.#idle.pop();
    if (worker) {
      this.#tasks.shift();
      worker.onmessage = ({ data }) => {
        task.resolve(data);
        this.#idle.push(worker);
        this.#next();
      };
      worker.postMessage(task.work);
    }
  }
}
