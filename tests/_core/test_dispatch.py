"""The hot loops give the same bits on every instruction set; DRIFTSIEVE_SIMD picks one."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("dispatch_states.py")
FLAGS = {  # of x86-64-v3 and x86-64-v4
    "avx2": {"abm", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"},
    "avx512": {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"},
}


def run(simd: str | None, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "DRIFTSIEVE_SIMD"}
    if simd is not None:
        environment["DRIFTSIEVE_SIMD"] = simd
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )


def states(simd: str | None) -> dict[str, str]:
    done = run(simd, str(PROGRAM))
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    assert len(found) > 80
    return found


def has(simd: str) -> bool:
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        pytest.skip("this system does not say what its processor has")
    return flags >= FLAGS[simd]


@pytest.fixture(scope="module")
def baseline() -> dict[str, str]:
    return states("baseline")


@pytest.mark.parametrize("simd", [*FLAGS, None])
def test_all_instruction_sets_give_the_same_bits(
    simd: str | None, baseline: dict[str, str]
) -> None:
    if simd is not None and not has(simd):
        pytest.skip(f"this processor has no {simd}")
    assert states(simd) == baseline


UPDATE = """
import numpy as np
import driftsieve as ds
X = np.random.default_rng(0).normal(size=(5000, 64))
ds.Bank(n_threads={}).update(X, np.arange(5000) % 2).snapshot()
"""


@pytest.mark.parametrize("n_threads", [1, 2])
def test_unknown_instruction_set_is_an_error(n_threads: int) -> None:
    done = run("sse9", "-c", UPDATE.format(n_threads))
    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert 'this machine, got "sse9".' in said
    assert "baseline, avx2 or avx512" in said
