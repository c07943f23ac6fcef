// The fibonacci service: the loop reads and writes, worker threads compute.

import { once } from 'node:events';
import { createServer } from 'node:net';

import { Pool } from './pool.js';
import { serve } from './service.js';
import { read, wholeNumber } from './settings.js';

const LONGEST = 100; // bytes of a line, its newline included
const GRACE_MS = 1000;

// Answers one client's requests until it closes.
async function converse(socket, pool) {
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
        if (!socket.write(await answer(line, pool))) {
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

async function answer(line, pool) {
  if (/^\d+$/.test(line) && 1 <= Number(line) && Number(line) <= 90) {
    const { answer: number } = await pool.run(Number(line));
    return `${number}\n`;
  }
  return 'error: n must be a whole number from 1 to 90\n';
}

function refuse(socket) {
  socket.end(`error: a line may have ${LONGEST} bytes\n`);
}

const given = read();
const host = given.get('host') ?? '127.0.0.1';
const port = wholeNumber(given, 'port', '0', 0, 65535);
const cores = wholeNumber(given, 'cores', '1', 1, 1024);
const pool = new Pool('./fib-worker.js', cores);
// A client that has sent all it has still gets its answers.
serve(createServer({ allowHalfOpen: true }, (socket) => converse(socket, pool)), host, port);
