// The fibonacci service: the loop reads, computes and writes; with several cores, that of a process for each.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';

import { endWhenTold, listen, serve } from './service.js';
import { read, report, wholeNumber } from './settings.js';

const LONGEST = 100; // bytes of a line, its newline included
const GRACE_MS = 1000;

// Answers one client's requests until it closes.
async function converse(socket) {
  socket.setNoDelay();
  socket.setEncoding('latin1');
  try {
    let text = '';
    for await (const more of socket) {
      const lines = (text + more).split('\n');
      text = lines.pop();
      for (const line of lines) {
        if (line.length >= LONGEST) {
          return refuse(socket);
        }
        if (!socket.write(answer(line))) {
          await once(socket, 'drain');
        }
      }
      if (text.length >= LONGEST) {
        return refuse(socket);
      }
    }
    socket.end();
  } catch {
    socket.destroy(); // The client went away.
  }
}

function answer(line) {
  if (/^\d+$/.test(line) && 1 <= Number(line) && Number(line) <= 90) {
    return `${fib(Number(line))}\n`;
  }
  return 'error: n must be a whole number from 1 to 90\n';
}

function fib(n) {
  return n <= 2 ? 1 : fib(n - 1) + fib(n - 2);
}

function refuse(socket) {
  socket.end(`error: a line may have ${LONGEST} bytes\n`);
}

const given = read();
const host = given.get('host') ?? '127.0.0.1';
const port = wholeNumber(given, 'port', '0', 0, 65535);
const cores = wholeNumber(given, 'cores', '1', 1, 1024);
// A client that has sent all it has still gets its answers.
const server = createServer({ allowHalfOpen: true }, converse);
if (cores === 1) {
  serve(server, host, port);
} else if (cluster.isWorker) {
  listen(server, host, port);
} else {
  endWhenTold();
  // A process that computes would go on until it reads that the first has gone.
  process.once('exit', () => Object.values(cluster.workers).forEach((worker) => worker.process.kill()));
  let listening = 0;
  // One after the other: all get the port of the first, and a port that is taken is said once.
  cluster.on('listening', (_, address) => {
    listening += 1;
    if (listening < cores) {
      cluster.fork();
    } else {
      report(`::ready port=${address.port}`);
    }
  });
  cluster.on('exit', (_, status, signal) => process.exit(signal === 'SIGTERM' ? 0 : status || 1));
  cluster.fork();
}
