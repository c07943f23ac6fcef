const BLOCK = 1_000_000; // numbers, whose sum is exact: 2^53 is 9 × 10^15

// The sum of 1 … work-1, in a plain loop.
export function sum(work: number): bigint {
  let total = 0n;
  for (let begin = 1; begin < work; begin += BLOCK) {
    const end = Math.min(begin + BLOCK, work);
    let part = 0;
    for (let i = begin; i < end; i++) {
      part += i;
    }
    total += BigInt(part);
  }
  return total;
}
