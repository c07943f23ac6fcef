"""The answers of jobs, and the hash of their order."""

from __future__ import annotations

FACTOR, MODULUS = 48271, 2147483647
ORDER_BASE = 31


def answer(job: int, kind: str, rounds: int, seed: int) -> int:
    """The answer of job `job`: x0·48271^R mod p with x0 = 1 + (seed + job) mod (p - 1), R = 1 unless it
    computes."""
    begin = 1 + (seed + job) % (MODULUS - 1)
    return begin * pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS) % MODULUS


def order(jobs: int, kind: str, rounds: int, seed: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over all answers in order, of all repeats."""
    power = pow(FACTOR, rounds if kind == "cpu" else 1, MODULUS)
    once = 0
    for job in range(jobs):
        value = (1 + (seed + job) % (MODULUS - 1)) * power % MODULUS
        once = (ORDER_BASE * once + value) % MODULUS
    folded = 0
    for _ in range(repeats):
        folded = (pow(ORDER_BASE, jobs, MODULUS) * folded + once) % MODULUS
    return folded
