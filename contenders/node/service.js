// How a server begins and ends.

import { refuse, report } from './settings.js';

// Listens on 127.0.0.1, says so, and ends the program on SIGTERM and at the end of stdin, whatever is under way.
export function serve(server, port) {
  process.once('SIGTERM', () => process.exit(0));
  process.stdin.once('end', () => process.exit(0)).resume();
  server.once('error', () => refuse('port', 'one that is free', String(port)));
  server.listen({ host: '127.0.0.1', port, backlog: 4096 }, () => {
    report(`::ready port=${server.address().port}`);
  });
}
