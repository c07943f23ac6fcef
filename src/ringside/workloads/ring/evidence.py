"""What unit N of the ring computes, in closed form: a large point costs nothing."""

from __future__ import annotations

ORDER_BASE = 31
ORDER_MODULUS = 2147483647


def checksum(nodes: int, messages: int) -> int:
    """The sum of the values that unit N receives: M(M-1)/2 + M·N(N-1)/2."""
    return messages * (messages - 1) // 2 + messages * nodes * (nodes - 1) // 2


def order(nodes: int, messages: int, repeats: int = 1) -> int:
    """H of the contract: h ← (31·h + v) mod p over v = r + S, r = M-1 … 0, S = N(N-1)/2, p prime.

    H = Σ (r + S)·31^r (mod p), since r messages follow the message with the number r. With q = 31:
    Σ q^r = (q^M - 1)/(q - 1) and Σ r·q^r = q·(1 - M·q^(M-1) + (M-1)·q^M)/(1 - q)² (geometric sums).
    """
    p, q = ORDER_MODULUS, ORDER_BASE
    inverse = pow(q - 1, -1, p)
    powers = (pow(q, messages, p) - 1) * inverse
    weighted = q * (1 - messages * pow(q, messages - 1, p) + (messages - 1) * pow(q, messages, p))
    shift = nodes * (nodes - 1) // 2
    once = (shift * powers + weighted * inverse * inverse) % p
    folded = 0
    for _ in range(repeats):
        folded = (pow(q, messages, p) * folded + once) % p
    return folded
