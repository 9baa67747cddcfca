"""Mutations that keep JSON valid, which those of libFuzzer almost never do."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

STRANGE: list[Any] = [
    None, True, -1, 0, 0.5, 1, 2, 3, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**400), 1e-320,
    1e308, float("inf"), float("nan"), "", "a", "x" * 300, "\ud800", "\0", "é", "inf", "time", "t",
    "integers", "booleans", "strings", [], [[]], [0, 1, 2], ["a", "b"], {}, {"a": 1}, [None] * 40,
]  # fmt: skip


def mutated(value: Any, rng: random.Random, most: list[Any]) -> Any:
    """The value with one thing in it changed; ``most`` are values to put in its place."""
    if isinstance(value, dict | list) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key, action = rng.choice(keys), rng.random()
        if action < 0.1:
            del value[key]
        elif action < 0.15 and isinstance(value, list):
            value.insert(key, rng.choice(value))
        elif action < 0.2 and isinstance(value, dict):
            value[rng.choice(("a", "", "k", "n_bins"))] = copy.deepcopy(rng.choice(most))
        else:
            value[key] = mutated(value[key], rng, most)
        return value
    if type(value) is int and rng.random() < 0.3:
        return value + rng.choice((-1, 1, 2**32))
    return copy.deepcopy(rng.choice(most))


def mutated_header(data: bytes, seed: int) -> bytes:
    """A state laid open, with one to three changes of its header; itself if that is not JSON."""
    rng = random.Random(seed)
    header, line_end, rest = data.partition(b"\n")
    try:
        content = json.loads(header)
        for _ in range(rng.choice((1, 1, 2, 3))):
            content = mutated(content, rng, STRANGE)
        return json.dumps(content, separators=(",", ":")).encode() + line_end + rest
    except (ValueError, RecursionError):
        return data
