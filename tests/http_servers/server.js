// The routes of the other servers here, by node:http and node:http2. Arguments: an idle time in seconds, a protocol
// (http, https, h2, h2s), for the secure ones a certificate and its key. Prints its port.
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const https = require('node:https');

const large = 'x'.repeat(100_000);
const routes = {
  '/hello': (_, response) => response.end('hello'),
  '/trailers': (_, response) => {
    response.setHeader('Trailer', 'X-Checksum');
    response.write('he');
    response.addTrailers({ 'X-Checksum': '5' });
    response.end('llo');
  },
  '/bytes': (_, response) => {
    const letters = [...'hello'];
    const next = () => {
      if (letters.length === 0) return response.end();
      response.write(letters.shift());
      setImmediate(next);
    };
    next();
  },
  // Without a length and without chunks: the end of the connection is the end of the body.
  '/open': (_, response) => {
    response.shouldKeepAlive = false;
    response.useChunkedEncodingByDefault = false;
    response.write('hel');
    response.end('lo');
  },
  '/204': (_, response) => response.writeHead(204).end(),
  '/304': (_, response) => response.writeHead(304, { ETag: '"1"' }).end(),
  '/hints': (_, response) => {
    response.writeEarlyHints({ link: '</x.css>; rel=preload' });
    response.writeEarlyHints({ link: '</y.css>; rel=preload' });
    response.end('hello');
  },
  '/echo': (request, response) => request.pipe(response),
  '/large': (_, response) => response.end(large),
};
const answer = (request, response) => {
  (routes[request.url] ?? ((_, missing) => missing.writeHead(404).end()))(request, response);
};
const [idle, protocol, ...files] = process.argv.slice(2);
const [cert, key] = files.map((file) => fs.readFileSync(file));
const server = {
  http: () => http.createServer(answer),
  https: () => https.createServer({ cert, key }, answer),
  h2: () => http2.createServer(answer),
  h2s: () => http2.createSecureServer({ cert, key }, answer),
}[protocol]();
if (protocol.startsWith('http')) {
  // Node waits for a second longer than it is told to.
  server.keepAliveTimeout = parseFloat(idle) * 1000 - 999;
} else {
  // As a server would that has no use for an idle connection: GOAWAY, then the end.
  server.on('session', (session) => session.setTimeout(parseFloat(idle) * 1000, () => session.close()));
}
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
