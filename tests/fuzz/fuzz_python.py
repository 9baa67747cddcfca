"""Mutate sound inputs of one kind for a while: python fuzz_python.py KIND SECONDS [SEED].

Prints how many inputs were tried; an input that is neither refused in words nor works is left in
build/ and its error raised.
"""

import random
import sys
import time
from pathlib import Path

from seeds import inputs
from targets import TARGETS

PIECES = [b"", b"\0" * 8, b"\xff" * 8, b"\xff" * 7 + b"\x7f", b'{"a":', b"[" * 50, b"1e999", b"NaN"]


def mutate(rng: random.Random, seeds: list[bytes]) -> bytes:
    """Some bytes changed, and perhaps a stretch of it or of another seed moved about."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    if rng.random() < 0.4:
        at, other = rng.randrange(len(data)), rng.choice(seeds)
        start = rng.randrange(len(other))
        piece = rng.choice((*PIECES, other[start : start + rng.randrange(64)]))
        data[at : at + rng.choice((0, len(piece), 64))] = piece
    return bytes(data)


if __name__ == "__main__":
    kind, seconds = sys.argv[1], float(sys.argv[2])
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns())
    seeds, tried, start = list(inputs(kind)), 0, time.monotonic()
    while (spent := time.monotonic() - start) < seconds:
        data = mutate(rng, seeds)
        try:
            TARGETS[kind](data)
        except BaseException:
            Path("build").mkdir(exist_ok=True)
            Path(f"build/crash-{kind}").write_bytes(data)
            raise
        tried += 1
    print(f"Python {kind}: {tried} inputs in {spent:.0f} s, none got through")
