// Reads the arguments, `key=value` each, and writes protocol lines. A value that cannot be used ends the program with
// status 2 and one line; unknown keys are ignored.

const given = new Map(
  Deno.args.map((argument) => {
    const [key, ...value] = argument.split("=");
    return [key, value.join("=")] as const;
  }),
);

export function text(key: string, fallback: string): string {
  return given.get(key) ?? fallback;
}

export function wholeNumber(key: string, fallback: string, least: number, most = 1_000_000_000): number {
  const value = text(key, fallback);
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < least || number > most) {
    refuse(key, `a whole number from ${least} to ${most}`, value);
  }
  return number;
}

export function oneOf(key: string, choices: string[]): string {
  const value = text(key, "");
  if (!choices.includes(value)) {
    refuse(key, choices.join(" or "), value);
  }
  return value;
}

export function refuse(key: string, wanted: string, value: string): never {
  console.error(`${key} must be ${wanted}, not ${JSON.stringify(value)}`);
  Deno.exit(2);
}

// Says where the server listens, and ends the program on SIGTERM and at the end of stdin.
export async function serve(start: (options: { hostname: string; port: number }) => { port: number }) {
  const hostname = text("host", "127.0.0.1");
  const port = wholeNumber("port", "0", 0, 65535);
  wholeNumber("cores", "1", 1, 1024); // Unused: there is one loop.
  Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
  try {
    console.log(`::ready port=${start({ hostname, port }).port}`);
  } catch {
    refuse("port", `one that is free on ${hostname}`, String(port));
  }
  for await (const _ of Deno.stdin.readable);
  Deno.exit(0);
}
