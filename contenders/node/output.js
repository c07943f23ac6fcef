// Lines collected into blocks: a write to stdout is a system call.

const BLOCK_CHARACTERS = 64 * 1024;

let block = '';

export function print(line) {
  block += `${line}\n`;
  if (block.length >= BLOCK_CHARACTERS) {
    flush();
  }
}

export function flush() {
  process.stdout.write(block);
  block = '';
}
