// The gateway on Deno.serve and fetch: three promises write into a stream.

import { Pool } from "./pool.ts";
import { oneOf, refuse, serve, text, wholeNumber } from "./settings.ts";
import { sum } from "./sum.ts";

const UNITS = 3;
const BAD_UPSTREAM = 400;

const kind = oneOf("kind", ["io", "cpu", "mixed"]);
const cores = wholeNumber("cores", "1", 1, 1024);
const tickMs = wholeNumber("tick_ms", "50", 1);
const timeoutMs = wholeNumber("timeout_ms", "5000", 1);
const work = wholeNumber("work", "100000", 1);
const upstreams = kind === "cpu" ? [] : urls(text("upstreams", ""));
const pool = kind === "cpu" ? new Pool(new URL("./sum-worker.ts", import.meta.url), cores) : null;

function urls(value: string): string[] {
  const list = value.split(",");
  if (list.length !== UNITS || !list.every((url) => /^http:\/\/127\.0\.0\.1:\d{1,5}(\/[!-~]*)?$/.test(url) && URL.canParse(url))) {
    refuse("upstreams", "three of http://127.0.0.1:PORT/, with commas between them", value);
  }
  return list;
}

// An upstream's status when all of its answer is there; 400 for any failure.
async function call(upstream: string, id: string | null, gone: AbortSignal): Promise<number> {
  try {
    const response = await fetch(upstream, {
      headers: id === null ? {} : { "X-Request-Id": id },
      redirect: "manual",
      signal: AbortSignal.any([gone, AbortSignal.timeout(timeoutMs)]),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return BAD_UPSTREAM;
  }
}

// What three units bring, and a `.` whenever none has brought anything for a while.
function answer(request: Request): ReadableStream<Uint8Array> {
  const gone = new AbortController();
  const id = request.headers.get("X-Request-Id");
  const encoder = new TextEncoder();
  let ticks: number | undefined;
  return new ReadableStream({
    start(controller) {
      const write = (piece: string) => {
        clearTimeout(ticks);
        if (!gone.signal.aborted) {
          controller.enqueue(encoder.encode(piece));
          tick();
        }
      };
      const tick = () => {
        if (!pool) {
          ticks = setTimeout(write, tickMs, ".");
        }
      };
      tick();
      const units = pool
        ? Array.from({ length: UNITS }, () => pool.run(work).then((total) => write(`${total}\n`)))
        : upstreams.map((upstream) =>
          call(upstream, id, gone.signal).then((status) =>
            write(kind === "mixed" ? `${status}:${sum(work)}\n` : `${status}`)
          )
        );
      // Not awaited: a stream is not read before `start` has ended.
      Promise.all(units).then(() => {
        clearTimeout(ticks);
        if (!gone.signal.aborted) {
          controller.close();
        }
      });
    },
    cancel() {
      clearTimeout(ticks);
      gone.abort();
    },
  });
}

await serve((options) => {
  const server = Deno.serve({ ...options, tcpBacklog: 4096, onListen: () => {} }, (request) => {
    if (!/^https?:\/\/[^/]*\/(?:\?|$)/.test(request.url)) {
      return new Response(null, { status: 404 });
    }
    if (request.method !== "GET") {
      return new Response(null, { status: 405, headers: { Allow: "GET" } });
    }
    return new Response(answer(request), { headers: { "Content-Type": "text/plain" } });
  });
  return server.addr as Deno.NetAddr;
});
