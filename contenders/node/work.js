// The work of a job with its first number.

export const MODULUS = 2147483647;
export const FACTOR = 48271;

export function first(seed, number) {
  return 1 + ((seed + number) % (MODULUS - 1));
}

export function advance(x, rounds) {
  for (let round = 0; round < rounds; round++) {
    x = (FACTOR * x) % MODULUS;
  }
  return x;
}
