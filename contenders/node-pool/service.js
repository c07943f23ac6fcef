// How a server begins and ends.

import { refuse, report } from './settings.js';

// Listens, says so, and ends the program on SIGTERM and at the end of stdin, whatever is under way.
export function serve(server, host, port) {
  process.once('SIGTERM', () => process.exit(0));
  process.stdin.once('end', () => process.exit(0)).resume();
  server.once('error', () => refuse('port', `one that is free on ${host}`, String(port)));
  server.listen({ host, port, backlog: 4096 }, () => {
    report(`::ready port=${server.address().port}`);
  });
}
