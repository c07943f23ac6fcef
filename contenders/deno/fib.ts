// The fibonacci service on Deno's own sockets (Deno.listen): an async function for each connection.

import { serve } from "./settings.ts";

const MOST = 90;
const LONGEST = 100; // bytes of a line, its newline included
const PAUSE_MS = 100;

const decoder = new TextDecoder("latin1");
const encoder = new TextEncoder();

function fib(n: number): number {
  return n < 3 ? 1 : fib(n - 1) + fib(n - 2);
}

function answer(line: string): string {
  const n = /^\d+$/.test(line) ? Number(line) : 0;
  return n >= 1 && n <= MOST ? `${fib(n)}\n` : `error: a whole number from 1 to ${MOST} is needed\n`;
}

async function write(connection: Deno.TcpConn, text: string) {
  let bytes = encoder.encode(text);
  while (bytes.length > 0) {
    bytes = bytes.subarray(await connection.write(bytes));
  }
}

// Answers one client's requests until it closes.
async function converse(connection: Deno.TcpConn) {
  connection.setNoDelay();
  const buffer = new Uint8Array(4096);
  let rest = "";
  try {
    for (let size; (size = await connection.read(buffer)) !== null;) {
      const lines = (rest + decoder.decode(buffer.subarray(0, size))).split("\n");
      rest = lines.pop()!;
      let answers = "";
      let isLong = rest.length >= LONGEST;
      for (const line of lines) {
        if (line.length >= LONGEST) {
          isLong = true;
          break;
        }
        answers += answer(line);
      }
      await write(connection, isLong ? `${answers}error: a line has at most ${LONGEST} bytes\n` : answers);
      if (isLong) {
        return;
      }
    }
  } catch {
    // The client went away.
  } finally {
    connection.close();
  }
}

async function accept(listener: Deno.TcpListener) {
  for (;;) {
    try {
      converse(await listener.accept());
    } catch {
      // Out of descriptors: some will be free later.
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

await serve((options) => {
  const listener = Deno.listen({ ...options, tcpBacklog: 4096 });
  accept(listener);
  return listener.addr as Deno.NetAddr;
});
