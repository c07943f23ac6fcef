// The feed on `node:http`: a timer and a counter for each response.

import { createServer } from 'node:http';

import { serve } from './service.js';
import { clock, read, wholeNumber } from './settings.js';

function feed(response, id, intervalNs) {
  let k = 0;
  let due = 0;
  let timer;
  response.on('error', () => {}).once('close', () => clearTimeout(timer));
  response.writeHead(200, { 'Content-Type': 'text/plain' });
  // The kernel has taken a message before the next one is made: a client that does not read has one here at most.
  response.write(`Welcome: ${id}\n`, (error) => {
    due = clock();
    sent(error);
  });

  function sent(error) {
    if (!error && !response.destroyed) {
      k++;
      due += intervalNs;
      sleep();
    }
  }

  function sleep() {
    // A timer counts milliseconds, and may be early by a part of one.
    timer = setTimeout(sendIfDue, Math.max(0, Math.ceil((due - clock()) / 1e6)));
  }

  function sendIfDue() {
    if (clock() < due) {
      sleep();
    } else {
      response.write(`Chunk ${k} for ${id}\n`, sent);
    }
  }
}

const given = read();
const host = given.get('host') ?? '127.0.0.1';
const port = wholeNumber(given, 'port', '0', 0, 65535);
const intervalMs = wholeNumber(given, 'interval_ms', '1000', 1, 3_600_000);
wholeNumber(given, 'cores', '1', 1); // Unused: there is one loop.

const server = createServer((request, response) => {
  const [path] = request.url.split('?');
  const match = /^\/test\/(\d{1,20})$/.exec(path);
  if (!match) {
    response.writeHead(404).end();
  } else if (request.method !== 'GET') {
    response.writeHead(405, { Allow: 'GET' }).end();
  } else {
    feed(response, match[1], intervalMs * 1e6);
  }
});
serve(server, host, port);
