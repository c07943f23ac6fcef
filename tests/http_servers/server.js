// The routes of the other servers here, by node:http. Prints its port.
const http = require('node:http');

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
  '/echo': (request, response) => request.pipe(response),
  '/large': (_, response) => response.end(large),
};
const server = http.createServer((request, response) => {
  (routes[request.url] ?? ((_, missing) => missing.writeHead(404).end()))(request, response);
});
const idle = process.argv[2];
// Node waits for a second longer than it is told to.
server.keepAliveTimeout = idle ? parseFloat(idle) * 1000 - 999 : 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
