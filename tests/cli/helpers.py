"""Helpers of the tests of the command line."""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

DRIFTSIEVE = str(Path(sys.executable).with_name("driftsieve"))


class Result(NamedTuple):
    code: int
    out: str
    err: str


def csv_text(n: int, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.4
    strong, weak, none = rng.normal(size=(3, n)) + np.outer([2.0, 0.5, 0.0], label)
    red = rng.random(n) < np.where(label, 0.8, 0.3)
    lines = [
        f"{a:.4f},{b:.4f},{c:.4f},{'red' if d else 'blue'},{'spam' if y else 'ham'}"
        for a, b, c, d, y in zip(strong, weak, none, red, label, strict=True)
    ]
    return "\n".join(["strong,weak,none,colour,kind", *lines]) + "\n"
