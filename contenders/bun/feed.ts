// The feed on Bun.serve: the body of a response is a direct stream, whose `flush` makes each message a chunk.

import { serve, wholeNumber } from "./settings.ts";

async function write(id: string, gone: AbortSignal, controller: ReadableStreamDirectController) {
  controller.write(`Welcome: ${id}\n`);
  await controller.flush();
  const begin = performance.now();
  for (let k = 1; !gone.aborted; k++) {
    const due = begin + k * intervalMs;
    for (let left: number; (left = due - performance.now()) > 0 && !gone.aborted; ) {
      await Bun.sleep(Math.ceil(left));
    }
    controller.write(`Chunk ${k} for ${id}\n`);
    await controller.flush();
  }
}

const intervalMs = wholeNumber("interval_ms", "1000", 1, 3_600_000);

serve((hostname, port) =>
  Bun.serve({
    hostname,
    port,
    idleTimeout: 0,
    fetch(request) {
      const match = /^https?:\/\/[^/]*\/test\/(\d{1,20})(?:\?|$)/.exec(request.url);
      if (!match) {
        return new Response(null, { status: 404 });
      }
      if (request.method !== "GET") {
        return new Response(null, { status: 405, headers: { Allow: "GET" } });
      }
      const body = new ReadableStream({ type: "direct", pull: (controller) => write(match[1], request.signal, controller) });
      return new Response(body, { headers: { "Content-Type": "text/plain" } });
    },
  }),
);
