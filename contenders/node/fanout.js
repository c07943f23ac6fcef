// The gateway on `node:http`, server and client.

import { Agent, createServer, get } from 'node:http';
import { finished } from 'node:stream/promises';

import { Pool } from './pool.js';
import { serve } from './service.js';
import { oneOf, read, refuse, wholeNumber } from './settings.js';
import { sum } from './sum.js';

const UNITS = 3;
const BAD_UPSTREAM = 400;
const IDLE_MS = 60_000;

// A body of so many pieces, sent as it grows: the head goes out with the first, the end with the last.
class Body {
  #response;
  #missing = UNITS;

  constructor(response) {
    this.#response = response;
    response.setHeader('Content-Type', 'text/plain');
  }

  // Whether it was the last.
  add(piece) {
    this.#response.write(piece);
    if (--this.#missing === 0) {
      this.#response.end();
    }
    return this.#missing === 0;
  }
}

function fanOut(request, response, { upstreams, pieceOf, tickMs, timeoutMs }) {
  const body = new Body(response);
  const gone = new AbortController();
  const ticks = setInterval(() => response.write('.'), tickMs);
  response.on('error', () => {}).once('close', () => {
    clearInterval(ticks);
    gone.abort();
  });
  for (const upstream of upstreams) {
    call(upstream, request.headers['x-request-id'], timeoutMs, gone.signal).then((status) => {
      if (!gone.signal.aborted) {
        ticks.refresh();
        if (body.add(pieceOf(status))) {
          clearInterval(ticks);
        }
      }
    });
  }
}

// An upstream's status when all of its answer is there; 400 for any failure.
async function call(upstream, id, timeoutMs, gone) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  const abort = () => late.abort();
  gone.addEventListener('abort', abort);
  try {
    return await statusOf(upstream, id, late.signal);
  } catch {
    return BAD_UPSTREAM;
  } finally {
    clearTimeout(timer);
    gone.removeEventListener('abort', abort);
  }
}

function statusOf(upstream, id, signal) {
  return new Promise((resolve, reject) => {
    const headers = id === undefined ? {} : { 'X-Request-Id': id };
    const request = get(upstream, { agent, headers, signal }, (response) => {
      finished(response.resume()).then(() => resolve(response.statusCode), reject);
    });
    request.once('error', (error) => {
      // A kept connection that turns out to be closed: as Node's documentation advises, once more.
      if (request.reusedSocket && error.code === 'ECONNRESET') {
        statusOf(upstream, id, signal).then(resolve, reject);
      } else {
        reject(error);
      }
    });
  });
}

function compute(response, pool, work) {
  const body = new Body(response);
  response.on('error', () => {});
  for (let unit = 0; unit < UNITS; unit++) {
    pool.run(work).then(({ answer }) => body.add(`${answer}\n`));
  }
}

function urls(text) {
  const found = text.split(',');
  const isUsable = (url) => /^http:\/\/127\.0\.0\.1:\d{1,5}(\/[!-~]*)?$/.test(url) && URL.canParse(url);
  if (found.length !== UNITS || !found.every(isUsable)) {
    refuse('upstreams', 'three of http://127.0.0.1:PORT/, with commas between them', text);
  }
  return found;
}

const given = read();
const host = given.get('host') ?? '127.0.0.1';
const port = wholeNumber(given, 'port', '0', 0, 65535);
const cores = wholeNumber(given, 'cores', '1', 1, 1024);
const tickMs = wholeNumber(given, 'tick_ms', '50', 1);
const timeoutMs = wholeNumber(given, 'timeout_ms', '5000', 1);
const work = wholeNumber(given, 'work', '100000', 1);
const kind = oneOf(given, 'kind', '', ['io', 'cpu', 'mixed']);
const agent = new Agent({ keepAlive: true });

let answer;
if (kind === 'cpu') {
  const pool = new Pool('./sum-worker.js', cores);
  answer = (_, response) => compute(response, pool, work);
} else {
  const upstreams = urls(given.get('upstreams') ?? '');
  const pieceOf = kind === 'io' ? String : (status) => `${status}:${sum(work)}\n`;
  answer = (request, response) => fanOut(request, response, { upstreams, pieceOf, tickMs, timeoutMs });
}

const server = createServer({ keepAliveTimeout: IDLE_MS, noDelay: true }, (request, response) => {
  request.resume();
  if (request.url.split('?')[0] !== '/') {
    response.writeHead(404).end();
  } else if (request.method !== 'GET') {
    response.writeHead(405, { Allow: 'GET' }).end();
  } else {
    answer(request, response);
  }
});
serve(server, host, port);
