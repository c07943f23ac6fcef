// The fibonacci service on Bun's own sockets (Bun.listen): one loop reads, computes and writes.

import type { Socket } from "bun";

import { serve } from "./settings.ts";

const MOST = 90;
const LONGEST = 100; // bytes of a line, its newline included

type Connection = { line: string; unsent: Uint8Array | null; closing: boolean };

function fib(n: number): number {
  return n < 3 ? 1 : fib(n - 1) + fib(n - 2);
}

function answer(line: string): string {
  const n = /^\d+$/.test(line) ? Number(line) : 0;
  return n >= 1 && n <= MOST ? `${fib(n)}\n` : `error: a whole number from 1 to ${MOST} is needed\n`;
}

// Bytes that the kernel does not take wait for `drain`; meanwhile nothing is read.
function send(socket: Socket<Connection>, bytes: Uint8Array) {
  const sent = Math.max(0, socket.write(bytes));
  const { data } = socket;
  if (sent < bytes.length) {
    data.unsent = bytes.subarray(sent);
    socket.pause();
  } else {
    if (data.unsent) {
      data.unsent = null;
      socket.resume();
    }
    if (data.closing) {
      socket.end();
    }
  }
}

serve((hostname, port) =>
  Bun.listen<Connection>({
    hostname,
    port,
    socket: {
      open(socket) {
        socket.data = { line: "", unsent: null, closing: false };
      },
      data(socket, chunk) {
        const { data } = socket;
        if (data.closing) {
          return;
        }
        const lines = (data.line + chunk.toString("latin1")).split("\n");
        data.line = lines.pop()!;
        let answers = "";
        for (const line of lines) {
          if (line.length >= LONGEST) {
            data.closing = true;
            break;
          }
          answers += answer(line);
        }
        if (data.closing || data.line.length >= LONGEST) {
          data.closing = true;
          answers += `error: a line has at most ${LONGEST} bytes\n`;
        }
        if (answers) {
          send(socket, Buffer.from(answers));
        }
      },
      drain(socket) {
        if (socket.data.unsent) {
          send(socket, socket.data.unsent);
        }
      },
      error() {},
    },
  }),
);
