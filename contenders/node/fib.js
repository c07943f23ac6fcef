// The fibonacci service: the loop reads, computes and writes; with several cores, that of a process for each. With
// compute=pool there is one process, and worker threads compute.

import cluster from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';

import { fib } from './fib-worker.js';
import { Pool } from './pool.js';
import { endWhenTold, listen, serve } from './service.js';
import { oneOf, read, report, wholeNumber } from './settings.js';

const LONGEST = 100; // bytes of a line, its newline included
const WRONG = 'error: n must be a whole number from 1 to 90\n';

// Answers one client's requests until it closes.
function converse(socket) {
  let text = '';
  const take = (more) => {
    const lines = (text + more).split('\n');
    text = lines.pop();
    for (const line of lines) {
      if (line.length >= LONGEST) {
        return refuseTheRest();
      }
      socket.write(isNumber(line) ? `${fib(Number(line))}\n` : WRONG);
    }
    if (text.length >= LONGEST) {
      refuseTheRest();
    } else if (socket.writableNeedDrain) {
      socket.pause().once('drain', () => socket.resume());
    }
  };
  // Further bytes are read and dropped: closing with bytes unread would reset the connection.
  const refuseTheRest = () => {
    socket.off('data', take).resume();
    refuse(socket);
    socket.setTimeout(1000, () => socket.destroy());
  };
  socket.on('data', take).on('end', () => socket.end());
  socket.on('error', () => socket.destroy()); // The client went away.
}

// The same where a pool computes, whose answers come later.
async function converseWithPool(socket, pool) {
  try {
    let text = '';
    for await (const more of socket) {
      const lines = (text + more).split('\n');
      text = lines.pop();
      for (const line of lines) {
        if (line.length >= LONGEST) {
          return refuse(socket);
        }
        const reply = isNumber(line) ? `${(await pool.run(Number(line))).answer}\n` : WRONG;
        if (!socket.write(reply)) {
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

function isNumber(line) {
  return /^\d+$/.test(line) && 1 <= Number(line) && Number(line) <= 90;
}

function refuse(socket) {
  socket.end(`error: a line may have ${LONGEST} bytes\n`);
}

const given = read();
const host = given.get('host') ?? '127.0.0.1';
const port = wholeNumber(given, 'port', '0', 0, 65535);
const cores = wholeNumber(given, 'cores', '1', 1, 1024);
const pool = oneOf(given, 'compute', 'inline', ['inline', 'pool']) === 'pool' ? new Pool('./fib-worker.js', cores) : null;
// A client that has sent all it has still gets its answers.
const server = createServer({ allowHalfOpen: true }, (socket) => {
  socket.setNoDelay();
  socket.setEncoding('latin1');
  return pool ? converseWithPool(socket, pool) : converse(socket);
});
if (cores === 1 || pool) {
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
